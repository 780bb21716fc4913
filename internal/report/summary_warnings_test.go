package report

import (
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// batched makes s an answer whose frames a timer lets go every 50 ms, seven together.
func batched(s *Sample) { s.Bursts = 85 }

// TestWarnings holds how the warnings of a summary begin. Further ones may follow.
func TestWarnings(t *testing.T) {
	good := answers("a", 10, 0.8, 0.003, 0.01, 1)
	many := answers("a", 1000, 0.8, 0.003, 0.01, 1)
	some := func(change func(*Sample), which ...int) []Sample { return with(good, change, which...) }
	few := func(change func(*Sample), which ...int) []Sample { return with(many, change, which...) }
	canceled := func(s *Sample) { s.Outcome = probe.Canceled }
	readLate := func(s *Sample) { s.Tainted, s.TokenITLs, s.Joined = true, nil, 98 }
	prompt := func(tokens int) func(*Sample) {
		w := probe.Warning{Kind: probe.WarnPromptTokens, N: tokens, Of: 105}
		return func(s *Sample) { s.Warnings = []probe.Warning{w} }
	}
	const onlyTen = "only 10 requests: quantiles from P75 on rest on fewer than ten samples"
	for name, test := range map[string]struct {
		samples []Sample
		want    []string // how the first warnings begin; nil if there are none
	}{
		"many requests without faults": {many, nil},
		"no request":                   {nil, nil},
		"canceled": {some(canceled, 3, 4), []string{
			"2 requests canceled at the end of the run: not counted",
		}},
		"contaminated": {some(func(s *Sample) { s.Contaminated = true }, 0, 4, 9), []string{
			"3 of 10 requests had a prompt that was in the server's cache: excluded from TTFT",
		}},
		"hidden reasoning": {some(func(s *Sample) { s.Hidden = true }, 0, 4, 9), []string{
			"3 of 10 requests had hidden reasoning: excluded from TTFT",
		}},
		"first token read late": {few(func(s *Sample) { s.Latencies.TTFT = noValue }, 3, 5), []string{
			"2 of 1,000 requests had a first token that this prober read too late: excluded from TTFT",
		}},
		"last token read late": {few(func(s *Sample) { s.Latencies.E2EL = noValue }, 3), []string{
			"1 of 1,000 requests had a last token that this prober read too late: excluded from E2EL",
		}},
		"read late": {some(readLate, 0, 1, 2, 3, 4, 5), []string{
			"6 of 10 requests were read too late by this prober: excluded from ITL",
			"ITL rests on 4 of 10 requests only",
			onlyTen,
		}},
		"some read late": {some(func(s *Sample) { s.Joined = 4 }, 0, 1, 2), []string{
			"12 of 1,000 tokens were read late, several at once",
			onlyTen,
		}},
		"one token read late": {some(func(s *Sample) { s.Joined = 1 }, 2), []string{
			"1 of 1,000 tokens were read late, several at once",
			onlyTen,
		}},
		"half read late": {some(readLate, 0, 1, 2, 3, 4), []string{
			"5 of 10 requests were read too late by this prober: excluded from ITL",
			onlyTen,
		}},
		"all but one read late": {with(some(readLate), func(s *Sample) { *s = good[4]; s.Joined = 90 }, 4), []string{
			"9 of 10 requests were read too late by this prober: excluded from ITL",
			"ITL rests on 1 of 10 requests only",
			"90 of 100 tokens were read late, several at once: their ITL is a mean",
			onlyTen,
		}},
		"all read late": {some(readLate), []string{
			"10 of 10 requests were read too late by this prober: excluded from ITL",
			onlyTen,
		}},
		"all at once": {some(func(s *Sample) { s.TokenITLs, s.Bursts = nil, 99 }), []string{
			"990 of 1,000 token frames arrived together",
		}},
		"output not reported": {some(func(s *Sample) { s.Output, s.TokenITLs = wire.Count{}, nil }, 1), []string{
			"1 of 10 requests did not report how many tokens they generated",
		}},
		"tokens per frame not reported": {some(func(s *Sample) { s.TokenITLs = nil }, 0, 1), []string{
			"2 of 10 requests did not report how many tokens each frame carries",
		}},
		"half of the frames are a burst": {some(func(s *Sample) { s.Bursts = 50 }), []string{
			"500 of 1,000 token frames arrived together with the previous one: " +
				"the server or a proxy sends them in bursts",
		}},
		"less than half of the frames are no burst": {some(func(s *Sample) { s.Bursts = 49 }), []string{onlyTen}},
		"two tokens a frame": {some(func(s *Sample) { s.Frames = 50 }), []string{
			"a token frame carries 2.00 tokens on average",
		}},
		"fewer than two tokens a frame": {some(func(s *Sample) { s.Frames = 51 }), []string{onlyTen}},
		"several tokens a frame": {some(func(s *Sample) { s.Frames = 14 }), []string{
			"a token frame carries 7.14 tokens on average",
		}},
		"answers of different length": {some(func(s *Sample) { s.Output = wire.Tokens(64) }, 2), []string{
			"answers are 64 to 100 tokens long",
		}},
		"enough for P90": {many[:100], []string{
			"only 100 requests: quantiles from P95 on rest on fewer than ten samples",
		}},
		"warnings that are equal": {few(prompt(100), 3, 5), []string{
			"2 of 1,000 requests: the server counts 100 tokens of prompt, asked 105 (-5)",
		}},
		"warnings that differ in numbers": {
			with(few(prompt(107), 3), prompt(103), 5, 6), []string{
				"3 of 1,000 requests, for example: the server counts 107 tokens of prompt, asked 105 (+2)",
			},
		},
	} {
		got := Summarize(test.samples).Warnings
		if len(got) < len(test.want) || test.want == nil && got != nil {
			t.Errorf("%s: %q, want %q", name, got, test.want)
			continue
		}
		for i, words := range test.want {
			if !strings.HasPrefix(got[i], words) {
				t.Errorf("%s: %q, want %q", name, got, test.want)
			}
		}
	}
}
