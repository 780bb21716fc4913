package report

import (
	"cmp"
	"slices"

	"github.com/llm-prober/prober/internal/stats"
)

// Pairs are the measurements of one quantity on A and B. The two of a pair were taken under the same circumstances.
type Pairs struct {
	Metric string // "TTFT"
	Values []stats.Pair
}

// A requestPair is a request to A and one to B under the same circumstances.
type requestPair struct{ a, b Latencies }

// PairUp pairs the samples of A and B that answered the same prompt. Only pairs in which both succeeded are returned,
// in the order of their rounds.
func PairUp(a, b []Sample) []Pairs {
	return pairsOf(pairByRound(comparableRequests(a), comparableRequests(b)))
}

// comparableRequests returns the requests of one target that succeeded, by round and start, with the values that may be
// compared. If frames come in bursts, there is no ITL, because it would be a mean over each burst. If a cache had the
// prompt, there is no E2EL, because it is shorter by the prefill that was saved.
func comparableRequests(samples []Sample) (list []Latencies) {
	good := filter(samples, Sample.succeeded)
	inBursts := burstsOf(good).frequent()
	order := make([]int, len(good)) // sorting positions is cheaper than sorting samples
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(good[i].Latencies.Round, good[j].Latencies.Round), good[i].Start.Compare(good[j].Start))
	})
	list = make([]Latencies, 0, len(good))
	for _, i := range order {
		r := good[i].Latencies
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
func pairByRound(a, b []Latencies) (list []requestPair) {
	unpaired := map[uint64][]Latencies{}
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
			p.Values = append(p.Values, stats.Pair{A: float64(a), B: float64(b)})
		}
		list = append(list, p)
	}
	return list
}
