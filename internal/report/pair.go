package report

import (
	"cmp"
	"math"
	"slices"
)

// A quantity is one of those that are compared.
type quantity struct {
	name string
	of   func(Sample) Seconds
}

// quantities are those of a request, in their order. Its ITL is the median of
// its tokens'.
func quantities() []quantity {
	return []quantity{{"TTFT", ttftOf}, {"TPOT", tpotOf}, {"ITL", medianITL}, {"E2EL", e2elOf}}
}

func ttftOf(s Sample) Seconds { return s.TTFT }

func tpotOf(s Sample) Seconds { return s.TPOT }

func e2elOf(s Sample) Seconds { return s.E2EL }

// A Request is what one request that succeeded adds to a comparison: NaN where there is no
// number, or none that may be compared.
type Request struct {
	Round uint64 `json:"round"`
	TTFT  Number `json:"ttft_seconds"`
	TPOT  Number `json:"tpot_seconds"`
	ITL   Number `json:"itl_seconds"` // median of its tokens'
	E2EL  Number `json:"e2el_seconds"`
}

// requestsOf are the requests of one target that succeeded, by round and start. They have no
// ITL where token frames come in bursts: it is a mean within them then, which TPOT says as
// well. Nor has E2EL a prompt that a cache knew: TTFT, which it lacks, is in it.
func requestsOf(samples []Sample) []Request {
	good, _ := split(samples, succeeded)
	batched := burstsOf(good).batched()
	slices.SortStableFunc(good, func(x, y Sample) int { return cmp.Or(cmp.Compare(x.Round, y.Round), x.Start.Compare(y.Start)) })
	var list []Request
	for _, s := range good {
		r := Request{Round: s.Round}
		for i, q := range quantities() {
			v := q.of(s)
			if !v.Known || q.name == "ITL" && batched || q.name == "E2EL" && s.Contaminated {
				v.Value = math.NaN()
			}
			*r.values()[i] = Number(v.Value)
		}
		list = append(list, r)
	}
	return list
}

// values are those of [quantities].
func (r *Request) values() [4]*Number { return [4]*Number{&r.TTFT, &r.TPOT, &r.ITL, &r.E2EL} }

// PairUp pairs the samples of A and B that answered the same prompt, where both
// succeeded and both have the quantity. Quantities without a pair are left out. Where a
// round has several of one target, they are paired in the order in which they started.
func PairUp(a, b []Sample) []Pairs { return pairsOf(rounds(requestsOf(a), requestsOf(b))) }

func pairsOf(both [][2]Request) []Pairs {
	var list []Pairs
	for i, q := range quantities() {
		p := Pairs{Metric: q.name}
		for _, pair := range both {
			p.Values = append(p.Values, [2]float64{float64(*pair[0].values()[i]), float64(*pair[1].values()[i])})
		}
		list = append(list, p)
	}
	return usable(list)
}

// rounds are the requests of equal round, each two. Both lists are by round.
func rounds(a, b []Request) [][2]Request {
	var list [][2]Request
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Round < b[0].Round:
			a = a[1:]
		case a[0].Round > b[0].Round:
			b = b[1:]
		default:
			list = append(list, [2]Request{a[0], b[0]})
			a, b = a[1:], b[1:]
		}
	}
	return list
}
