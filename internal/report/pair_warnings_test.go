package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

func TestPairWarnings(t *testing.T) {
	a, b := answers("left", 10, 0.8, 0.003, 0.01, 1), answers("right", 10, 0.8, 0.003, 0.01, 2)
	for name, test := range map[string]struct {
		a, b []Sample
		want []string
	}{
		"alike": {a, b, nil},
		"one failed": {a, with(b, func(s *Sample) { *s = failure("right", int(s.Latencies.Round), probe.Stalled) }, 4), []string{
			"1 of 10 rounds without a pair, not compared: left failed 0 of 10 requests, right 1 of 10 requests",
		}},
		"rounds that only one has": {a[:7], b, []string{
			"3 of 10 rounds without a pair, not compared: left failed 0 of 7 requests, right 0 of 10 requests",
		}},
		"canceled rounds do not count": {with(a, func(s *Sample) { s.Outcome = probe.Canceled }, 9), b[:9], nil},
		"other tokenizer": {a, with(b, func(s *Sample) { s.Prompt = wire.Tokens(21074) }), []string{
			"left counts 21073 tokens of prompt, right 21074 (medians)",
		}},
		"some answers shorter": {a, with(b, func(s *Sample) { s.Output = wire.Tokens(64) }, 0, 1, 2, 3, 4), []string{
			"left generates 100 tokens, right 82 (medians): E2EL compares answers of different length",
		}},
		"one answer shorter": {a, with(b, func(s *Sample) { s.Output = wire.Tokens(64) }, 0), nil},
		"unknown lengths":    {a, with(b, func(s *Sample) { s.Output, s.Prompt = wire.Count{}, wire.Count{} }), nil},
		"one batched": {a, with(b, batched), []string{
			"token frames arrive in bursts: ITL, a mean over each burst, is not compared; compare TPOT",
		}},
		"both batched": {with(a, batched), with(b, batched), []string{
			"token frames arrive in bursts: ITL, a mean over each burst, is not compared; compare TPOT",
		}},
		"cached": {with(a, func(s *Sample) { s.Contaminated = true }, 1, 2), b, []string{
			"a cache had 2 of 10 prompts of left and 0 of 10 of right: their TTFT and E2EL are not compared",
		}},
	} {
		left, right := sideOf(test.a), sideOf(test.b)
		pairs := pairByRound(comparableRequests(left.good), comparableRequests(right.good))
		got := pairWarnings(left, right, pairs, exclusions(left, right))
		if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
