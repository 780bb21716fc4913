package stats

// A Pair is a measurement of A and one of B under the same circumstances, in seconds.
type Pair struct{ A, B float64 }

// isUsable reports whether both sides are positive numbers: latencies that have a ratio.
func (p Pair) isUsable() bool { return Finite(p.B-p.A) && p.A > 0 && p.B > 0 }

// GroupMeans replaces each size pairs in a row by the means of their sides. Requests that were under way together share
// a queue, a batch and whatever disturbed the machine: they are one piece of evidence, not many.
//
// What is left at the end is added to the last group, so no group is smaller than size. A pair that does not have a
// positive number on both sides does not count, and a group without any other is left out. A size below 1 is 1.
//
// Example: five pairs in groups of two are a group of two and a group of three.
func GroupMeans(pairs []Pair, size int) (means []Pair) {
	size = max(size, 1)
	for len(pairs) > 0 {
		group := pairs
		if len(pairs) >= 2*size {
			group = pairs[:size]
		}
		pairs = pairs[len(group):]
		var sum Pair
		n := 0.0
		for _, p := range group {
			if p.isUsable() {
				sum.A += p.A
				sum.B += p.B
				n++
			}
		}
		if n > 0 {
			means = append(means, Pair{sum.A / n, sum.B / n})
		}
	}
	return means
}
