package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/plot"
)

// most is how many points a series has at most, more or less.
const most = 500

// cumulated are the points of a distribution: at each value the share of those
// that are not above it. Of many it keeps even steps of the share, and ever finer
// ones towards both ends, so that tails stay what they are.
func cumulated(values []float64) []plot.Point {
	sorted := slices.Sorted(slices.Values(values))
	var points []plot.Point
	for _, i := range ranks(len(sorted)) {
		share := float64(i+1) / float64(len(sorted))
		label := fmt.Sprintf("%s: %s", percentile(share), format.Seconds(sorted[i]))
		points = append(points, plot.Point{X: sorted[i], Y: share, Label: label})
	}
	return points
}

// ranks are those of n sorted values that are drawn, from 0 on.
func ranks(n int) []int {
	if n <= most {
		list := make([]int, n)
		for i := range list {
			list[i] = i
		}
		return list
	}
	var list []int
	for i := range most/2 + 1 {
		list = append(list, i*(n-1)/(most/2))
	}
	const tail = most / 4
	for i := range tail {
		rank := int(math.Pow(float64(n)/2, float64(i)/tail)) - 1
		list = append(list, rank, n-1-rank)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// thin keeps of points in the order of X the lowest and the highest of equal
// numbers in a row: what stands out stays.
func thin(points []plot.Point) []plot.Point {
	if len(points) <= most {
		return points
	}
	var kept []plot.Point
	for i := range most / 2 {
		from, to := i*len(points)/(most/2), (i+1)*len(points)/(most/2)
		low, high := from, from
		for j := from; j < to; j++ {
			if points[j].Y < points[low].Y {
				low = j
			}
			if points[j].Y > points[high].Y {
				high = j
			}
		}
		kept = append(kept, points[min(low, high)])
		if low != high {
			kept = append(kept, points[max(low, high)])
		}
	}
	return kept
}

// byStart is a sorted copy.
func byStart(samples []Sample) []Sample {
	return slices.SortedStableFunc(slices.Values(samples), func(a, b Sample) int { return a.Start.Compare(b.Start) })
}
