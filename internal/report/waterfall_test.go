package report

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/testing/golden"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

const ms = time.Millisecond

func waterfallText(t *testing.T, r *probe.Result, width int) string {
	t.Helper()
	var b strings.Builder
	a := JSONOf(r, nil)
	if err := Waterfall(&b, &a, width); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// answered returns a good answer of n frames with per tokens each: the first after 900 ms, and the others 20 ms after
// each other, except for some that are late.
func answered(n, per int) *probe.Result {
	r := &probe.Result{
		Target: "vllm-a", Group: "ab", Model: "meta-llama/Llama-3.1-8B-Instruct", API: "openai-chat", Prompt: "cold",
		Outcome: probe.OK, Status: 200, Finish: "length", Source: probe.FromUsage, Cache: probe.CacheCold,
		TraceID: "0af7651916cd43dd8448eb211c80319c",
		Wording: probe.Wording{Characters: 500, Run: 0.034, Distinct: 0.871, Replaced: 0.002},
		Usage: wire.Usage{
			Prompt: wire.Tokens(21000), Cached: wire.Tokens(0), Output: wire.Tokens(n * per),
		},
		Timeline: timing.Timeline{Phases: timing.Phases{
			DNS: 1200 * time.Microsecond, Connect: 850 * time.Microsecond, TLS: 14 * ms, Wrote: 21 * ms, Header: 600 * ms,
		}},
	}
	at := 900 * ms
	for i := range n {
		r.Timeline.Frames = append(r.Timeline.Frames, timing.Frame{At: at, Read: uint32(i + 1), N: per})
		at += 20*ms + time.Duration(i*7%13)*ms/2
		if i == 41 {
			at += 180 * ms
		}
	}
	r.Timeline.FinishedAt = r.Timeline.Frames[n-1].At
	r.Elapsed = r.Timeline.FinishedAt + 2*ms
	return r
}

func stalled() *probe.Result {
	r := answered(37, 1)
	r.Outcome, r.Err, r.Finish = probe.Stalled, errors.New("stall limit reached after 37 token frames"), ""
	r.Wording = probe.Wording{}
	r.Timeline.FinishedAt, r.Timeline.Open = 0, 30*time.Second
	r.Elapsed = r.Timeline.Frames[36].At + 30*time.Second
	return r
}

func unauthorized() *probe.Result {
	return &probe.Result{
		Target: "gateway", Model: "gpt-4o", API: "openai-chat", Prompt: "warm",
		Outcome: probe.Unauthorized, Status: 401, Elapsed: 61 * ms, Source: probe.FromNothing,
		Err: errors.New("HTTP 401: server error: invalid_request_error: invalid_api_key: Incorrect API key provided: ***. " +
			"You can find your API key at https://platform.openai.com/account/api-keys."),
		Timeline: timing.Timeline{Phases: timing.Phases{Connect: 8 * ms, TLS: 20 * ms, Wrote: 30 * ms, Header: 60 * ms}},
	}
}

func TestWaterfall(t *testing.T) {
	batched := answered(25, 4)
	for i := 1; i < 24; i += 2 {
		frame, next := &batched.Timeline.Frames[i], batched.Timeline.Frames[i+1]
		frame.Read, frame.At = next.Read, next.At
	}
	batched.Warnings = []probe.Warning{{Kind: probe.WarnBatched, N: 12, Of: 25}}

	empty := answered(1, 1)
	empty.Outcome, empty.Err = probe.Empty, errors.New("stream ended without a token")
	empty.Timeline.Frames, empty.Finish, empty.Source = nil, "stop", probe.FromNothing
	empty.Usage = wire.Usage{Prompt: wire.Tokens(21000), Output: wire.Tokens(0)}

	silent := answered(64, 0)
	silent.Usage, silent.Source = wire.Usage{}, probe.FromNothing
	silent.Timeline.Phases.Reused = true
	silent.Timeline.Phases.DNS, silent.Timeline.Phases.Connect, silent.Timeline.Phases.TLS = 0, 0, 0
	silent.Warnings = []probe.Warning{{Kind: probe.WarnUncounted}}

	late := answered(50, 1)
	late.Timestamps = probe.ByKernel
	for i := range late.Timeline.Frames {
		late.Timeline.Frames[i].Kernel = true
	}
	for i := 40; i < 43; i++ {
		frame := &late.Timeline.Frames[i]
		frame.Read, frame.At, frame.Delay = 43, late.Timeline.Frames[42].At, 180*ms
	}
	late.Warnings = []probe.Warning{{
		Kind: probe.WarnLateReads, Late: probe.LateReads{Delay: 180 * ms, Joined: 3, MeanITL: true, NoMaxGap: true},
	}}

	for name, r := range map[string]*probe.Result{
		"late": late, "ok": answered(100, 1), "batched": batched, "stalled": stalled(), "unauthorized": unauthorized(),
		"empty": empty, "no_usage": silent,
	} {
		t.Run(name, func(t *testing.T) {
			golden.Equal(t, "testdata/"+name+".txt", waterfallText(t, r, 80))
		})
	}
}

func TestLinesFit(t *testing.T) {
	r := stalled()
	r.Model, r.TraceID = "llama", "" // longer words have lines of their own
	for _, width := range []int{40, 132} {
		for line := range strings.Lines(waterfallText(t, r, width)) {
			if columnsOf(strings.TrimSuffix(line, "\n")) > width {
				t.Errorf("width %d: %q", width, line)
			}
		}
	}
}

func TestHostileTextsAreHarmless(t *testing.T) {
	const hostile = "a\x1b[2J\x1b]0;owned\a\r\nb\u202ec\u0085\x9bd\tz\xff"
	r := unauthorized()
	r.Err, r.Target, r.Model, r.Prompt, r.TraceID = errors.New(hostile), hostile, hostile, hostile, hostile
	r.API, r.Finish = hostile, hostile
	r.Warnings = []probe.Warning{{Kind: probe.WarnCompressed, Words: hostile}}
	c := comparison(hostile, hostile+"b", 10)
	c.Load, c.Warnings = hostile, append(c.Warnings, hostile)
	s := Summary{Target: hostile, Load: hostile, Warnings: []string{hostile}}
	lines := RequestLine(SampleOf(r, nil)) + RequestLine(answer(hostile, 1, 1, 1)) + Failure(r)
	texts := []string{
		waterfallText(t, r, 80), c.Text(80), Block(s), Overview([]Summary{s}), targetsText([]Summary{s}), lines,
	}
	for _, text := range texts {
		for _, c := range text {
			if c < ' ' && c != '\n' || c >= 0x7f && c < 0xa0 || c == '\u202e' {
				t.Errorf("control character %U in %q", c, text)
			}
		}
	}
}

func TestEveryAnswerHasAReasonForWhatItLacks(t *testing.T) {
	one := answered(1, 1)
	hidden := answered(3, 1)
	hidden.ReasoningHidden, hidden.Source = true, probe.FromNothing
	together := answered(3, 1)
	for i := range together.Timeline.Frames {
		together.Timeline.Frames[i].At = 900 * ms
	}
	ids, alone := answered(3, 1), answered(3, 1)
	ids.Source, alone.Source = probe.FromIDs, probe.FromTotal
	whole, ended := answered(1, 1), answered(9, 1)
	whole.Usage.Output = wire.Tokens(16)
	ended.Source, ended.Usage.Output = probe.FromTotal, wire.Tokens(10)
	readByUser := answered(5, 1)
	readByUser.Timestamps = probe.ByUser

	for _, test := range []struct {
		r    *probe.Result
		want string
	}{
		{one, "no TPOT    the answer has a single token"},
		{whole, "no TPOT    all tokens arrived in a single frame"},
		{whole, "no ITL     all tokens arrived in a single frame"},
		{whole, "no max gap all tokens arrived in a single frame"},
		{hidden, "no TPOT    how many tokens the frames carry is unknown"},
		{together, "no max gap all tokens arrived at once"},
		{together, "no TPOT    all tokens arrived at once"},
		{together, "no ITL     all tokens arrived at once"},
		{ids, "tokens     counted in each frame (token ids, or one in each by the server's type)"},
		{alone, "tokens     one per frame: as many frames as tokens"},
		{ended, "tokens     one per frame, and one that no frame showed: the end of the answer"},
		{readByUser, "timestamps user space: a delay of the prober looks like one of the server"},
		{&probe.Result{Target: "x", Outcome: probe.Canceled}, "verdict    canceled: the prober shut down"},
	} {
		if got := waterfallText(t, test.r, 100); !strings.Contains(got, test.want) {
			t.Errorf("no %q in\n%s", test.want, got)
		}
	}
}
