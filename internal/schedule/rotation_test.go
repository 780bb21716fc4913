package schedule

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestOrderOfARotation(t *testing.T) {
	for want, weights := range map[string][]int{
		"aa":            {2},
		"abcd" + "cdab": {1, 1, 1, 1},
		"aaba" + "baaa": {3, 1},
		"aabacaa":       {5, 1, 1},
		"bab" + "abb":   {1, 2},
	} {
		var got strings.Builder
		for n := range uint64(len(want)) {
			kind, _ := NewRotation(weights...).At(n)
			got.WriteByte("abcd"[kind])
		}
		if got.String() != want {
			t.Errorf("weights %v: %s, want %s", weights, got.String(), want)
		}
	}
}

// TestRotationsAreExactAndEven holds for random weights that each kind counts its starts without a gap, has exactly its
// share of each cycle, also after a million, and that no wait for its next start is longer than three times its mean
// one: it is up to twice within a cycle, and cycles begin at different places.
func TestRotationsAreExactAndEven(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		weights := make([]int, 1+random.IntN(20))
		sum := 0
		for i := range weights {
			weights[i] = 1 + random.IntN(100)
			sum += weights[i]
		}
		r := NewRotation(weights...)
		first := uint64(sum) * 1_000_000
		latest := make([]uint64, len(weights))
		starts := make([]int, len(weights))
		for n := range uint64(2 * sum) {
			kind, before := r.At(first + n)
			want := uint64(weights[kind])*1_000_000 + uint64(starts[kind])
			if before != want {
				t.Fatalf("weights %v, start %d: %d starts of %d before it, want %d", weights, n, before, kind, want)
			}
			wait := float64(n - latest[kind])
			most := math.Ceil(3 * float64(sum) / float64(weights[kind]))
			if starts[kind] > 0 && wait > most {
				t.Fatalf("weights %v, start %d: %v starts after the one before of %d, want at most %v",
					weights, n, wait, kind, most)
			}
			latest[kind] = n
			starts[kind]++
		}
		for kind, weight := range weights {
			if starts[kind] != 2*weight {
				t.Errorf("weights %v: two cycles have %d starts of %d", weights, starts[kind], kind)
			}
		}
	}
}

// TestLongWorkLeavesNoKindOut holds that among the first starts each kind has between half and twice what its weight
// says, even if each start takes so long that the next ones are left out, as many as a cycle has or any other number.
func TestLongWorkLeavesNoKindOut(t *testing.T) {
	for _, weights := range [][]int{{1, 1}, {1, 1, 1}, {1, 1, 1, 1}, {3, 1}, {1, 2, 3}} {
		r := NewRotation(weights...)
		for taken := range uint64(3*len(r.cycle) + 1) {
			starts := make([]float64, len(weights))
			total := 20 * len(r.cycle)
			for i := range total {
				kind, _ := r.At(uint64(i) * (taken + 1))
				starts[kind]++
			}
			for kind, weight := range weights {
				want := float64(total * weight / len(r.cycle))
				if starts[kind] < want/2 || starts[kind] > 2*want {
					t.Errorf("weights %v, %d starts left out after each: %v of %d, want about %v",
						weights, taken, starts[kind], kind, want)
				}
			}
		}
	}
}
