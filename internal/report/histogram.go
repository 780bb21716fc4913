package report

import (
	"math"
	"slices"

	"github.com/llm-prober/prober/internal/stats"
)

// The buckets of a [histogram]: each power of two from lowestBound to highestBound is divided into 2^bucketBits buckets
// of equal width. Example: between 2^-6 and 2^-5 s (15.6 and 31.3 ms), each of 256 buckets is 61 µs wide.
const (
	bucketBits   = 8
	lowestBound  = 0x1p-30 // seconds, about a nanosecond; lower values count as 0
	highestBound = 0x1p+14 // seconds, 4.5 hours; higher values share the last bucket

	mantissaBits = 52 // of a float64, below its exponent
)

// maxQuantileError is the largest relative error of a quantile of a [histogram]: half the width of a bucket, at the
// bottom of its power of two.
const maxQuantileError = 1.0 / (2 << bucketBits)

// A histogram counts values of one quantity, in seconds. It takes at most 90 kB, however many values there are. Its
// quantiles are wrong by at most [maxQuantileError], or by a nanosecond. Its mean is exact. The zero value is empty.
type histogram struct {
	count       int
	sum         float64
	least, most float64
	buckets     []int64 // see bucketOf; nil without values
}

// bucketOf returns the index of the bucket of a value. It comes from the bits of the float64: read as one number, the
// exponent and the first bits of the mantissa grow with the value, by one from bucket to bucket.
func bucketOf(v float64) int {
	if v < lowestBound {
		return 0
	}
	return 1 + leadingBits(min(v, highestBound)) - leadingBits(lowestBound)
}

// leadingBits returns the exponent of v and the first bits of its mantissa as one number.
func leadingBits(v float64) int { return int(math.Float64bits(v) >> (mantissaBits - bucketBits)) }

// bucketBounds returns the bounds of the values that belong to a bucket.
func bucketBounds(bucket int) (low, high float64) {
	if bucket == 0 {
		return 0, lowestBound
	}
	return lowerBound(bucket), lowerBound(bucket + 1)
}

// lowerBound returns the lowest value of a bucket above the first: the inverse of bucketOf.
func lowerBound(bucket int) float64 {
	leading := uint64(leadingBits(lowestBound) + bucket - 1) //nolint:gosec // not negative
	return math.Float64frombits(leading << (mantissaBits - bucketBits))
}

// add adds a value.
func (h *histogram) add(v float64) {
	if h.buckets == nil {
		h.buckets = make([]int64, bucketOf(highestBound)+1)
		h.least = v
	}
	h.count++
	h.sum += v
	h.least = min(h.least, v)
	h.most = max(h.most, v)
	h.buckets[bucketOf(v)]++
}

// distribution returns how the values are spread, as [stats.DistributionOf] does of values in the middles of their
// buckets.
func (h *histogram) distribution() stats.Distribution {
	if h.count == 0 {
		return stats.Distribution{}
	}
	d := stats.Distribution{Count: h.count, Mean: stats.Number(h.sum / float64(h.count))}
	for _, share := range stats.Shares() {
		d.Quantiles[share] = h.quantile(share)
	}
	return d
}

// quantile returns the quantile of a share. It interpolates between two ranks, as [stats.QuantileOf] does.
func (h *histogram) quantile(share stats.Share) stats.Quantile {
	rank := float64(h.count-1) * share.Ratio()
	rankBelow := int(rank)
	weight := stats.Number(rank - float64(rankBelow))
	below := h.valueAt(rankBelow)
	above := h.valueAt(min(rankBelow+1, h.count-1))
	between := func(x, y stats.Number) stats.Number { return x + weight*(y-x) }
	return stats.Quantile{
		Value: between(below.Value, above.Value),
		Low:   between(below.Low, above.Low),
		High:  between(below.High, above.High),
	}
}

// valueAt returns the value of a rank, counted from 0: the middle of its bucket, and the bucket's bounds.
func (h *histogram) valueAt(rank int) stats.Quantile {
	passed := 0
	bucket := slices.IndexFunc(h.buckets, func(n int64) bool {
		passed += int(n)
		return passed > rank
	})
	low, high := h.boundsOf(bucket)
	return stats.Quantile{Value: stats.Number((low + high) / 2), Low: stats.Number(low), High: stats.Number(high)}
}

// boundsOf returns the bounds of a bucket. They lie between the least and the most of all values.
func (h *histogram) boundsOf(bucket int) (low, high float64) {
	low, high = bucketBounds(bucket)
	if bucket == len(h.buckets)-1 {
		high = h.most
	}
	return max(low, h.least), min(high, h.most)
}
