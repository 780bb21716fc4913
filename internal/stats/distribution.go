package stats

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// A Share names one of the quantiles that are reported, by the share of all values that it bounds. It is an index: the
// quantile of a share stands at this place of [Quantiles].
type Share int

// The quantiles that are reported, in ascending order.
const (
	P50 Share = iota // the median
	P75
	P90
	P95
	P99
)

// shares are the ratios of all shares, at their places.
var shares = [...]float64{P50: 0.50, P75: 0.75, P90: 0.90, P95: 0.95, P99: 0.99}

// Shares returns all shares, in ascending order.
func Shares() [len(shares)]Share { return [...]Share{P50, P75, P90, P95, P99} }

// Ratio returns the share of all values, between 0 and 1.
func (s Share) Ratio() float64 { return shares[s] }

// String returns the name of the quantile: "P99".
func (s Share) String() string { return fmt.Sprintf("P%.0f", 100*s.Ratio()) }

// A Distribution is how the values of one quantity are spread, in seconds. The zero value has no values.
type Distribution struct {
	Count     int       `json:"count"`
	Mean      Number    `json:"mean"`
	Quantiles Quantiles `json:"quantiles"` // without meaning if Count is 0
}

// Quantiles are a quantile for each [Share].
type Quantiles [len(shares)]Quantile

// A Quantile is the value that a share of all values does not exceed.
type Quantile struct {
	Value Number `json:"value"`

	// Low and High bound what the quantile is known to be. If all values are known, both are Value. If Value comes from
	// a histogram, they are the bounds of its bucket.
	Low  Number `json:"low"`
	High Number `json:"high"`
}

// RelativeError returns by what share of Value the true quantile may differ from it: 0 if all values are known, +Inf if
// only Low is known.
func (q Quantile) RelativeError() float64 {
	distance := max(q.High-q.Value, q.Value-q.Low)
	switch {
	case math.IsInf(float64(q.High), 1):
		return math.Inf(1)
	case distance > 0:
		return float64(distance / q.Value)
	}
	return 0 // also if there is no value
}

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
		d.Quantiles[share] = Quantile{Value: v, Low: v, High: v}
	}
	return d
}

// At returns the quantile of a share, in seconds. It is NaN if d has no values.
func (d Distribution) At(share Share) Number {
	if d.Count == 0 {
		return Number(math.NaN())
	}
	return d.Quantiles[share].Value
}

// MarshalJSON writes a list of quantiles with their shares, as ratios. It never fails.
func (q Quantiles) MarshalJSON() ([]byte, error) {
	type quantileJSON struct {
		Share float64 `json:"share"`
		Quantile
	}
	var list []quantileJSON
	for _, share := range Shares() {
		list = append(list, quantileJSON{share.Ratio(), q[share]})
	}
	return json.Marshal(list)
}

// QuantileOf returns the quantile of a share of a sorted list that is not empty. It interpolates between the two ranks
// closest to
//
//	h = (n − 1) · share
//
// which is definition 7 of Hyndman and Fan, Sample Quantiles in Statistical Packages (1996), and the default of R and
// numpy: our tables agree with those of the tools that people compare them with.
func QuantileOf[T ~int64 | ~float64](sorted []T, share Share) T {
	h := float64(len(sorted)-1) * share.Ratio()
	below := int(h)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + T((h-float64(below))*float64(sorted[above]-sorted[below]))
}

// Median returns the median of values in any order. It is NaN if there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return QuantileOf(slices.Sorted(slices.Values(values)), P50)
}
