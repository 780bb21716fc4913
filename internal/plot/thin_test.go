package plot

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func indices(spots []spot) []int {
	var list []int
	for _, s := range spots {
		list = append(list, s.index)
	}
	return list
}

func TestThinDots(t *testing.T) {
	for _, c := range []struct {
		about string
		spots []spot
		want  []int
	}{
		{"none", nil, nil},
		{"one", []spot{{0, 0, 0}}, []int{0}},
		{"one in each cell", []spot{{0.1, 0.1, 0}, {0.2, 0.2, 1}, {5, 5, 2}, {5.1, 4.9, 3}, {5.05, 5.05, 4}, {9, 9, 5}}, []int{0, 2, 3, 5}},
		{"the outermost stay", []spot{{0.5, 0.5, 0}, {0.5, 0.1, 1}, {0.1, 0.5, 2}, {0.9, 0.5, 3}, {0.5, 0.9, 4}, {0.6, 0.6, 5}}, []int{0, 1, 2, 3, 4}},
		{"equal ones are one", []spot{{1, 1, 0}, {1, 1, 1}, {1, 1, 2}}, []int{0}},
		{"cells below zero are cells too", []spot{{-0.5, 0, 0}, {0.5, 0, 1}}, []int{0, 1}},
	} {
		if diff := cmp.Diff(c.want, indices(thinDots(c.spots, 1))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.about, diff)
		}
	}
}

func TestThinLine(t *testing.T) {
	for _, c := range []struct {
		about string
		spots []spot
		want  []int
	}{
		{"none", nil, nil},
		{"far from each other", []spot{{0, 0, 0}, {2, 2, 1}, {4, 4, 2}}, []int{0, 1, 2}},
		{"a column keeps its ends and extremes", []spot{{0.1, 5, 0}, {0.2, 6, 1}, {0.3, 1, 2}, {0.4, 4, 3}, {0.5, 9, 4}, {0.6, 7.5, 5}, {0.7, 7, 6}}, []int{0, 2, 4, 6}},
		{"and so does a row", []spot{{5, 0.1, 0}, {6, 0.2, 1}, {1, 0.3, 2}, {4, 0.4, 3}, {9, 0.5, 4}, {7, 0.7, 5}}, []int{0, 2, 4, 5}},
		{"a line that comes back is another run", []spot{{0, 0, 0}, {5, 5, 1}, {0.1, 8, 2}}, []int{0, 1, 2}},
	} {
		if diff := cmp.Diff(c.want, indices(thinLine(c.spots, 1))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.about, diff)
		}
	}
}

func TestThinningKeepsWhatIsSeen(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 10 {
		var spots []spot
		for i := range 20_000 {
			spots = append(spots, spot{float64(i) / 50, 100 * math.Exp(r.NormFloat64()), i})
		}
		for name, thin := range map[string][]spot{"dots": thinDots(spots, 1), "line": thinLine(spots, 1)} {
			if !slices.IsSortedFunc(thin, func(a, b spot) int { return a.index - b.index }) {
				t.Fatalf("%s: not in their order", name)
			}
			if diff := cmp.Diff(bounds(spots), bounds(thin)); diff != "" {
				t.Fatalf("%s: other bounds (-want +got):\n%s", name, diff)
			}
		}
		if line := thinLine(spots, 1); len(line) > 4*401 {
			t.Fatalf("a line over 400 columns keeps %d spots", len(line))
		}
		for _, s := range spots {
			near := func(d spot) bool { return math.Abs(d.x-s.x) < 1 && math.Abs(d.y-s.y) < 1 }
			if s.index%500 == 0 && !slices.ContainsFunc(thinDots(spots[max(0, s.index-100):min(len(spots), s.index+100)], 1), near) {
				t.Fatalf("no dot is left within a cell of %v", s)
			}
		}
	}
}

// bounds are the extremes of both directions.
func bounds(spots []spot) [4]float64 {
	b := [4]float64{math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	for _, s := range spots {
		b = [4]float64{min(b[0], s.x), max(b[1], s.x), min(b[2], s.y), max(b[3], s.y)}
	}
	return b
}
