package plot

import (
	"math"
	"slices"
)

// A spot is where a point is drawn: in units of the drawing, y downwards.
type spot struct {
	x, y  float64
	index int // of the point in its series
}

// thinDots leaves one spot, the first, in each square cell of that size, and beside
// them the outermost of all: leftmost, rightmost, highest and lowest.
func thinDots(spots []spot, cell float64) []spot {
	type square struct{ column, row int }
	taken := map[square]bool{}
	keep := outermost(spots)
	return slices.DeleteFunc(slices.Clone(spots), func(s spot) bool {
		at := square{int(math.Floor(s.x / cell)), int(math.Floor(s.y / cell))}
		drop := taken[at] && !slices.Contains(keep, s.index)
		taken[at] = true
		return drop
	})
}

// outermost are the indices of the spots at the four edges.
func outermost(spots []spot) []int {
	if len(spots) == 0 {
		return nil
	}
	left, right, top, bottom := spots[0], spots[0], spots[0], spots[0]
	for _, s := range spots {
		if s.x < left.x {
			left = s
		}
		if s.x > right.x {
			right = s
		}
		if s.y < top.y {
			top = s
		}
		if s.y > bottom.y {
			bottom = s
		}
	}
	return []int{left.index, right.index, top.index, bottom.index}
}

// thinLine leaves of spots in a row within one column of that width the first, the
// last, the highest and the lowest: the line covers the same pixels. Then it does the
// same with rows. (Jugel et al., M4: A Visualization-Oriented Time Series Data
// Aggregation, 2014; here of any order.)
func thinLine(spots []spot, cell float64) []spot {
	spots = thinRuns(spots, cell, func(s spot) (along, across float64) { return s.x, s.y })
	return thinRuns(spots, cell, func(s spot) (along, across float64) { return s.y, s.x })
}

func thinRuns(spots []spot, cell float64, turn func(spot) (along, across float64)) []spot {
	var kept []spot
	column := func(s spot) float64 { along, _ := turn(s); return math.Floor(along / cell) }
	for start := 0; start < len(spots); {
		end := start + 1
		for end < len(spots) && column(spots[end]) == column(spots[start]) {
			end++
		}
		kept = append(kept, extremes(spots[start:end], turn)...)
		start = end
	}
	return kept
}

// extremes are the first, the last and both outermost spots of a run, in its order.
func extremes(run []spot, turn func(spot) (along, across float64)) []spot {
	low, high := 0, 0
	for i, s := range run {
		_, v := turn(s)
		if _, least := turn(run[low]); v < least {
			low = i
		}
		if _, most := turn(run[high]); v > most {
			high = i
		}
	}
	at := []int{0, low, high, len(run) - 1}
	slices.Sort(at)
	var kept []spot
	for _, i := range slices.Compact(at) {
		kept = append(kept, run[i])
	}
	return kept
}
