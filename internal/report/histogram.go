package report

import (
	"math"
	"slices"
)

// The buckets of a [histogram]: each power of two from lowest to highest is divided into 2^bucketBits of equal width.
const (
	bucketBits = 8
	lowest     = 0x1p-30 // seconds, about a nanosecond: what is below counts as 0
	highest    = 0x1p+14 // seconds, 4.5 hours: what is above counts as the longest

	mantissaBits = 52 // of a float64, below its exponent
)

// exactness is by how much a quantile of a [histogram] may be wrong at most, relative to it: half the width of a
// bucket, at the bottom of its power of two.
const exactness = 1.0 / (2 << bucketBits)

// A histogram counts values of one quantity, in seconds, in at most 90 kB, however many there are. Its quantiles are
// wrong by at most [exactness], or a nanosecond; its mean is exact. The zero value has no values.
type histogram struct {
	count       int
	sum         float64
	least, most float64
	buckets     []int64 // see bucketOf; nil without values
}

// bucketOf is the bucket of a value: its exponent and the first bits of its mantissa are a number that grows with it.
func bucketOf(v float64) int {
	position := func(v float64) int { return int(math.Float64bits(v) >> (mantissaBits - bucketBits)) }
	if v < lowest {
		return 0
	}
	return 1 + position(min(v, highest)) - position(lowest)
}

// boundsOf is between what the values of a bucket are.
func boundsOf(bucket int) (low, high float64) {
	first := math.Float64bits(lowest) >> (mantissaBits - bucketBits)
	edge := func(bucket int) float64 {
		return math.Float64frombits((first + uint64(bucket)) << (mantissaBits - bucketBits)) //nolint:gosec // not negative
	}
	if bucket == 0 {
		return 0, lowest
	}
	return edge(bucket - 1), edge(bucket)
}

func (h *histogram) add(v float64) {
	if h.buckets == nil {
		h.buckets = make([]int64, bucketOf(highest)+1)
		h.least = v
	}
	h.count++
	h.sum += v
	h.least = min(h.least, v)
	h.most = max(h.most, v)
	h.buckets[bucketOf(v)]++
}

// distribution is how the values are spread, without the exact values: the quantiles are those of [Spread] of the
// middles of the buckets.
func (h *histogram) distribution() Distribution {
	if h.count == 0 {
		return Distribution{}
	}
	d := Distribution{Count: h.count, Mean: Number(h.sum / float64(h.count))}
	for _, share := range Shares() {
		d.Quantiles = append(d.Quantiles, h.quantile(share))
	}
	return d
}

// quantile interpolates between two ranks as [QuantileOf] does.
func (h *histogram) quantile(share float64) Quantile {
	rank := float64(h.count-1) * share
	below := int(rank)
	weight := Number(rank - float64(below))
	a := h.at(below)
	b := h.at(min(below+1, h.count-1))
	between := func(x, y Number) Number { return x + weight*(y-x) }
	return Quantile{
		Share: share, Value: between(a.Value, b.Value), Low: between(a.Low, b.Low), High: between(a.High, b.High),
	}
}

// at is the value of a rank, from 0: the middle of its bucket, as far as that is not beyond all values.
func (h *histogram) at(rank int) Quantile {
	passed := 0
	bucket := slices.IndexFunc(h.buckets, func(n int64) bool {
		passed += int(n)
		return passed > rank
	})
	low, high := h.boundsOf(bucket)
	return Quantile{Value: Number((low + high) / 2), Low: Number(low), High: Number(high)}
}

// boundsOf is between what the values of a bucket are that h has.
func (h *histogram) boundsOf(bucket int) (low, high float64) {
	low, high = boundsOf(bucket)
	if bucket == len(h.buckets)-1 {
		high = h.most
	}
	return max(low, h.least), min(high, h.most)
}
