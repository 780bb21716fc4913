package report

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/wire"
)

// TestNotes holds what is said of a target, in which order, and that the first reason why no probe starts is the only
// one.
func TestNotes(t *testing.T) {
	for _, test := range []struct {
		name  string
		state TargetState
		want  []string
	}{
		{"as it should be", TargetState{Length: length.Snapshot{Asked: 1000, Exact: true, ByItself: true}}, nil},
		{
			"all at once", TargetState{
				Server: server.Knowledge{
					Identity: server.Identity{Type: wire.Server{Note: "is odd"}, Model: server.UnnamedModel},
					OnDemand: true, Limits: wire.Limits{Context: 110},
					Omit: []wire.Field{wire.FieldIgnoreEOS}, Unlimited: true, LeavesOpen: true,
				},
				Lengths:  Lengths{Prompt: 1000, Longest: 1000, Answer: 100},
				Disabled: true, Skipping: probe.SkipDraining,
			},
			[]string{
				"is odd",
				"loads models on demand: one that is not in memory is loaded within the first probe's TTFT, and may push out " +
					"another",
				`lists its model as "unknown", which its workers may not accept: name it (PROBER_TARGETS_n_MODEL, --model)`,
				"rejects the field ignore_eos: asked without it",
				"ignores the limit of an answer's length: probes are canceled once more tokens than asked have arrived",
				"keeps its connections open after the end of answers: none of them can be used again (connection: reuse)",
				"a prompt of 1,000 tokens and an answer of 100 do not fit the server's context of 110: " +
					"the answer leaves no room for a prompt (PROBER_MAX_TOKENS, --max-tokens)",
				"disabled in the configuration (enabled: off): no probes start",
			},
		},
		{
			"draining", TargetState{Skipping: probe.SkipDraining, Length: length.Snapshot{Asked: 1000}},
			[]string{"draining (/-/drain): no probes start"},
		},
		{
			"not ready", TargetState{Skipping: probe.SkipWaiting, Length: length.Snapshot{Asked: 1000}},
			[]string{"the server is not ready yet: probes start when it is"},
		},
		{
			"hanging", TargetState{Skipping: probe.SkipStuck, Length: length.Snapshot{Asked: 1000}},
			[]string{"requests to this server do not return at their limit and hang the HTTP client: " +
				"no probe starts until they do"},
		},
		{
			"paused, which is not said", TargetState{Skipping: probe.SkipBackoff, Length: length.Snapshot{Asked: 1000}},
			[]string{"no probes yet: the length of the prompts is being calibrated"},
		},
	} {
		if diff := cmp.Diff(test.want, test.state.Notes()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestMisfit holds what is said of prompts that are longer than a context, and that nothing is said where they fit, or
// where that is unknown.
func TestMisfit(t *testing.T) {
	for _, test := range []struct {
		longest int
		limits  wire.Limits
		want    string
	}{
		{1000, wire.Limits{Context: 0}, ""},
		{1000, wire.Limits{Context: 1100}, ""},
		{1000, wire.Limits{Context: 1099},
			"a prompt of 1,000 tokens and an answer of 100 do not fit the server's context of 1,099: " +
				"one of 999 is the longest that fits (PROBER_PROMPT_TOKENS, --prompt-tokens)"},
		{1000, wire.Limits{Context: 110},
			"a prompt of 1,000 tokens and an answer of 100 do not fit the server's context of 110: " +
				"the answer leaves no room for a prompt (PROBER_MAX_TOKENS, --max-tokens)"},
		{1000, wire.Limits{Context: 1100, Input: 1000}, ""},
		{1000, wire.Limits{Context: 1100, Input: 900},
			"a prompt of 1,000 tokens is longer than the 900 that the server takes: " +
				"one of 900 is the longest that fits (PROBER_PROMPT_TOKENS, --prompt-tokens)"},
		{1000, wire.Limits{Context: 1050, Input: 900},
			"a prompt of 1,000 tokens and an answer of 100 do not fit the server's context of 1,050: " +
				"one of 900 is the longest that fits (PROBER_PROMPT_TOKENS, --prompt-tokens)"},
		{1328, wire.Limits{Context: 1428}, ""},
		{1328, wire.Limits{Context: 1400}, "a prompt of 1,328 tokens and an answer of 100 do not fit the " +
			"server's context of 1,400: " +
			"one of 972 is the longest that fits (PROBER_PROMPT_TOKENS, --prompt-tokens)"},
		{0, wire.Limits{Context: 500}, ""},
	} {
		l := Lengths{Prompt: 1000, Longest: test.longest, Answer: 100}
		if got := l.Misfit(test.limits, nil); got != test.want {
			t.Errorf("%+v: %q, want %q", test.limits, got, test.want)
		}
	}
}

// TestPieces holds what is said of answers that a server generates in pieces.
func TestPieces(t *testing.T) {
	tgi := wire.Server{Name: "tgi", PieceTokens: 1024}
	const whole = "the server generates answers of more than 1,024 tokens in pieces of 1,024: each piece begins with a " +
		"prefill of its own, so that a gap as long as TTFT follows each 1,024 tokens"
	for _, test := range []struct {
		server     wire.Server
		tokens     int
		text, hint string
	}{
		{wire.Server{}, 1100, "", ""},
		{tgi, 1024, "", ""},
		{tgi, 1100, strings.Replace(whole, ": ", ": an answer of 1,100 would become 2,048, and is wrong_length; ", 1),
			"it can be held to answers of 1024 and 2048 tokens (PROBER_MAX_TOKENS, --max-tokens)"},
		{tgi, 2048, whole, ""},
	} {
		text, hint := AnswerInPieces(test.tokens, test.server, nil)
		if text != test.text || hint != test.hint {
			t.Errorf("answers of %d: %q, %q", test.tokens, text, hint)
		}
	}
}

// TestSkippedSlots holds which share of the slots goes without a probe because the one before takes too long, and which
// rate and which number at a time skip none.
func TestSkippedSlots(t *testing.T) {
	numbers := regexp.MustCompile(`about \d+%|[\d.]+ is the highest rate|allow \d+`)
	for _, test := range []struct {
		qps    float64
		atOnce int
		took   time.Duration
		want   string // the share, the rate and the number; empty: none is skipped
	}{
		{0.1, 1, 0, ""}, // it is not known how long a probe takes
		{0.1, 1, 9900 * time.Millisecond, ""},
		{0.1, 1, 10 * time.Second, ""},
		{0.1, 1, 11400 * time.Millisecond, "about 50% 0.087 is the highest rate allow 2"},
		{0.1, 2, 11400 * time.Millisecond, ""},
		{100, 1, 796 * time.Millisecond, "about 99% 1.256 is the highest rate allow 80"},
		{100, 8, 20 * time.Millisecond, ""},
		{1000, 1, 5 * time.Millisecond, "about 80% 200 is the highest rate allow 5"},
	} {
		interval := time.Duration(float64(time.Second) / test.qps)
		text := SkippedSlots(test.took, interval, test.atOnce, nil)
		if got := strings.Join(numbers.FindAllString(text, -1), " "); got != test.want {
			t.Errorf("%v at %v: %q, want %q", test.took, test.qps, got, test.want)
		}
	}
}
