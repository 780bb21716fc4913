package report

import "slices"

// Spread is how values are spread that are all known. They are in seconds, stay
// the caller's, and their order does not matter.
func Spread(values []float64) Distribution {
	if len(values) == 0 {
		return Distribution{}
	}
	sorted := slices.Sorted(slices.Values(values))
	d := Distribution{Count: len(sorted), Mean: Number(mean(sorted))}
	for _, share := range Shares() {
		v := Number(QuantileOf(sorted, share))
		d.Quantiles = append(d.Quantiles, Quantile{Share: share, Value: v, Low: v, High: v})
	}
	return d
}

// At is the quantile of a share; ok is false if d has none of that share.
func (d Distribution) At(share float64) (q Quantile, ok bool) {
	i := slices.IndexFunc(d.Quantiles, func(q Quantile) bool { return q.Share == share })
	if i < 0 {
		return Quantile{}, false
	}
	return d.Quantiles[i], true
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// QuantileOf interpolates between the two ranks closest to
//
//	h = (n − 1) · share
//
// of a sorted list that is not empty. It is definition 7 of Hyndman and Fan,
// Sample Quantiles in Statistical Packages (1996), and the default of R and numpy,
// and so of the tools whose tables are compared with ours.
func QuantileOf[T ~int64 | ~float64](sorted []T, share float64) T {
	h := float64(len(sorted)-1) * share
	below := int(h)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + T((h-float64(below))*float64(sorted[above]-sorted[below]))
}

// median is that of a list in any order that is not empty.
func median(values []float64) float64 {
	return QuantileOf(slices.Sorted(slices.Values(values)), 0.5)
}

// medianITL is the median inter-token latency of one request.
func medianITL(s Sample) Seconds {
	if len(s.ITL) == 0 {
		return Seconds{}
	}
	return Seconds{Value: median(s.ITL), Known: true}
}
