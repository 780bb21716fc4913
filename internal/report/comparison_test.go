package report

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A contest is two simulated targets that answer the same prompts.
type contest struct {
	rounds  int
	factor  float64 // by which B takes longer in everything
	noise   float64 // of each request, a share of the value
	outlier float64 // share of requests that take up to several times as long
}

// pairs returns those of one run, in which both targets share what is hard about a round.
func (c contest) pairs(seed uint64) (list []Pairs) {
	r := rand.New(rand.NewPCG(seed, 20260301))
	draw := func(mean float64) float64 {
		v := mean * math.Exp(c.noise*r.NormFloat64())
		if r.Float64() < c.outlier {
			v *= 1 + 2*r.ExpFloat64()
		}
		return v
	}
	for _, q := range quantities {
		p := Pairs{Metric: q.Name}
		for range c.rounds {
			hard := math.Exp(0.1 * r.NormFloat64())
			p.Values = append(p.Values, [2]float64{hard * draw(0.8), c.factor * hard * draw(0.8)})
		}
		list = append(list, p)
	}
	return list
}

func anyShown(c Comparison) bool {
	return slices.ContainsFunc(c.Lines, func(l Line) bool { return l.Shown })
}

// TestRunsShowWhatIsThere holds that at most 5% of runs show any difference of equals, since
// the confidence is of all lines together, and 95% show in each line one that is there.
func TestRunsShowWhatIsThere(t *testing.T) {
	for _, c := range []contest{
		{rounds: 10, factor: 1, noise: 0.05, outlier: 0.05},
		{rounds: 60, factor: 1, noise: 0.05, outlier: 0.05},
		{rounds: 8, factor: 1, noise: 0.5},
		{rounds: 10, factor: 1.05, noise: 0.01},
		{rounds: 40, factor: 1.05, noise: 0.05 / math.Sqrt2}, // 5% is the noise of a pair's difference
		{rounds: 25, factor: 2.6, noise: 0.05, outlier: 0.05},
	} {
		const runs = 400
		claims, found := 0, map[string]int{}
		for seed := range uint64(runs) {
			compared := Compare(Comparison{}, c.pairs(seed))
			if anyShown(compared) {
				claims++
			}
			for _, l := range compared.Lines {
				if l.Shown && l.Difference.Low > 0 {
					found[l.Metric]++
				}
			}
		}
		if c.factor == 1 && claims > runs*5/100 {
			t.Errorf("%+v: %d of %d runs claim a difference", c, claims, runs)
		}
		for _, q := range quantities {
			if c.factor > 1 && found[q.Name] <= runs*95/100 {
				t.Errorf("%+v: %s found in %d of %d runs", c, q.Name, found[q.Name], runs)
			}
		}
	}
}

// ladderPairs returns those of a step of a ladder, in which two identical builds answer the same prompts. As of real
// servers latencies are skewed, some are several times as long, and what makes a request slow is seen in several
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
			list[i].Values = append(list[i].Values, v)
		}
	}
	return list
}

// TestLadderOfIdenticalBuilds holds that a ladder of five steps has the confidence of one comparison: at most 5% of
// runs of identical builds show any difference, which Bonferroni's inequality bounds whatever the steps have in common,
// and so no more fail. Neither a confidence of each step alone nor pairs of requests that share a batch do: the runs
// are such that this is seen.
func TestLadderOfIdenticalBuilds(t *testing.T) {
	const runs, most = 200, 200 * 5 / 100
	const requests = 30
	ladder := []int{1, 2, 4, 8, 16}
	for test, want := range map[struct {
		inRun    int
		together bool
	}]bool{{len(ladder), true}: true, {1, true}: false, {len(ladder), false}: false} {
		shown, failed := 0, 0
		for seed := range uint64(runs) {
			r := rand.New(rand.NewPCG(seed, 20261124))
			var differences, regressions bool
			for _, concurrency := range ladder {
				c := Comparison{A: "old", B: "new", Pair: "prompt", ComparisonsInRun: test.inRun}
				if test.together {
					c.RequestsInPair = concurrency
				}
				c = Compare(c, ladderPairs(r, requests*concurrency, concurrency))
				slower, notes := Gate{Regression: true}.Regressions(c)
				if len(notes) > 0 {
					t.Fatal(notes)
				}
				differences = differences || anyShown(c)
				regressions = regressions || len(slower) > 0
			}
			shown += one(differences)
			failed += one(regressions)
		}
		t.Logf("%+v: of %d runs %d show a difference, %d fail", test, runs, shown, failed)
		if sure := shown <= most; sure != want || failed > shown {
			t.Errorf("%+v: of %d runs %d show a difference, %d fail", test, runs, shown, failed)
		}
	}
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// TestPairsNeeded holds that so many pairs show a difference, and one less none, however many comparisons share the
// confidence.
func TestPairsNeeded(t *testing.T) {
	for comparisons, want := range map[int]int{0: 8, 1: 8, 2: 9, 5: 10, 12: 11, 24: 12} {
		n := PairsNeeded(comparisons)
		if n != want {
			t.Errorf("%d comparisons need %d pairs, want %d", comparisons, n, want)
		}
		for pairs, shown := range map[int]bool{n: true, n - 1: false} {
			p := Pairs{Values: slices.Repeat([][2]float64{{1, 2}}, pairs)}
			c := Compare(Comparison{ComparisonsInRun: comparisons}, slices.Repeat([]Pairs{p}, len(quantities)))
			if l := c.Lines[0]; l.Shown != shown || l.Needed != n {
				t.Errorf("%d comparisons, %d pairs: %+v", comparisons, pairs, l)
			}
		}
	}
}

// near compares with the error of floating point.
func near() gocmp.Option {
	return gocmp.Options{
		cmpopts.EquateApprox(1e-9, 1e-15),
		cmpopts.EquateNaNs(),
		gocmp.Transformer("float", func(n Number) float64 { return float64(n) }),
	}
}

func TestSwappingFlipsSigns(t *testing.T) {
	for seed := range uint64(300) {
		pairs := contest{rounds: 1 + int(seed%45), factor: 0.9 + float64(seed%20)/100, noise: 0.03, outlier: 0.05}.pairs(seed)
		there := Compare(Comparison{}, pairs)
		for _, p := range pairs {
			for i, v := range p.Values {
				p.Values[i] = [2]float64{v[1], v[0]}
			}
		}
		for i, l := range Compare(Comparison{}, pairs).Lines {
			want := there.Lines[i]
			verdict := Verdict(want, "A", "B")
			want.Verdict = l.Verdict
			want.A, want.B = want.B, want.A
			want.Difference = Interval{Center: -want.Difference.Center, Low: -want.Difference.High, High: -want.Difference.Low}
			want.Ratio = Interval{Center: 1 / want.Ratio.Center, Low: 1 / want.Ratio.High, High: 1 / want.Ratio.Low}
			if diff := gocmp.Diff(want, l, near()); diff != "" {
				t.Errorf("-want +swapped:\n%s", diff)
			}
			if l.Shown && strings.Contains(verdict, "slower") == strings.Contains(Verdict(l, "A", "B"), "slower") {
				t.Errorf("%q and %q", verdict, Verdict(l, "A", "B"))
			}
		}
	}
}

func TestCompare(t *testing.T) {
	pairs := func(n int, a, b float64) []Pairs {
		p := Pairs{Metric: "TTFT"}
		for i := range n {
			p.Values = append(p.Values, [2]float64{a + float64(i)/1e3, b})
		}
		return []Pairs{p}
	}
	four := func(n int) []Pairs { return contest{rounds: n, factor: 2, noise: 0.01}.pairs(1) }
	const nothing = "no round was answered by both: nothing to compare"
	for name, test := range map[string]struct {
		c       Comparison
		pairs   []Pairs
		shown   bool
		warning string
	}{
		"five rounds are too few for one line": {Comparison{}, pairs(5, 2, 1), false,
			"too few rounds to show any difference: 5 of 6 needed"},
		"six are enough for one": {Comparison{}, pairs(6, 2, 1), true, ""},
		"one": {Comparison{}, pairs(1, 2, 1), false,
			"too few rounds to show any difference: 1 of 6 needed"},
		"seven are too few for four lines": {Comparison{}, four(7), false,
			"too few rounds to show any difference: 7 of 8 needed"},
		"eight are enough for four": {Comparison{}, four(8), true, ""},
		"periods": {Comparison{Pair: "period of 1h0m0s"}, pairs(5, 2, 1), false,
			"too few periods of 1h0m0s to show any difference: 5 of 6 needed"},
		"a tie at the edge of the interval": {Comparison{}, pairs(6, 1, 1), false, ""},
		"no time":                           {Comparison{}, pairs(1, 0, 1), false, nothing},
		"no numbers":                        {Comparison{}, pairs(3, math.NaN(), 1), false, nothing},
		"a ladder": {Comparison{ComparisonsInRun: 5}, four(9), false,
			"too few rounds to show any difference: 9 of 10 needed in a run of 5 comparisons"},
		"nothing": {Comparison{}, nil, false, nothing},
	} {
		test.c.Pair = cmp.Or(test.c.Pair, "round")
		c := Compare(test.c, test.pairs)
		warnings := c.Warnings
		if anyShown(c) != test.shown || strings.Join(warnings, "|") != test.warning {
			t.Errorf("%s: shown %t, warnings %q, want %t, %q", name, anyShown(c), warnings, test.shown, test.warning)
		}
	}
}

// TestRegressions holds that only B can be one, that what cannot be judged at all is one, and what is a note.
func TestRegressions(t *testing.T) {
	slower := []string{"TTFT: b is 2.0 times slower", "TPOT: b is 2.0", "ITL: b is 2.0", "E2EL: b is 2.0"}
	for name, test := range map[string]struct {
		c     contest
		least float64
		few   int // pairs of TTFT; 0: as many as rounds
		want  []string
		notes []string
	}{
		"slower":  {contest{rounds: 20, factor: 2, noise: 0.001}, 0, 0, slower, nil},
		"by more": {contest{rounds: 20, factor: 2, noise: 0.001}, 98.5, 0, slower, nil},
		"by less": {contest{rounds: 20, factor: 2, noise: 0.001}, 99.99, 0, nil, nil}, // where the interval begins
		"faster":  {contest{rounds: 20, factor: 0.5, noise: 0.001}, 0, 0, nil, nil},
		"equal":   {contest{rounds: 20, factor: 1, noise: 0.1}, 0, 0, nil, nil},
		"too few": {contest{rounds: 7, factor: 2}, 0, 0,
			[]string{"nothing was judged: too few rounds to show any difference: 7 of 8 needed"}, nil},
		"too few of one": {contest{rounds: 20, factor: 2, noise: 0.001}, 0, 3, slower[1:],
			[]string{"TTFT was not judged: too few rounds, 3 of 8 needed"}},
		"no pair of all four": {contest{}, 0, 0,
			[]string{"nothing was judged: no round was answered by both: nothing to compare"}, nil},
	} {
		g := Gate{Regression: true, MinSlowdown: test.least}
		pairs := test.c.pairs(1)
		pairs[0].Values = pairs[0].Values[:cmp.Or(test.few, test.c.rounds)]
		got, notes := g.Regressions(Compare(Comparison{A: "a", B: "b", Load: "1 QPS", Pair: "round"}, pairs))
		equal := func(got, want string) bool { return strings.HasPrefix(got, "regression, 1 QPS: "+want) }
		if !slices.EqualFunc(got, test.want, equal) || !slices.EqualFunc(notes, test.notes, equal) {
			t.Errorf("%s: %q and %q, want %q and %q", name, got, notes, test.want, test.notes)
		}
	}
}

// TestWhatIsNotJudged holds that a gate says why a quantity was not judged: what excluded its values, too few pairs, or
// both.
func TestWhatIsNotJudged(t *testing.T) {
	cached := func(s *Sample) { s.Contaminated, s.TTFT = true, noValue }
	const tooFew = "too few rounds, 5 of 8 needed; a cache had 0 of 10 prompts of a and 5 of 10 of b"
	a, b := answers("a", 10, 0.8, 0.003, 0.01, 1), answers("b", 10, 0.8, 0.003, 0.01, 2)
	for name, test := range map[string]struct {
		b    []Sample
		want []string
	}{
		"nothing": {b, nil},
		"bursts":  {with(b, batched), []string{"ITL was not judged: token frames arrive in bursts"}},
		"a cache": {with(b, cached), []string{
			"TTFT was not judged: a cache had 0 of 10 prompts of a and 10 of 10 of b",
			"E2EL was not judged: a cache had 0 of 10 prompts of a and 10 of 10 of b",
		}},
		"a cache, sometimes": {with(b, cached, 0, 1, 2, 3, 4), []string{
			"TTFT was not judged: " + tooFew, "E2EL was not judged: " + tooFew,
		}},
		"no ITL on one side": {with(b, func(s *Sample) { s.ITL = noValue }),
			[]string{"ITL was not judged: no pair has a value on both sides"}},
	} {
		slower, notes := Gate{Regression: true}.Regressions(compared(a, test.b))
		equal := func(got, want string) bool { return got == "regression, 0.1 QPS: "+want }
		if slower != nil || !slices.EqualFunc(notes, test.want, equal) {
			t.Errorf("%s: %q and %q, want %q", name, slower, notes, test.want)
		}
	}
}

// TestGroupMeans holds that no request is lost or counted twice, and that the last group is not smaller than the
// others.
func TestGroupMeans(t *testing.T) {
	values := [][2]float64{{1, 10}, {3, 30}, {5, 50}, {7, 70}, {12, 120}}
	for n, want := range map[int][][2]float64{
		1: values,
		2: {{2, 20}, {8, 80}},
		3: {{28.0 / 5, 56}},
		9: {{28.0 / 5, 56}},
	} {
		if diff := gocmp.Diff(want, groupMeans(values, n), near()); diff != "" {
			t.Errorf("groups of %d (-want +got):\n%s", n, diff)
		}
	}
	missing := slices.Clone(values)
	missing[0][1], missing[2][0], missing[3][0] = math.NaN(), 0, math.Inf(1)
	for n, want := range map[int][][2]float64{1: {{3, 30}, {12, 120}}, 2: {{3, 30}, {12, 120}}, 5: {{7.5, 75}}} {
		if diff := gocmp.Diff(want, groupMeans(missing, n), near()); diff != "" {
			t.Errorf("groups of %d, some without a value (-want +got):\n%s", n, diff)
		}
	}
	c := Compare(Comparison{A: "a", B: "b", Pair: "prompt", RequestsInPair: 16},
		contest{rounds: 16 * 7, factor: 2, noise: 0.01}.pairs(1))
	const want = "too few groups of 16 prompts to show any difference: 7 of 8 needed"
	if c.Lines[0].Pairs != 7 || len(c.Warnings) != 1 || c.Warnings[0] != want {
		t.Errorf("%d pairs, %q", c.Lines[0].Pairs, c.Warnings)
	}
}
