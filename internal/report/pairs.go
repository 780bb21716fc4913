package report

import (
	"cmp"
	"slices"
)

// Pairs are the measurements of one quantity on A and B. The two of a pair were taken under the same circumstances.
type Pairs struct {
	Metric string       // "TTFT"
	Values [][2]float64 // A and B, in seconds
}

// A requestPair is a request to A and one to B under the same circumstances.
type requestPair struct{ a, b Request }

// PairUp pairs the samples of A and B that answered the same prompt. Only pairs in which both succeeded are returned,
// in the order of their rounds.
func PairUp(a, b []Sample) []Pairs {
	return pairsOf(pairByRound(comparableRequests(a), comparableRequests(b)))
}

// comparableRequests returns the requests of one target that succeeded, by round and start, with the values that may be
// compared. If frames come in bursts, there is no ITL, because it would be a mean over each burst. If a cache had the
// prompt, there is no E2EL, because it is shorter by the prefill that was saved.
func comparableRequests(samples []Sample) (list []Request) {
	good, _ := partition(samples, succeeded)
	inBursts := burstsOf(good).frequent()
	order := make([]int, len(good)) // sorting positions is cheaper than sorting samples
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(good[i].Round, good[j].Round), good[i].Start.Compare(good[j].Start))
	})
	list = make([]Request, 0, len(good))
	for _, i := range order {
		r := good[i].Request
		if inBursts {
			r.ITL = noValue
		}
		if good[i].Contaminated {
			r.E2EL = noValue
		}
		list = append(list, r)
	}
	return list
}

// pairByRound pairs requests of the same round, in the order of A. If a round has several requests, the first of A is
// paired with the first of B, and so on.
func pairByRound(a, b []Request) (list []requestPair) {
	unpaired := map[uint64][]Request{}
	for _, r := range b {
		unpaired[r.Round] = append(unpaired[r.Round], r)
	}
	for _, r := range a {
		candidates := unpaired[r.Round]
		if len(candidates) > 0 {
			list = append(list, requestPair{r, candidates[0]})
			unpaired[r.Round] = candidates[1:]
		}
	}
	return list
}

// pairsOf returns the pairs of each quantity.
func pairsOf(both []requestPair) []Pairs {
	var list []Pairs
	for _, q := range quantities {
		p := Pairs{Metric: q.Name}
		for _, pair := range both {
			a, b := *q.ofRequest(&pair.a), *q.ofRequest(&pair.b)
			p.Values = append(p.Values, [2]float64{float64(a), float64(b)})
		}
		list = append(list, p)
	}
	return list
}

// usablePairs replaces each size pairs in a row by their mean (see groupMeans), and leaves out quantities without any.
func usablePairs(pairs []Pairs, size int) (usable []Pairs) {
	for _, p := range pairs {
		p.Values = groupMeans(p.Values, max(size, 1))
		if len(p.Values) > 0 {
			usable = append(usable, p)
		}
	}
	return usable
}

// groupMeans returns the mean of each size pairs in a row. What is left at the end is added to the last group, so no
// group is smaller than size. A group without any usable pair is left out.
//
// Example: five pairs in groups of two are a group of two and a group of three.
func groupMeans(values [][2]float64, size int) (means [][2]float64) {
	for len(values) > 0 {
		group := values
		if len(values) >= 2*size {
			group = values[:size]
		}
		mean, ok := meanPair(group)
		if ok {
			means = append(means, mean)
		}
		values = values[len(group):]
	}
	return means
}

// meanPair returns the means of both sides over the pairs of two positive numbers. ok is false if there is no such
// pair.
func meanPair(values [][2]float64) (mean [2]float64, ok bool) {
	n := 0.0
	for _, v := range values {
		bothFinite := finite(v[0] - v[1])
		if bothFinite && v[0] > 0 && v[1] > 0 {
			mean[0] += v[0]
			mean[1] += v[1]
			n++
		}
	}
	return [2]float64{mean[0] / n, mean[1] / n}, n > 0
}
