package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

func TestSummarize(t *testing.T) {
	unknown := answer("a", 3, 0.5, 0.01)
	unknown.Output, unknown.TPOT, unknown.ITLs = wire.Count{}, none(), nil
	samples := []Sample{
		failure("a", 4, probe.Timeout), answer("a", 1, 0.2, 0.01), unknown, answer("a", 0, 0.4, 0.02),
		failure("a", 5, probe.Canceled), failure("a", 2, probe.Timeout),
	}

	s := Summarize(samples)

	if diff := cmp.Diff(map[probe.Outcome]int{probe.OK: 3, probe.Timeout: 2}, s.Outcomes); diff != "" {
		t.Error(diff)
	}
	if s.Target != "a" || s.Input != 3*21073 || s.Output != 200 || !s.Start.Equal(noon()) || s.Duration != 41*time.Second {
		t.Errorf("%s: %d and %d tokens, %s from %s", s.Target, s.Input, s.Output, s.Duration, s.Start)
	}
	counts := []int{s.TTFT.Count, s.TPOT.Count, s.ITL.Count, s.E2EL.Count}
	if diff := cmp.Diff([]int{3, 2, 198, 3}, counts); diff != "" {
		t.Error(diff)
	}
	slices.Reverse(samples)
	again := Summarize(samples)
	if diff := cmp.Diff(s, again, near()); diff != "" {
		t.Errorf("the order of samples matters (-there +back):\n%s", diff)
	}
}

// batched is an answer whose frames a timer let go every 50 ms, seven together.
func batched(s *Sample) { s.Bursts = 85 }

func TestWarnings(t *testing.T) {
	good := answers("a", 10, 0.8, 0.003, 0.01, 1)
	warning := func(text string) func(*Sample) {
		return func(s *Sample) { s.Warnings = []probe.Warning{{Kind: "prompt", Text: text}} }
	}
	some := func(change func(*Sample), which ...int) []Sample { return with(good, change, which...) }
	every := func(change func(*Sample)) []Sample { return with(good, change, all(10)...) }
	many := answers("a", 1000, 0.8, 0.003, 0.01, 1)
	for name, test := range map[string]struct {
		samples []Sample
		want    string // of the first warnings, parted by "|"; empty: none
	}{
		"nothing to say":   {many, ""},
		"nothing at all":   {nil, ""},
		"canceled":         {some(func(s *Sample) { s.Outcome = probe.Canceled }, 3, 4), "2 requests canceled at the end of the run: not counted"},
		"contaminated":     {some(func(s *Sample) { s.Contaminated = true }, 0, 4, 9), "3 of 10 prompts were in the server's cache: excluded from TTFT"},
		"hidden reasoning": {some(func(s *Sample) { s.Hidden = true }, 0, 4, 9), "3 of 10 requests had hidden reasoning: excluded from TTFT"},
		"read late": {
			some(func(s *Sample) { s.Tainted, s.ITLs, s.Joined = true, nil, 98 }, 0, 1, 2, 3, 4, 5),
			"6 of 10 requests were read too late by this prober: excluded from ITL|588 of 1,000 tokens were read late|only 10 requests",
		},
		"some read late": {some(func(s *Sample) { s.Joined = 4 }, 0, 1, 2), "12 of 1,000 tokens were read late, several at once|only 10 requests"},
		"all at once":    {every(func(s *Sample) { s.ITLs, s.Bursts = nil, 99 }), "990 of 1,000 token frames arrived together"},
		"untold":         {some(func(s *Sample) { s.Output, s.ITLs = wire.Count{}, nil }, 1), "1 of 10 requests did not report how many tokens they generated"},
		"unattributed":   {some(func(s *Sample) { s.ITLs = nil }, 0, 1), "2 of 10 requests did not report how many tokens each frame carries"},
		"half of the frames are a burst": {
			every(func(s *Sample) { s.Bursts = 50 }),
			"500 of 1,000 token frames arrived together with the previous one: the server or a proxy sends them in bursts",
		},
		"less than half are none": {every(func(s *Sample) { s.Bursts = 49 }), "only 10 requests: quantiles from P75 on rest on fewer than ten samples"},
		"several tokens a frame":  {every(func(s *Sample) { s.Frames = 14 }), "a token frame carries 7.14 tokens on average"},
		"lengths":                 {some(func(s *Sample) { s.Output = wire.Tokens(64) }, 2), "answers are 64 to 100 tokens long"},
		"enough for P90":          {many[:100], "only 100 requests: quantiles from P95 on rest on fewer than ten samples"},
		"one":                     {good[:1], "only 1 request: all its quantiles are the same"},
		"warnings that are equal": {with(many, warning("100 tokens of prompt"), 3, 5), "2 of 1,000 requests: 100 tokens of prompt"},
		"warnings that differ in numbers": {
			with(with(many, warning("7 of prompt (+2)"), 3), warning("103 of prompt (-1)"), 5, 6), "3 of 1,000 requests, for example: 7 of prompt (+2)",
		},
	} {
		want := strings.Split(test.want, "|")
		got := append(Summarize(test.samples).Warnings, "")
		for i, words := range want {
			if !strings.HasPrefix(got[i], words) || words == "" && got[i] != "" {
				t.Errorf("%s: %q, want %q", name, got, want)
				break
			}
		}
	}
}
