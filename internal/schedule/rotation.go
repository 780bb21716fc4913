package schedule

import "math/bits"

// A Rotation shares the starts of a plan among several kinds of work. Each kind has a weight: of as many starts in a
// row as all weights together it gets so many, spread evenly. It is a table of one such cycle, so that no start depends
// on the ones before, and nothing adds up over a million starts. It is only read.
//
// Each cycle begins at another place of the table. Else work that takes nearly as long as a cycle would overlap with
// the starts of all other kinds, each time, and only one kind would ever start. The places follow each other by the
// golden ratio, so that any few cycles in a row have them spread, and no regular choice of starts meets one kind only:
// see https://en.wikipedia.org/wiki/Equidistributed_sequence.
type Rotation struct {
	cycle   []place
	weights []int
}

// A place is one start of a cycle.
type place struct {
	kind   int // whose start it is
	before int // starts of this kind in the cycle before it
}

// NewRotation returns the rotation of kinds with these weights, each of which is above 0. Their sum is the length of
// the table.
//
// The order is that of nginx's smooth weighted round-robin: in each start every kind gains its weight, the one that has
// gained the most is next, and pays the sum of all weights. Weights of 1, 1 and 1 give a b c, weights of 5, 1 and 1
// give a a b a c a a.
//
// See https://github.com/nginx/nginx/commit/52327e0627f49dbda1e8db695e63a4b0af4448b1.
func NewRotation(weights ...int) Rotation {
	sum := 0
	for _, weight := range weights {
		sum += weight
	}
	gained := make([]int, len(weights))
	started := make([]int, len(weights))
	r := Rotation{weights: weights}
	for range sum {
		next := 0
		for kind, weight := range weights {
			gained[kind] += weight
			if gained[kind] > gained[next] {
				next = kind
			}
		}
		gained[next] -= sum
		r.cycle = append(r.cycle, place{kind: next, before: started[next]})
		started[next]++
	}
	return r
}

// golden is the fraction of the golden ratio, in units of 2^-64. The fractions of its multiples are spread more evenly
// than those of any other number.
const golden = 0x9e3779b97f4a7c15

// At returns whose start n is, and how many of this kind there are before it.
func (r Rotation) At(n uint64) (kind int, before uint64) {
	length := uint64(len(r.cycle))
	cycle := n / length
	first, _ := bits.Mul64(cycle*golden, length)
	at := (first + n%length) % length
	kind = r.cycle[at].kind
	before = cycle*uint64(r.weights[kind]) + uint64(r.cycle[at].before)
	if at < first { // those from the first place to the end of the table came before
		before += uint64(r.weights[kind])
	}
	for _, skipped := range r.cycle[:first] {
		if skipped.kind == kind {
			before--
		}
	}
	return kind, before
}
