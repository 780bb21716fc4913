package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-prober/prober/internal/stats"
)

// drawnPairs returns pairs of each quantity. In a pair, B takes factor times as long as A. Each value has noise, a
// share of it, and both share what is hard about the prompt.
func drawnPairs(n int, factor, noise float64, seed uint64) (list []Pairs) {
	r := rand.New(rand.NewPCG(seed, 20260301))
	for _, q := range quantities {
		p := Pairs{Metric: q.Name}
		for range n {
			a := 0.8 * math.Exp(0.1*r.NormFloat64())
			b := factor * a
			p.Values = append(p.Values, stats.Pair{
				A: a * math.Exp(noise*r.NormFloat64()),
				B: b * math.Exp(noise*r.NormFloat64()),
			})
		}
		list = append(list, p)
	}
	return list
}

// anyShown reports whether c shows a difference of any quantity.
func anyShown(c Comparison) bool {
	return slices.ContainsFunc(c.Lines, func(l Line) bool { return l.Shown })
}

// TestPairsThatFindADifference holds cells of the table in docs/bench.md: how many pairs show, in 95% of runs, a
// difference of so many standard deviations of a pair's differences. The runs are too few to tell 95% from 93%.
func TestPairsThatFindADifference(t *testing.T) {
	const runs, least = 500, 500 * 93 / 100
	for _, c := range []struct {
		deviations         float64
		comparisons, pairs int
	}{
		{3, 1, 8}, {1, 1, 31}, {0.5, 1, 116}, {2, 5, 14}, {1, 5, 44}, {1, 24, 50},
	} {
		found := 0
		for seed := range uint64(runs) {
			const noise = 0.001 // of each side; a pair's differences have √2 times as much
			pairs := drawnPairs(c.pairs, 1+c.deviations*noise*math.Sqrt2, noise, seed)
			l := Compare(Comparison{ComparisonsInRun: c.comparisons}, pairs).Lines[0]
			if l.Seconds.Low > 0 {
				found++
			}
		}
		if found < least {
			t.Errorf("%+v: found in %d of %d runs", c, found, runs)
		}
	}
}

// ladderPairs returns the pairs of a step of a ladder, in which two identical builds answer the same prompts. As those
// of real servers, latencies are skewed, and some are several times as long. What makes a request slow shows in several
// quantities: E2EL is TTFT and all tokens, ITL is the median of what TPOT is the mean of, and prompts are hard or easy
// for both. Requests that are under way together share a batch, which is quick or slow for all of them.
func ladderPairs(r *rand.Rand, requests, concurrency int) []Pairs {
	const tokens = 99
	drift := 1.0 // of the machine under both
	list := []Pairs{{Metric: "TTFT"}, {Metric: "TPOT"}, {Metric: "ITL"}, {Metric: "E2EL"}}
	var batch [2]float64
	for i := range requests {
		if i%concurrency == 0 {
			batch = [2]float64{math.Exp(0.2 * r.NormFloat64()), math.Exp(0.2 * r.NormFloat64())}
		}
		drift *= math.Exp(0.02 * r.NormFloat64())
		hard := math.Exp(0.2 * r.NormFloat64())
		var ttft, tpot, itl, e2el [2]float64
		for side := range 2 {
			drift := drift * batch[side]
			ttft[side] = 0.8 * drift * hard * math.Exp(0.3*r.NormFloat64())
			if r.Float64() < 0.1 { // waited in a queue
				ttft[side] *= 1 + 3*r.ExpFloat64()
			}
			itl[side] = 0.003 * drift * math.Exp(0.05*r.NormFloat64())
			tpot[side] = itl[side] * (1 + 0.1*r.ExpFloat64()) // stalls make the mean longer, not the median
			e2el[side] = ttft[side] + tokens*tpot[side]
		}
		for i, v := range [][2]float64{ttft, tpot, itl, e2el} {
			list[i].Values = append(list[i].Values, stats.Pair{A: v[0], B: v[1]})
		}
	}
	return list
}

// TestLadderOfIdenticalBuilds holds that a ladder of five steps has the confidence of one comparison. At most 5% of
// runs of identical builds show any difference, which Bonferroni's inequality bounds whatever the steps have in common,
// and no more fail. The runs are such that this holds neither with a confidence of each step alone, nor with pairs of
// single requests that share a batch.
func TestLadderOfIdenticalBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("make test takes the time")
	}
	for _, test := range []struct {
		about    string
		inRun    int
		together bool
		sure     bool
	}{
		{"the ladder shares its confidence, and batches are averaged", len(ladderSteps), true, true},
		{"each step has the whole confidence", 1, true, false},
		{"pairs are single requests", len(ladderSteps), false, false},
	} {
		const runs, most = 200, 200 * 5 / 100
		shown, failed := 0, 0
		for seed := range uint64(runs) {
			differs, regressed := runOfIdenticalBuilds(seed, test.inRun, test.together)
			if differs {
				shown++
			}
			if regressed {
				failed++
			}
		}
		if sure := shown <= most; sure != test.sure || failed > shown {
			t.Errorf("%s: of %d runs %d show a difference, %d fail", test.about, runs, shown, failed)
		}
	}
}

// ladderSteps are the requests under way together, in each step.
var ladderSteps = []int{1, 2, 4, 8, 16}

// runOfIdenticalBuilds reports whether a ladder shows a difference in any step, and whether it fails for it.
func runOfIdenticalBuilds(seed uint64, comparisonsInRun int, together bool) (differs, regressed bool) {
	const pairs = 30 // in each step
	r := rand.New(rand.NewPCG(seed, 20261124))
	for _, concurrency := range ladderSteps {
		c := Comparison{A: "old", B: "new", Pair: "prompt", ComparisonsInRun: comparisonsInRun}
		if together {
			c.RequestsInPair = concurrency
		}
		c = Compare(c, ladderPairs(r, pairs*concurrency, concurrency))
		slower, _ := Gate{Regression: true}.Regressions(c)
		differs = differs || anyShown(c)
		regressed = regressed || len(slower) > 0
	}
	return differs, regressed
}

// near compares with the error of floating point.
func near() gocmp.Option {
	return gocmp.Options{
		cmpopts.EquateApprox(1e-9, 1e-15),
		cmpopts.EquateNaNs(),
		gocmp.Transformer("float", func(n stats.Number) float64 { return float64(n) }),
	}
}

// TestSwappingFlipsSigns holds that B against A is the mirror image of A against B.
func TestSwappingFlipsSigns(t *testing.T) {
	for seed := range uint64(300) {
		pairs := drawnPairs(1+int(seed%45), 0.9+float64(seed%20)/100, 0.03, seed)
		there := Compare(Comparison{}, pairs)
		for _, p := range pairs {
			for i, v := range p.Values {
				p.Values[i] = stats.Pair{A: v.B, B: v.A}
			}
		}
		for i, l := range Compare(Comparison{}, pairs).Lines {
			want := there.Lines[i]
			verdict := Verdict(want, "A", "B")
			want.Verdict = l.Verdict
			want.A, want.B = want.B, want.A
			want.Seconds = stats.Interval{Center: -want.Seconds.Center, Low: -want.Seconds.High, High: -want.Seconds.Low}
			want.Ratio = stats.Interval{Center: 1 / want.Ratio.Center, Low: 1 / want.Ratio.High, High: 1 / want.Ratio.Low}
			if diff := gocmp.Diff(want, l, near()); diff != "" {
				t.Errorf("-want +swapped:\n%s", diff)
			}
			if l.Shown && strings.Contains(verdict, "slower") == strings.Contains(Verdict(l, "A", "B"), "slower") {
				t.Errorf("%q and %q", verdict, Verdict(l, "A", "B"))
			}
		}
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
		{"slower, but the interval begins below what counts", 20, 2, 99.99, nil},
		{"faster", 20, 0.5, 0, nil},
		{"too few rounds", 7, 2, 0, []string{"nothing was judged: " + tooFew}},
		{"no round", 0, 2, 0, []string{"nothing was judged: no round was answered by both: nothing to compare"}},
	} {
		pairs := drawnPairs(test.rounds, test.factor, 0.001, 1)
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
