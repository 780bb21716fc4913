package report

import "slices"

// A quantity is one of those that are compared.
type quantity struct {
	name string
	of   func(Sample) Seconds
}

// quantities are those of a request, in their order. Its ITL is the median of
// its tokens'.
func quantities() []quantity {
	return []quantity{
		{"TTFT", func(s Sample) Seconds { return s.TTFT }},
		{"TPOT", func(s Sample) Seconds { return s.TPOT }},
		{"ITL", medianITL},
		{"E2EL", func(s Sample) Seconds { return s.E2EL }},
	}
}

// PairUp pairs the samples of A and B that answered the same prompt, where both
// succeeded and both have the quantity. Quantities without a pair are left out,
// and so is ITL where either's token frames come in bursts: it is a mean within them then,
// which TPOT says as well. So is E2EL of a prompt that
// a cache knew: TTFT, which it lacks, is in it.
func PairUp(a, b []Sample) []Pairs {
	both := rounds(a, b)
	batched := batchedFrames(a) || batchedFrames(b)
	var list []Pairs
	for _, q := range quantities() {
		if q.name == "ITL" && batched {
			continue
		}
		p := Pairs{Metric: q.name}
		for _, pair := range both {
			va, vb := q.of(pair[0]), q.of(pair[1])
			if q.name == "E2EL" && (contaminated(pair[0]) || contaminated(pair[1])) {
				continue
			}
			if succeeded(pair[0]) && succeeded(pair[1]) && va.Known && vb.Known {
				p.Values = append(p.Values, [2]float64{va.Value, vb.Value})
			}
		}
		if p.Values != nil {
			list = append(list, p)
		}
	}
	return list
}

func batchedFrames(samples []Sample) bool {
	good, _ := split(samples, succeeded)
	return burstsOf(good).batched()
}

// rounds are the samples of equal round, each two, by round. Where a round has
// several of one target, they are paired in the order in which they started.
func rounds(a, b []Sample) [][2]Sample {
	a, b = byRound(a), byRound(b)
	var list [][2]Sample
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i].Round < b[j].Round:
			i++
		case a[i].Round > b[j].Round:
			j++
		default:
			list = append(list, [2]Sample{a[i], b[j]})
			i, j = i+1, j+1
		}
	}
	return list
}

// byRound is a sorted copy.
func byRound(samples []Sample) []Sample {
	return slices.SortedStableFunc(slices.Values(samples), func(x, y Sample) int {
		if x.Round != y.Round {
			if x.Round < y.Round {
				return -1
			}
			return 1
		}
		return x.Start.Compare(y.Start)
	})
}
