package history

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
)

const (
	schema        = 4        // 16 buckets to a power of two, as the prober makes them
	zeroThreshold = 0x1p-13  // seconds; what is not above it counts as zero
	zeroIndex     = -13 << 4 // index of the bucket that ends at zeroThreshold
	buckets       = 28 << 4  // those from 2^-13 s to 2^15 s
)

// A native is a histogram of durations as the prober's client library keeps it:
// cumulative, at schema 4.
type native struct {
	count, zero uint64
	sum         float64
	buckets     [buckets]uint64 // the first is the one above zeroThreshold
	low, high   int             // range of those that are not empty; low > high if all are
}

func newNative() *native { return &native{low: buckets, high: -1} }

// position is the logarithm of a duration in seconds, counted in buckets.
func position(seconds float64) float64 { return 16 * math.Log2(seconds) }

// observe adds a value in seconds whose position is known.
func (n *native) observe(seconds, position float64) {
	n.count++
	n.sum += seconds
	i := int(math.Ceil(position)) - zeroIndex - 1
	if i < 0 {
		n.zero++
		return
	}
	n.buckets[i]++
	n.low, n.high = min(n.low, i), max(n.high, i)
}

// sample is the state as a scrape sees it. Up to two empty buckets lie within a
// span and more end it, as client_golang writes them.
func (n *native) sample() *histogram.Histogram {
	h := &histogram.Histogram{
		Schema: schema, ZeroThreshold: zeroThreshold, ZeroCount: n.zero, Count: n.count, Sum: n.sum,
	}
	var previous int64
	next := n.low
	for i := n.low; i <= n.high; i++ {
		if n.buckets[i] == 0 {
			continue
		}
		if len(h.PositiveSpans) == 0 {
			h.PositiveSpans = append(h.PositiveSpans, histogram.Span{Offset: int32(i + zeroIndex + 1)})
		} else if i-next > 2 {
			h.PositiveSpans = append(h.PositiveSpans, histogram.Span{Offset: int32(i - next)})
			next = i
		}
		for ; next <= i; next++ {
			count := int64(n.buckets[next])
			h.PositiveBuckets = append(h.PositiveBuckets, count-previous)
			h.PositiveSpans[len(h.PositiveSpans)-1].Length++
			previous = count
		}
	}
	return h
}

// A classic is a histogram of fixed bounds.
type classic struct {
	bounds []float64 // seconds, ascending
	counts []float64 // of the values between a bound and the one before; the last of those above all
	sum    float64
}

func newClassic(bounds []float64) *classic {
	return &classic{bounds: bounds, counts: make([]float64, len(bounds)+1)}
}

// observe adds a value in seconds.
func (c *classic) observe(seconds float64) {
	i, _ := slices.BinarySearch(c.bounds, seconds)
	c.counts[i]++
	c.sum += seconds
}
