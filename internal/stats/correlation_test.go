package stats

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/testing/golden"
)

var long = flag.Bool("long", false, "measure the table of false alarms, which takes minutes")

// TestCorrelationOfNeighbours holds the estimates of series whose neighbours resemble each other, do not, or alternate;
// that a single value far off hides nothing, and that equal values say nothing.
func TestCorrelationOfNeighbours(t *testing.T) {
	slope := make([]float64, 40)
	zigzag := make([]float64, 40)
	for i := range slope {
		slope[i] = float64(i)
		zigzag[i] = float64(i % 2)
	}
	outlier := slices.Clone(slope)
	outlier[20] = 1e6
	noise := newRandom(1)
	for name, test := range map[string]struct {
		values    []float64
		low, high float64
	}{
		"a slope":            {slope, 0.9, 1},
		"one value far off":  {outlier, 0.8, 1},
		"alternating":        {zigzag, -1, -0.9},
		"all equal":          {make([]float64, 40), 0, 0},
		"independent":        {noise.series(4000, 0), -0.05, 0.05},
		"correlated by 0.7":  {noise.series(4000, 0.7), 0.65, 0.75},
		"correlated by 0.95": {noise.series(4000, 0.95), 0.92, 0.97},
	} {
		got := correlationOfNeighbours(test.values)
		if got < test.low || got > test.high {
			t.Errorf("%s: correlation %.3f, want %g to %g", name, got, test.low, test.high)
		}
	}
}

// TestNormalScores holds Blom's scores of five values, two of which are equal.
func TestNormalScores(t *testing.T) {
	got := normalScores([]float64{7, 1, 3, 3, 9})
	want := []float64{0.49720, -1.17976, -0.24104, -0.24104, 1.17976}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-4 {
			t.Errorf("scores %.5f, want %.5f", got, want)
		}
	}
}

// TestVarianceInflation holds how many pairs are worth one: at a correlation of 0 a single one, at 1 all.
func TestVarianceInflation(t *testing.T) {
	for correlation, want := range map[float64]string{0: "1.0", 0.5: "2.2", 0.9: "8.1", 1: "20.0"} {
		got := fmt.Sprintf("%.1f", varianceInflation(correlation, 20))
		if got != want {
			t.Errorf("correlation %g: %s of 20 pairs are worth one, want %s", correlation, got, want)
		}
	}
}

// A random draws the pairs of runs.
type random struct{ *rand.Rand }

func newRandom(seed uint64) random { return random{rand.New(rand.NewPCG(seed, 20261129))} }

// series returns normal values, each of which correlates with the one before (AR(1)).
func (r random) series(n int, correlation float64) []float64 {
	values := make([]float64, n)
	v := r.NormFloat64()
	for i := range values {
		values[i] = v
		v = correlation*v + math.Sqrt(1-correlation*correlation)*r.NormFloat64()
	}
	return values
}

// What the four quantities of a run have in common.
const (
	independent = "independent" // nothing
	related     = "related"     // ITL is nearly TPOT, and E2EL is TTFT and TPOT
	equal       = "equal"       // everything: a single quantity, four times
)

// run returns n pairs of each quantity. B takes factor times as long as A. Each side has noise of its own of 2%, which
// correlates with that of the pair before. Prompts are hard or easy for both.
func (r random) run(n int, factor, correlation float64, relation string) [][]Pair {
	const noise, hardness = 0.02, 0.1
	var sides [2][4][]float64
	for side := range sides {
		first, second, third := r.series(n, correlation), r.series(n, correlation), r.series(n, correlation)
		fourth := r.series(n, correlation)
		switch relation {
		case independent:
			sides[side] = [4][]float64{first, second, third, fourth}
		case equal:
			sides[side] = [4][]float64{first, first, first, first}
		case related:
			itl, e2el := make([]float64, n), make([]float64, n)
			for i := range n {
				itl[i] = 0.95*second[i] + math.Sqrt(1-0.95*0.95)*third[i]
				e2el[i] = (3*first[i] + 2*second[i]) / math.Sqrt(3*3+2*2)
			}
			sides[side] = [4][]float64{first, second, itl, e2el}
		}
	}
	run := make([][]Pair, 4)
	for i := range n {
		hard := math.Exp(hardness * r.NormFloat64())
		for q := range run {
			a := hard * math.Exp(noise*sides[0][q][i])
			b := hard * factor * math.Exp(noise*sides[1][q][i])
			run[q] = append(run[q], Pair{a, b})
		}
	}
	return run
}

// withoutCorrelation compares as if pairs were independent, as prober did at first.
func withoutCorrelation(run [][]Pair) (list []Difference) {
	for _, pairs := range run {
		d := Difference{Pairs: len(pairs), Needed: PairsNeeded(len(run))}
		d.compare(pairs, errorOfEach(len(run)))
		list = append(list, d)
	}
	return list
}

func isShown(d Difference) bool { return d.Shown }

// falseAlarms returns in what share of runs of equal sides any quantity shows a difference, first without looking at the
// correlation of pairs, then as [Compare] does.
func falseAlarms(runs, pairs int, correlation float64, relation string) (before, after float64) {
	for seed := range uint64(runs) {
		run := newRandom(seed).run(pairs, 1, correlation, relation)
		if slices.ContainsFunc(withoutCorrelation(run), isShown) {
			before++
		}
		if slices.ContainsFunc(Compare(run, 1), isShown) {
			after++
		}
	}
	return before / float64(runs), after / float64(runs)
}

// power returns how often a quantity of which B takes factor times as long as A is shown to be slower.
func power(runs, pairs int, factor, correlation float64) (before, after float64) {
	isSlower := func(d Difference) bool { return d.Ratio.Low > 1 }
	for seed := range uint64(runs) {
		run := newRandom(seed).run(pairs, factor, correlation, independent)
		before += count(withoutCorrelation(run), isSlower)
		after += count(Compare(run, 1), isSlower)
	}
	quantities := float64(4 * runs)
	return before / quantities, after / quantities
}

// count returns how many differences match.
func count(list []Difference, matches func(Difference) bool) (n float64) {
	for _, d := range list {
		if matches(d) {
			n++
		}
	}
	return n
}

// TestFalseAlarms holds what docs/bench.md claims, in a few cells of its table: of runs that compare equals, at most 5%
// show a difference of any quantity, even where pairs resemble each other. A real difference is found nearly as often as
// by a comparison that takes pairs for independent.
func TestFalseAlarms(t *testing.T) {
	const runs = 200
	for pairs, correlation := range map[int]float64{10: 0.9, 20: 0.7, 60: 0.9} {
		before, after := falseAlarms(runs, pairs, correlation, related)
		if after > 1-Confidence || before < 0.4 {
			t.Errorf("%d pairs, φ %g: false alarms in %.2f of the runs, otherwise %.2f", pairs, correlation, after, before)
		}
	}
	before, after := power(runs, 60, 1.05, 0)
	if after < before-0.01 {
		t.Errorf("60 pairs find 5%% in %.2f of the runs, otherwise %.2f", after, before)
	}
}

// TestTableOfFalseAlarms measures all cells of the table with -long, which takes minutes, and otherwise holds nothing.
func TestTableOfFalseAlarms(t *testing.T) {
	if !*long {
		return
	}
	const runs = 4000
	correlations := []float64{0, 0.5, 0.7, 0.9}
	var table strings.Builder
	row := func(head string, pairs int, measure func(correlation float64) (before, after float64)) {
		fmt.Fprintf(&table, "%-12s %3d pairs", head, pairs)
		for _, correlation := range correlations {
			before, after := measure(correlation)
			fmt.Fprintf(&table, "   φ %.1f: %5.1f → %5.1f", correlation, 100*before, 100*after)
		}
		table.WriteString("\n")
	}
	table.WriteString("Per cent of the runs: if pairs are taken for independent → as prober compares\n\n" +
		"Equal targets: any of the four quantities is shown to differ\n")
	for _, relation := range []string{independent, related, equal} {
		for _, pairs := range []int{10, 20, 60, 200} {
			row(relation, pairs, func(correlation float64) (before, after float64) {
				before, after = falseAlarms(runs, pairs, correlation, relation)
				if after > 1-Confidence {
					t.Errorf("%s, %d pairs, φ %g: false alarms in %.3f of the runs", relation, pairs, correlation, after)
				}
				return before, after
			})
		}
	}
	table.WriteString("\nOne target is slower: a quantity is shown to be\n")
	for _, slower := range []float64{0.02, 0.03, 0.05, 0.10, 0.50} {
		for _, pairs := range []int{10, 20, 60, 200} {
			row(fmt.Sprintf("by %.0f%%", 100*slower), pairs, func(correlation float64) (before, after float64) {
				return power(runs, pairs, 1+slower, correlation)
			})
		}
	}
	golden.Equal(t, "testdata/false_alarms.txt", table.String())
}
