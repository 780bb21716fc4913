package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-prober/prober/internal/stats"
)

// anyShown reports whether c shows a difference of any quantity.
func anyShown(c Comparison) bool {
	return slices.ContainsFunc(c.Lines, func(l Line) bool { return l.Shown })
}

// near compares with the error of floating point.
func near() gocmp.Option {
	return gocmp.Options{
		cmpopts.EquateApprox(1e-9, 1e-15),
		cmpopts.EquateNaNs(),
		gocmp.Transformer("float", func(n stats.Number) float64 { return float64(n) }),
	}
}

// TestCompare holds when a difference is shown, and what is said if there are too few pairs.
func TestCompare(t *testing.T) {
	pairs := func(n int, a, b float64) []Pairs {
		p := Pairs{Metric: "TTFT"}
		for i := range n {
			p.Values = append(p.Values, stats.Pair{A: a + float64(i)/1e3, B: b})
		}
		return []Pairs{p}
	}
	const nothing = "no round was answered by both: nothing to compare"
	round, period := Comparison{Pair: "round"}, Comparison{Pair: "period of 1h0m0s"}
	ladder, groups := Comparison{Pair: "round", ComparisonsInRun: 5}, Comparison{Pair: "prompt", RequestsInPair: 16}
	for name, test := range map[string]struct {
		c       Comparison
		pairs   []Pairs
		shown   bool
		warning string
	}{
		"six are enough for one line":       {round, pairs(6, 2, 1), true, ""},
		"a tie at the edge of the interval": {round, pairs(6, 1, 1), false, ""},
		"five rounds are too few": {round, pairs(5, 2, 1), false,
			"too few rounds to show any difference: 5 of 6 needed"},
		"five periods are too few": {period, pairs(5, 2, 1), false,
			"too few periods of 1h0m0s to show any difference: 5 of 6 needed"},
		"a ladder needs more": {ladder, pairs(7, 2, 1), false,
			"too few rounds to show any difference: 7 of 8 needed in a run of 5 comparisons"},
		"requests that share a batch are one": {groups, pairs(16*6-1, 2, 1), false,
			"too few groups of 16 prompts to show any difference: 5 of 6 needed"},
		"a value is 0":         {round, pairs(1, 0, 1), false, nothing},
		"a value is not known": {round, pairs(3, math.NaN(), 1), false, nothing},
		"no round has both":    {round, nil, false, nothing},
	} {
		c := Compare(test.c, test.pairs)
		if anyShown(c) != test.shown {
			t.Errorf("%s: shown %t, want %t", name, anyShown(c), test.shown)
		}
		if diff := gocmp.Diff(test.warning, strings.Join(c.Warnings, "\n")); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", name, diff)
		}
	}
}

// withoutPrefix returns the lines of a gate without what all of them begin with.
func withoutPrefix(lines []string) (list []string) {
	for _, line := range lines {
		list = append(list, strings.TrimPrefix(line, "regression, 0.1 QPS: "))
	}
	return list
}

// TestRegressions holds that only a slower B is a regression, by at least what the gate asks for, and that a run in
// which nothing can be judged is one, too.
func TestRegressions(t *testing.T) {
	all := []string{"TTFT", "TPOT", "ITL", "E2EL"}
	const tooFew = "too few rounds to show any difference: 7 of 8 needed"
	for _, test := range []struct {
		about  string
		rounds int
		factor float64 // of B to A
		least  float64 // per cent
		want   []string
	}{
		{"slower", 20, 2, 0, all},
		{"slower, and by enough", 20, 2, 98.5, all},
		{"slower, but not by enough", 20, 2, 100.01, nil},
		{"faster", 20, 0.5, 0, nil},
		{"too few rounds", 7, 2, 0, []string{"nothing was judged: " + tooFew}},
		{"no round", 0, 2, 0, []string{"nothing was judged: no round was answered by both: nothing to compare"}},
	} {
		var pairs []Pairs
		for _, metric := range all {
			same := slices.Repeat([]stats.Pair{{A: 1, B: test.factor}}, test.rounds)
			pairs = append(pairs, Pairs{Metric: metric, Values: same})
		}
		c := Compare(Comparison{A: "a", B: "b", Load: "0.1 QPS", Pair: "round"}, pairs)
		got, notes := Gate{Regression: true, MinSlowdown: test.least}.Regressions(c)
		got = withoutPrefix(got)
		for i, line := range got {
			metric, verdict, _ := strings.Cut(line, ": ")
			if strings.HasPrefix(verdict, "b is 2.0 times slower than a") {
				got[i] = metric
			}
		}
		if diff := gocmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" || notes != nil {
			t.Errorf("%s: notes %q, regressions (-want +got):\n%s", test.about, notes, diff)
		}
	}
}

// TestWhatIsNotJudged holds that a gate says why a quantity was not judged: what excluded its values, too few pairs, or
// both.
func TestWhatIsNotJudged(t *testing.T) {
	cached := func(s *Sample) { s.Contaminated, s.Latencies.TTFT = true, noValue }
	const tooFew = "too few rounds, 5 of 8 needed; a cache had 0 of 10 prompts of a and 5 of 10 of b"
	a, b := answers("a", 10, 0.8, 0.003, 0.01, 1), answers("b", 10, 0.8, 0.003, 0.01, 2)
	for name, test := range map[string]struct {
		b    []Sample
		want []string
	}{
		"everything is judged":    {b, nil},
		"frames arrive in bursts": {with(b, batched), []string{"ITL was not judged: token frames arrive in bursts"}},
		"a cache had all prompts": {with(b, cached), []string{
			"TTFT was not judged: a cache had 0 of 10 prompts of a and 10 of 10 of b",
			"E2EL was not judged: a cache had 0 of 10 prompts of a and 10 of 10 of b",
		}},
		"a cache had half of the prompts": {with(b, cached, 0, 1, 2, 3, 4), []string{
			"TTFT was not judged: " + tooFew, "E2EL was not judged: " + tooFew,
		}},
		"one side has no ITL": {with(b, func(s *Sample) { s.Latencies.ITL = noValue }),
			[]string{"ITL was not judged: no pair has a value on both sides"}},
	} {
		slower, notes := Gate{Regression: true}.Regressions(compared(a, test.b))
		if slower != nil {
			t.Errorf("%s: regressions %q of equals", name, slower)
		}
		if diff := gocmp.Diff(test.want, withoutPrefix(notes), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
