package report

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
)

// A contest is two simulated targets that answer the same prompts.
type contest struct {
	rounds  int
	factor  float64 // by which B takes longer in everything
	noise   float64 // of each request, a share of the value
	outlier float64 // share of requests that take up to several times as long
}

// pairs are those of one run, in which both targets share what is hard about a round.
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
		p := Pairs{Metric: q.name}
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
				if l.Shown && l.Difference.High < 0 {
					found[l.Metric]++
				}
			}
		}
		if c.factor == 1 && claims > runs*5/100 {
			t.Errorf("%+v: %d of %d runs claim a difference", c, claims, runs)
		}
		for _, q := range quantities {
			if c.factor > 1 && found[q.name] <= runs*95/100 {
				t.Errorf("%+v: %s found in %d of %d runs", c, q.name, found[q.name], runs)
			}
		}
	}
}

// near compares with the error of floating point.
func near() gocmp.Option {
	return gocmp.Options{
		cmpopts.EquateApprox(1e-9, 1e-15), cmpopts.EquateNaNs(), gocmp.Transformer("float", func(n Number) float64 { return float64(n) }),
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
	for name, test := range map[string]struct {
		c       Comparison
		pairs   []Pairs
		shown   bool
		warning string
	}{
		"five rounds are too few for one line": {Comparison{}, pairs(5, 2, 1), false, "6 rounds are needed to show any difference at this confidence (here: 5)"},
		"six are enough for one":               {Comparison{}, pairs(6, 2, 1), true, ""},
		"one":                                  {Comparison{}, pairs(1, 2, 1), false, "6 rounds are needed to show any difference at this confidence (here: 1)"},
		"seven are too few for four lines":     {Comparison{}, four(7), false, "8 rounds are needed to show any difference at this confidence (here: 7)"},
		"eight are enough for four":            {Comparison{}, four(8), true, ""},
		"periods":                              {Comparison{Pair: "period of 1h0m0s"}, pairs(5, 2, 1), false, "6 periods of 1h0m0s are needed to show any difference at this confidence (here: 5)"},
		"a tie at the edge of the interval":    {Comparison{}, pairs(6, 1, 1), false, ""},
		"no time":                              {Comparison{}, pairs(1, 0, 1), false, "no round was answered by both: nothing to compare"},
		"no numbers":                           {Comparison{}, pairs(3, math.NaN(), 1), false, "no round was answered by both: nothing to compare"},
		"nothing":                              {Comparison{}, nil, false, "no round was answered by both: nothing to compare"},
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
		c      contest
		failOn string
		few    int // pairs of TTFT; 0: as many as rounds
		want   []string
		notes  []string
	}{
		"slower":              {contest{rounds: 20, factor: 2, noise: 0.001}, "regression", 0, slower, nil},
		"by more":             {contest{rounds: 20, factor: 2, noise: 0.001}, "regression > 98.5%", 0, slower, nil},
		"by less":             {contest{rounds: 20, factor: 2, noise: 0.001}, "regression>99.99%", 0, nil, nil}, // where the interval begins
		"faster":              {contest{rounds: 20, factor: 0.5, noise: 0.001}, "regression", 0, nil, nil},
		"equal":               {contest{rounds: 20, factor: 1, noise: 0.1}, "regression", 0, nil, nil},
		"too few":             {contest{rounds: 7, factor: 2}, "regression", 0, []string{"8 rounds are needed to show any difference at this confidence (here: 7)"}, nil},
		"too few of one":      {contest{rounds: 20, factor: 2, noise: 0.001}, "regression", 3, slower[1:], []string{"TTFT was not judged: too few pairs"}},
		"no pair of all four": {contest{}, "regression", 0, []string{"no round was answered by both: nothing to compare"}, nil},
	} {
		g, problems := ParseGate([]string{test.failOn}, nil, make([]config.Target, 2))
		pairs := test.c.pairs(1)
		pairs[0].Values = pairs[0].Values[:cmp.Or(test.few, test.c.rounds)]
		got, notes := g.Regressions(Compare(Comparison{A: "a", B: "b", Load: "1 QPS", Pair: "round"}, pairs))
		equal := func(got, want string) bool { return strings.HasPrefix(got, "regression, 1 QPS: "+want) }
		if problems != nil || !slices.EqualFunc(got, test.want, equal) || !slices.EqualFunc(notes, test.notes, equal) {
			t.Errorf("%s: %v, %q and %q, want %q and %q", name, problems, got, notes, test.want, test.notes)
		}
	}
}

// TestParseGate holds what --fail-on takes, and what is offered: of a command that compares nothing no regression.
func TestParseGate(t *testing.T) {
	for want, test := range map[string]struct {
		failOn  []string
		targets []config.Target
	}{
		"{true true 2.5} ": {[]string{"objective", " regression>2.5%"}, make([]config.Target, 2)},
		"{false false 0} 1 problem in the configuration:\n  --fail-on=\"x\": unknown; want objective":                                          {[]string{"x"}, nil},
		"{true false 0} 1 problem in the configuration:\n  --fail-on=\"regression>5\": unknown; want objective, regression or 'regression>5%'": {[]string{"objective", "regression>5"}, make([]config.Target, 1)},
	} {
		g, problems := ParseGate(test.failOn, []probe.Objective{}, test.targets)
		text := ""
		if problems != nil {
			text = problems.Error()
		}
		if got := fmt.Sprint(g, " ", text); got != want {
			t.Errorf("%q: %s, want %s", test.failOn, got, want)
		}
	}
}
