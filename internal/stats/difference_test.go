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
		{0.800, 0.850}, {0.950, 0.990}, {0.700, 0.745}, {0.820, 0.880},
		{0.790, 0.835}, {0.900, 0.945}, {0.760, 0.815}, {0.810, 0.850},
	}
	d := Compare(ttft, 4) // TTFT, TPOT, ITL and E2EL

	fmt.Printf("%d rounds, %d needed, of five steps %d\n", d.Pairs, d.Needed, PairsNeeded(5*4))
	fmt.Printf("B − A: %.0f ms, between %.0f and %.0f ms\n",
		1000*d.Seconds.Center, 1000*d.Seconds.Low, 1000*d.Seconds.High)
	fmt.Printf("B takes %.3f to %.3f times as long\n", d.Ratio.Low, d.Ratio.High)
	// Output:
	// 8 rounds, 8 needed, of five steps 10
	// B − A: 45 ms, between 40 and 60 ms
	// B takes 1.042 to 1.073 times as long
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
			d := Compare(slices.Repeat([]Pair{{1, 2}}, pairs), intervals)
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
