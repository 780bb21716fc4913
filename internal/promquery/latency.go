package promquery

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stats"
)

// A storedLatency is what Prometheus answered about one latency.
type storedLatency struct {
	histograms model.Vector   // native ones; of series that have none, the buckets of classic ones
	means      model.Vector   // seconds
	quantiles  []model.Vector // seconds, at the place of each [stats.Share]
}

// addLatency adds how a latency is spread in each series.
func (s recordSet) addLatency(q report.Quantity, stored storedLatency) {
	buckets := s.bucketsOf(stored.histograms)
	for one, list := range buckets {
		q.InSummary(&one.summary).Count = toCount(list.total())
	}
	for _, mean := range stored.means {
		d := q.InSummary(&s.recordOf(mean.Metric).summary)
		if d.Count > 0 {
			d.Mean = stats.Number(mean.Value)
		}
	}
	for _, share := range stats.Shares() {
		for _, quantile := range stored.quantiles[share] {
			one := s.recordOf(quantile.Metric)
			d := q.InSummary(&one.summary)
			if d.Count > 0 {
				d.Quantiles[share] = buckets[one].quantile(share, float64(quantile.Value))
			}
		}
	}
}

// A bucket has the samples above lower, up to upper, in seconds. upTo counts all samples up to upper.
type bucket struct{ lower, upper, upTo float64 }

// A histogram is the buckets of one histogram, ascending. It is empty if nothing was observed.
type histogram []bucket

// bucketsOf returns the histogram of each record.
func (s recordSet) bucketsOf(samples model.Vector) map[*record]histogram {
	histograms := map[*record]histogram{}
	for _, sample := range samples {
		one := s.recordOf(sample.Metric)
		if sample.Histogram != nil {
			histograms[one] = nativeHistogram(sample.Histogram)
			continue
		}
		upper, err := strconv.ParseFloat(string(sample.Metric[model.BucketLabel]), 64)
		if err == nil {
			histograms[one] = histograms[one].withBucket(upper, float64(sample.Value))
		}
	}
	return histograms
}

// nativeHistogram returns the buckets of a native histogram.
func nativeHistogram(h *model.SampleHistogram) (buckets histogram) {
	upTo := 0.0
	for _, b := range h.Buckets {
		upTo += float64(b.Count)
		buckets = append(buckets, bucket{lower: max(float64(b.Lower), 0), upper: float64(b.Upper), upTo: upTo})
	}
	return buckets
}

// withBucket returns a classic histogram with one more bucket. Prometheus sends them in any order.
func (h histogram) withBucket(upper, upTo float64) histogram {
	h = append(h, bucket{upper: upper, upTo: upTo})
	slices.SortFunc(h, func(a, b bucket) int { return cmp.Compare(a.upper, b.upper) })
	for i := range h[1:] {
		h[i+1].lower = h[i].upper
	}
	return h
}

// total returns the number of samples.
func (h histogram) total() float64 {
	if len(h) == 0 {
		return 0
	}
	return h[len(h)-1].upTo
}

// quantile returns the quantile of a share, whose value Prometheus has computed, with the bounds of its bucket. The
// histogram must not be empty.
func (h histogram) quantile(share stats.Share, value float64) stats.Quantile {
	const rounding = 1 - 1e-9 // of a value at the bound of its bucket
	i := slices.IndexFunc(h, func(b bucket) bool { return b.upper >= value*rounding })
	if i < 0 || h.isBeyond(share) {
		i = len(h) - 1
	}
	return stats.Quantile{
		Value: stats.Number(value),
		Low:   stats.Number(h[i].lower),
		High:  stats.Number(h[i].upper),
	}
}

// isBeyond reports whether the quantile of a share is above the last finite bound. Prometheus then returns that bound.
func (h histogram) isBeyond(share stats.Share) bool {
	last := len(h) - 1
	if last == 0 || !math.IsInf(h[last].upper, 1) {
		return false
	}
	return share.Ratio()*h.total() > h[last-1].upTo
}
