package report

import (
	"os"
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
	unknown.Output, unknown.TPOT, unknown.ITL = wire.Count{}, Seconds{}, nil
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
	if diff := cmp.Diff(s, again); diff != "" {
		t.Errorf("the order of samples matters (-there +back):\n%s", diff)
	}
}

func TestSummariesOfNothing(t *testing.T) {
	for _, samples := range [][]Sample{nil, {failure("a", 1, probe.Canceled)}} {
		s := Summarize(samples)
		if s.Succeeded()+s.Failed() != 0 || s.Duration != 0 || s.E2EL.Count != 0 {
			t.Errorf("%+v", s)
		}
	}
}

// batched is an answer whose frames a timer let go every 50 ms, seven at a time.
func batched(s *Sample) { s.Bursts = 85 }

func TestWarnings(t *testing.T) {
	good := answers("a", 10, 0.8, 0.003, 0.01, 1)
	doubt := func(text string) func(*Sample) { return func(s *Sample) { s.Doubts = []string{text} } }
	for name, test := range map[string]struct {
		samples []Sample
		want    string // of the first warnings, parted by "|"; empty: none
	}{
		"nothing to say": {answers("a", 1000, 0.8, 0.003, 0.01, 1), ""},
		"nothing at all": {nil, ""},
		"canceled":       {with(good, func(s *Sample) { s.Outcome = probe.Canceled }, 3, 4), "2 requests cut off at the end: counted nowhere"},
		"contaminated": {
			with(good, func(s *Sample) { s.Contaminated, s.TTFT = true, Seconds{} }, 0, 4, 9),
			"3 of 10 prompts were found in a cache: no TTFT of them",
		},
		"hidden reasoning": {
			with(good, func(s *Sample) {
				s.Hidden = true
				doubt("some tokens are reasoning that no frame showed: TTFT is that of the first token shown")(s)
			}, 0, 4, 9),
			"3 of 10 requests had reasoning that no frame showed: no TTFT of them",
		},
		"read late": {
			with(good, func(s *Sample) {
				s.Tainted, s.ITL, s.Joined = true, nil, 98
				doubt("the prober read up to 45ms late, and 98 tokens together with others: no TTFT, no ITL, no max gap")(s)
			}, 0, 1, 2, 3, 4, 5),
			"6 of 10 requests were read late, by this prober and not from a late server: no ITL of them|588 of 1,000 tokens were read late and together: their ITL is a mean, so that tails of ITL are shorter than they were|of 10 requests fewer than ten lie beyond",
		},
		"some read late": {
			with(good, func(s *Sample) { s.Joined = 4 }, 0, 1, 2),
			"12 of 1,000 tokens were read late and together: their ITL is a mean, so that tails of ITL are shorter than they were|of 10 requests fewer than ten lie beyond",
		},
		"all at once": {
			with(good, func(s *Sample) { s.ITL, s.Bursts = nil, 99 }, all(10)...), "990 of 1,000 token frames arrived together with the one before",
		},
		"untold": {
			with(good, func(s *Sample) { s.Output, s.ITL = wire.Count{}, nil }, 1),
			"1 of 10 requests did not tell how many tokens they generated",
		},
		"unattributed": {
			with(good, func(s *Sample) { s.ITL = nil }, 0, 1),
			"2 of 10 requests did not tell how many tokens a frame carries: no ITL of them",
		},
		"one read for many frames": {
			with(good, func(s *Sample) { s.Bursts = 86 }, all(10)...),
			"860 of 1,000 token frames arrived together with the one before: the server or a proxy sends them in bursts, so chunk gaps are its timer's and ITL is the mean over each burst",
		},
		"half of the frames are enough": {
			with(good, func(s *Sample) { s.Bursts = 50 }, all(10)...), "500 of 1,000 token frames",
		},
		"less than half are not": {
			with(good, func(s *Sample) { s.Bursts = 49 }, all(10)...), "of 10 requests fewer than ten lie beyond",
		},
		"several tokens a frame": {
			with(good, func(s *Sample) { s.Frames = 14 }, all(10)...), "a token frame carries 7.14 tokens in the mean",
		},
		"lengths": {
			with(good, func(s *Sample) { s.Output = wire.Tokens(64) }, 2), "answers are 64 to 100 tokens long",
		},
		"few": {good, "of 10 requests fewer than ten lie beyond P75, P90, P95 and P99, and P99 is little but the longest"},
		"enough for P90": {
			answers("a", 100, 0.8, 0.003, 0.01, 1), "of 100 requests fewer than ten lie beyond P95 and P99",
		},
		"one": {good[:1], "a single request has no distribution: all its quantiles are the same"},
		"doubts that are equal": {
			with(answers("a", 1000, 0.8, 0.003, 0.01, 1), doubt("100 tokens of prompt"), 3, 5), "2 of 1,000 requests: 100 tokens of prompt",
		},
		"doubts that differ in numbers": {
			with(with(answers("a", 1000, 0.8, 0.003, 0.01, 1), doubt("7 of prompt (+2)"), 3), doubt("103 of prompt (-1)"), 5, 6),
			"3 of 1,000 requests, such as: 7 of prompt (+2)",
		},
		"doubts that are summed up": {
			with(answers("a", 1000, 0.8, 0.003, 0.01, 1), doubt("12 of 25 token frames arrived together with the one before: something batches them"), 3), "",
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

// What is summed up is told apart by its words, which are the probe's.
func TestWordsOfDoubtsAreThoseOfTheProbe(t *testing.T) {
	source, err := os.ReadFile("../probe/warning.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range told() {
		if !strings.Contains(string(source), part) {
			t.Errorf("the probe has no doubt with %q", part)
		}
	}
}
