package stats

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// ExampleCompare runs the example that difference.go explains.
func ExampleCompare() {
	ttft := []Pair{
		{0.800, 0.850}, {0.950, 0.990}, {0.820, 0.880}, {0.900, 0.945},
		{0.760, 0.815}, {0.810, 0.850}, {0.700, 0.745}, {0.790, 0.835},
	}
	d := Compare([][]Pair{ttft, ttft, ttft, ttft}, 1)[0] // TTFT, TPOT, ITL and E2EL

	fmt.Printf("%d rounds, %d needed, of five steps %d\n", d.Pairs, d.Needed, PairsNeeded(5*4))
	fmt.Printf("B − A: %.0f ms, between %.0f and %.0f ms\n",
		1000*d.Seconds.Median, 1000*d.Seconds.Low, 1000*d.Seconds.High)
	fmt.Printf("B takes %.3f to %.3f times as long\n", d.Ratio.Low, d.Ratio.High)
	fmt.Printf("shown: %t, hidden by correlation: %t\n", d.Shown, d.HiddenByCorrelation)
	// Output:
	// 8 rounds, 8 needed, of five steps 10
	// B − A: 45 ms, between 40 and 60 ms
	// B takes 1.042 to 1.073 times as long
	// shown: true, hidden by correlation: false
}

// ExampleCompare_correlated runs the example that correlation.go explains: the rounds of [ExampleCompare] in an order in
// which each difference resembles the one before.
func ExampleCompare_correlated() {
	ttft := []Pair{
		{0.900, 0.945}, {0.700, 0.745}, {0.810, 0.850}, {0.950, 0.990},
		{0.800, 0.850}, {0.790, 0.835}, {0.820, 0.880}, {0.760, 0.815},
	}
	d := Compare([][]Pair{ttft, ttft, ttft, ttft}, 1)[0]

	fmt.Printf("correlation up to %.2f\n", d.Correlation)
	fmt.Printf("B − A: %.0f ms, between %.0f and %.0f ms\n",
		1000*d.Seconds.Median, 1000*d.Seconds.Low, 1000*d.Seconds.High)
	fmt.Printf("shown: %t, hidden by correlation: %t\n", d.Shown, d.HiddenByCorrelation)
	// Output:
	// correlation up to 0.88
	// B − A: 45 ms, between -20 and 120 ms
	// shown: false, hidden by correlation: true
}

// TestPairsNeeded holds how many pairs show a difference, and that one less shows none, however many intervals share
// the confidence.
func TestPairsNeeded(t *testing.T) {
	for intervals, want := range map[int]int{0: 6, 1: 6, 4: 8, 8: 9, 20: 10, 48: 11, 96: 12} {
		n := PairsNeeded(intervals)
		if n != want {
			t.Errorf("%d intervals need %d pairs, want %d", intervals, n, want)
		}
		for pairs, shown := range map[int]bool{n: true, n - 1: false} {
			d := Compare([][]Pair{slices.Repeat([]Pair{{1, 2}}, pairs)}, intervals)[0]
			if d.Shown != shown || d.Needed != n {
				t.Errorf("%d intervals, %d pairs of %d needed: shown %t", intervals, pairs, d.Needed, d.Shown)
			}
		}
	}
}

// near compares with the error of floating point.
func near() cmp.Option {
	return cmp.Options{
		cmpopts.EquateApprox(1e-9, 1e-15),
		cmpopts.EquateNaNs(),
		cmp.Transformer("float", func(n Number) float64 { return float64(n) }),
	}
}

// TestGroupMeans holds that no request is lost or counted twice, that the last group is not smaller than the others,
// and that pairs without two positive numbers do not count.
func TestGroupMeans(t *testing.T) {
	pairs := []Pair{{1, 10}, {3, 30}, {5, 50}, {7, 70}, {12, 120}}
	some := slices.Clone(pairs)
	some[0].B, some[2].A, some[3].A = math.NaN(), 0, math.Inf(1)
	for _, test := range []struct {
		size        int
		pairs, want []Pair
	}{
		{0, pairs, pairs},
		{1, pairs, pairs},
		{2, pairs, []Pair{{2, 20}, {8, 80}}},
		{3, pairs, []Pair{{28.0 / 5, 56}}},
		{9, pairs, []Pair{{28.0 / 5, 56}}},
		{2, some, []Pair{{3, 30}, {12, 120}}},
		{5, some, []Pair{{7.5, 75}}},
	} {
		if diff := cmp.Diff(test.want, GroupMeans(test.pairs, test.size), near()); diff != "" {
			t.Errorf("groups of %d of %v (-want +got):\n%s", test.size, test.pairs, diff)
		}
	}
}

// TestSwappingSides holds that A against B is the mirror image of B against A, whatever the pairs.
func TestSwappingSides(t *testing.T) {
	for seed := range uint64(300) {
		r := newRandom(seed)
		factor := 0.9 + float64(seed%20)/100
		run := r.run(8+int(seed%45), factor, 0.9*float64(seed%3)/2, independent)
		swapped := make([][]Pair, len(run))
		for i, pairs := range run {
			for _, p := range pairs {
				swapped[i] = append(swapped[i], Pair{p.B, p.A})
			}
		}
		mirrored := Compare(swapped, 1)
		for i, d := range Compare(run, 1) {
			d.A, d.B = d.B, d.A
			d.Seconds = Interval{Median: -d.Seconds.Median, Low: -d.Seconds.High, High: -d.Seconds.Low}
			d.Ratio = Interval{Median: 1 / d.Ratio.Median, Low: 1 / d.Ratio.High, High: 1 / d.Ratio.Low}
			if diff := cmp.Diff(d, mirrored[i], near()); diff != "" {
				t.Errorf("-want +swapped:\n%s", diff)
			}
		}
	}
}

// TestIntervals holds that an interval reaches from the median to all values and beyond, and that it interpolates.
func TestIntervals(t *testing.T) {
	values := []float64{60, 40, 45, 50, 55}
	for reach, want := range map[float64]Interval{
		0:    {50, 50, 50},
		0.25: {50, 47.5, 52.5},
		0.5:  {50, 45, 55},
		1:    {50, 40, 60},
		1.25: {50, 20, 80},
	} {
		if diff := cmp.Diff(want, medianInterval(values, reach), near()); diff != "" {
			t.Errorf("reach %g (-want +got):\n%s", reach, diff)
		}
	}
}

// TestFarthestReach holds the examples of its comment: beyond 10 values an interval extends by at most 2 times their
// range, beyond 20 by 0.7 times.
func TestFarthestReach(t *testing.T) {
	for n, want := range map[int]string{10: "2.0", 20: "0.7", 200: "0.1"} {
		got := fmt.Sprintf("%.1f", rangesBeyond*(farthestReach(n, 0.0125)-1))
		if got != want {
			t.Errorf("%d values: %s times their range, want %s", n, got, want)
		}
	}
}

// TestBothIntervalsAgree holds that both intervals show a difference or neither does. B takes about 1.5 times as long.
// The differences alone would not show it, because the prompts differ by more.
func TestBothIntervalsAgree(t *testing.T) {
	var pairs []Pair
	for i := range 8 {
		a := 1 + 9*float64(i%2)
		pairs = append(pairs, Pair{a, a * (1.5 + 0.01*float64(i))}) // a slope: the intervals reach far
	}
	d := Compare([][]Pair{pairs}, 1)[0]
	if !d.Shown || d.Ratio.Low <= 1 || d.Seconds.Low != 0 {
		t.Errorf("%+v", d)
	}
}

// TestManyPairs holds that thousands of pairs have an interval, narrow and around the truth.
func TestManyPairs(t *testing.T) {
	d := Compare(newRandom(1).run(5000, 1.05, 0, independent), 1)[0]
	if d.Ratio.Low > 1.05 || d.Ratio.High < 1.05 || d.Ratio.High-d.Ratio.Low > 0.005 {
		t.Errorf("%+v does not hold 1.05 closely", d.Ratio)
	}
}
