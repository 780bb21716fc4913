package report

import "slices"

// A Distribution is how the values of one quantity are spread, in seconds. The zero value has no values.
type Distribution struct {
	Count     int        `json:"count"`
	Mean      Number     `json:"mean"`
	Quantiles []Quantile `json:"quantiles"` // for each of [Shares], in their order; nil if Count is 0
}

// A Quantile is the value that a share of all values does not exceed.
type Quantile struct {
	Share float64 `json:"share"`
	Value Number  `json:"value"`

	// Low and High bound what the quantile is known to be. If all values are known, both are Value. If Value comes from
	// a histogram, they are the bounds of its bucket.
	Low  Number `json:"low"`
	High Number `json:"high"`
}

// Shares returns the shares of the quantiles that are reported, in ascending order.
func Shares() []float64 { return []float64{0.50, 0.75, 0.90, 0.95, 0.99} }

// DistributionOf returns how values, in seconds and in any order, are spread.
func DistributionOf(values []float64) Distribution {
	if len(values) == 0 {
		return Distribution{}
	}
	sorted := slices.Sorted(slices.Values(values))
	sum := 0.0
	for _, v := range sorted {
		sum += v
	}
	d := Distribution{Count: len(sorted), Mean: Number(sum / float64(len(sorted)))}
	for _, share := range Shares() {
		v := Number(QuantileOf(sorted, share))
		d.Quantiles = append(d.Quantiles, Quantile{Share: share, Value: v, Low: v, High: v})
	}
	return d
}

// At returns the quantile of a share, in seconds. It is NaN if d has no quantile of that share.
func (d Distribution) At(share float64) Number {
	for _, q := range d.Quantiles {
		if q.Share == share {
			return q.Value
		}
	}
	return noValue
}

// QuantileOf returns the quantile of a share of a sorted list that is not empty. It interpolates between the two ranks
// closest to
//
//	h = (n − 1) · share
//
// which is definition 7 of Hyndman and Fan, Sample Quantiles in Statistical Packages (1996), and the default of R and
// numpy: our tables agree with those of the tools that people compare them with.
func QuantileOf[T ~int64 | ~float64](sorted []T, share float64) T {
	h := float64(len(sorted)-1) * share
	below := int(h)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + T((h-float64(below))*float64(sorted[above]-sorted[below]))
}

// median returns the median of values in any order. There must be at least one.
func median(values []float64) float64 {
	return QuantileOf(slices.Sorted(slices.Values(values)), 0.5)
}
