package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

func TestPairUp(t *testing.T) {
	noTTFT := answer("b", 2, 0.9, 0.004)
	noTTFT.TTFT = none()
	later := answer("a", 1, 0.7, 0.001) // in the round of another: only one has a pair
	later.Start = later.Start.Add(1)
	a := []Sample{later, answer("a", 5, 0.5, 0.001), answer("a", 2, 0.2, 0.001), answer("a", 1, 0.1, 0.001), failure("a", 4, probe.Timeout), answer("a", 3, 0.3, 0.001)}
	b := []Sample{answer("b", 4, 0.4, 0.002), failure("b", 3, probe.Timeout), answer("b", 1, 0.6, 0.002), noTTFT, answer("b", 7, 0.7, 0.002)}

	got := PairUp(a, b)

	want := []Pairs{
		{Metric: "TTFT", Values: [][2]float64{{0.1, 0.6}, {0.2, float64(none())}}},
		{Metric: "TPOT", Values: [][2]float64{{0.001, 0.002}, {0.001, 0.004}}},
		{Metric: "ITL", Values: [][2]float64{{0.001, 0.002}, {0.001, 0.004}}},
		{Metric: "E2EL", Values: [][2]float64{{0.1 + 99*0.001, 0.6 + 99*0.002}, {0.2 + 99*0.001, 0.9 + 99*0.004}}},
	}
	if diff := cmp.Diff(want, got, near()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	slices.Reverse(a)
	if diff := cmp.Diff(want, PairUp(a, b), near()); diff != "" {
		t.Errorf("the order of samples matters:\n%s", diff)
	}
}

// A median of gaps that are mostly 0 would say that who gathers tokens is faster. And two
// targets in front of one server warm its cache for each other: what one of them saves by that
// is no difference.
func TestOnlyWhatMayBeComparedIs(t *testing.T) {
	a, b := answers("a", 10, 0.8, 0.003, 0.01, 1), answers("b", 10, 0.8, 0.007, 0.01, 2)
	cached := func(s *Sample) { s.Contaminated, s.TTFT = true, none() }
	for want, change := range map[string]func(*Sample){"TTFT TPOT E2EL": batched, "TPOT ITL": cached} {
		changed := with(b, change, all(10)...)
		for _, pairs := range [][]Pairs{PairUp(a, changed), PairUp(changed, a)} {
			var metrics []string
			for _, l := range Compare(Comparison{}, pairs).Lines {
				metrics = append(metrics, l.Metric)
			}
			if got := strings.Join(metrics, " "); got != want {
				t.Errorf("%s are compared, want %s", got, want)
			}
		}
	}
}

func TestDoubt(t *testing.T) {
	a, b := answers("left", 10, 0.8, 0.003, 0.01, 1), answers("right", 10, 0.8, 0.003, 0.01, 2)
	for name, test := range map[string]struct {
		a, b []Sample
		want []string
	}{
		"alike":   {a, b, nil},
		"nothing": {nil, b, nil},
		"one failed": {a, with(b, func(s *Sample) { *s = failure("right", int(s.Round), probe.Stalled) }, 4), []string{
			"1 of 10 rounds without a pair, not compared: left failed 0 of 10 requests, right 1 of 10 requests",
		}},
		"rounds that only one has":     {a[:7], b, []string{"3 of 10 rounds without a pair, not compared: left failed 0 of 7 requests, right 0 of 10 requests"}},
		"canceled rounds do not count": {with(a, func(s *Sample) { s.Outcome = probe.Canceled }, 9), b[:9], nil},
		"other tokenizer": {a, with(b, func(s *Sample) { s.Prompt = wire.Tokens(21074) }, all(10)...), []string{
			"left counts 21073 tokens of prompt, right 21074 (medians)",
		}},
		"some answers shorter": {a, with(b, func(s *Sample) { s.Output = wire.Tokens(64) }, 0, 1, 2, 3, 4), []string{
			"left generates 100 tokens, right 82 (medians): E2EL compares answers of different length",
		}},
		"unknown lengths": {a, with(b, func(s *Sample) { s.Output, s.Prompt = wire.Count{}, wire.Count{} }, all(10)...), nil},
		"one batched": {a, with(b, batched, all(10)...), []string{
			"frames of right arrive in bursts: ITL, a mean over each burst, is not compared; compare TPOT",
		}},
		"both batched": {with(a, batched, all(10)...), with(b, batched, all(10)...), []string{
			"frames of left and right arrive in bursts: ITL, a mean over each burst, is not compared; compare TPOT",
		}},
		"several tokens a frame": {a, with(b, func(s *Sample) { s.Frames = 14 }, all(10)...), []string{
			"frames of left carry 1 tokens on average, of right 7.14: ITL is the mean within each frame",
		}},
		"cached": {with(a, func(s *Sample) { s.Contaminated = true }, 1, 2), b, []string{
			"a cache knew 2 of 10 prompts of left and 0 of 10 of right: their TTFT and E2EL are not compared",
		}},
	} {
		if diff := cmp.Diff(test.want, PairWarnings(test.a, test.b), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDoubtLength(t *testing.T) {
	asked, other := answers("it", 3, 0.8, 0.003, 0.01, 1), func(s *Sample) { s.Prompt = wire.Tokens(1234) }
	n := asked[0].Prompt.N
	for name, test := range map[string]struct {
		samples []Sample
		asked   int
		want    []string
	}{
		"as asked":          {asked, n, nil},
		"no length asked":   {asked, 0, nil},
		"no sample":         {nil, n, nil},
		"not counted":       {with(asked, func(s *Sample) { s.Prompt = wire.Count{} }, all(3)...), n, nil},
		"of one that fails": {with(asked, func(s *Sample) { *s = failure("it", 1, probe.WrongLength); other(s) }, 1), n, nil},
		"another length":    {with(asked, other, all(3)...), 1000, []string{"prompts have 1,234 tokens where 1,000 were asked"}},
		"some":              {with(asked, other, 0), n, []string{"prompts have 1,234 to " + format.Grouped(n) + " tokens where " + format.Grouped(n) + " were asked"}},
	} {
		if diff := cmp.Diff(test.want, LengthWarnings(test.samples, test.asked)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRequestLines(t *testing.T) {
	unknown := answer("vllm-a", 12, 0.5, 0.01)
	unknown.Output, unknown.Prompt, unknown.TPOT, unknown.ITL = wire.Count{}, wire.Count{}, none(), none()
	slow := answer("hostile\x1b[2J\nname", 12345, 112.3, 0.85)
	slow.Prompt, slow.Output = wire.Tokens(128000), wire.Tokens(4096)
	limited := failure("vllm-a", 3, probe.RateLimited)
	limited.Error = "HTTP 429: \x1b[2J" + strings.Repeat("slow down ", 20)
	var lines []string
	for _, s := range []Sample{
		answer("vllm-a", 1, 0.79481, 0.00284), answer("production-stack", 123, 0.82422, 0.00789), unknown, slow,
		limited, failure("vllm-a", 4, probe.Canceled),
	} {
		line := RequestLine(s, 16)
		if length(line) > 140 || strings.ContainsAny(line, "\n\x1b") {
			t.Errorf("%d columns in %q", length(line), line)
		}
		lines = append(lines, line)
	}
	golden(t, "requests.txt", strings.Join(lines, "\n")+"\n")
}
