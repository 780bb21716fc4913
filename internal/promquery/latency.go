package promquery

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/report"
)

// latencyMetrics are the histograms that are read, in the order of [record.latencies].
var latencyMetrics = [...]struct {
	name, metric string
	inSummary    func(*report.Summary) *report.Distribution
}{
	{"TTFT", "llm_probe_ttft_seconds", func(s *report.Summary) *report.Distribution { return &s.TTFT }},
	{"TPOT", "llm_probe_tpot_seconds", func(s *report.Summary) *report.Distribution { return &s.TPOT }},
	{"ITL", "llm_probe_itl_seconds", func(s *report.Summary) *report.Distribution { return &s.ITL }},
	{"E2EL", "llm_probe_e2el_seconds", func(s *report.Summary) *report.Distribution { return &s.E2EL }},
}

// A storedLatency is one latency of a series: from native histograms if there are any, else from classic ones.
type storedLatency struct {
	report.Distribution
	buckets []bucket // ascending
}

// A bucket has the samples above lower, up to upper, in seconds. upTo counts all samples up to upper.
type bucket struct{ lower, upper, upTo float64 }

// readLatencies reads counts, means and quantiles of all latencies.
func (r reader) readLatencies(ctx context.Context, found recordsBySeries) {
	length := r.span.length()
	for i, l := range latencyMetrics {
		native := r.increase(l.metric, length)
		classic := r.increase(l.metric+"_bucket", length, model.BucketLabel)
		either := native + " or on (target, model, prompt) " + classic
		r.eachRecord(ctx, found, either, func(one *record, sample *model.Sample) {
			one.latencies[i].addBuckets(sample)
		})
		r.eachRecord(ctx, found, r.mean(l.metric, length), func(one *record, sample *model.Sample) {
			one.latencies[i].Mean = report.Number(sample.Value)
		})
		for _, share := range report.Shares() {
			quantile := fmt.Sprintf("histogram_quantile(%v, %s)", share, either)
			r.eachRecord(ctx, found, quantile, func(one *record, sample *model.Sample) {
				one.latencies[i].addQuantile(share, float64(sample.Value))
			})
		}
	}
	for _, one := range found {
		for i, l := range latencyMetrics {
			latency := one.latencies[i]
			if latency.Count > 0 {
				*l.inSummary(&one.summary) = latency.Distribution
			}
		}
	}
}

// addBuckets adds the buckets of a native histogram, or one bucket of a classic one.
func (l *storedLatency) addBuckets(sample *model.Sample) {
	if sample.Histogram != nil {
		l.addNative(sample.Histogram)
	} else {
		upper, err := strconv.ParseFloat(string(sample.Metric[model.BucketLabel]), 64)
		if err == nil {
			l.addClassic(upper, float64(sample.Value))
		}
	}
	if len(l.buckets) > 0 {
		l.Count = int(math.Round(l.buckets[len(l.buckets)-1].upTo))
	}
}

// addNative adds the buckets of a native histogram.
func (l *storedLatency) addNative(h *model.SampleHistogram) {
	upTo := 0.0
	for _, b := range h.Buckets {
		upTo += float64(b.Count)
		l.buckets = append(l.buckets, bucket{lower: max(float64(b.Lower), 0), upper: float64(b.Upper), upTo: upTo})
	}
}

// addClassic adds a bucket of a classic histogram. They come in any order.
func (l *storedLatency) addClassic(upper, upTo float64) {
	l.buckets = append(l.buckets, bucket{upper: upper, upTo: upTo})
	slices.SortFunc(l.buckets, func(a, b bucket) int { return cmp.Compare(a.upper, b.upper) })
	for i := range l.buckets[1:] {
		l.buckets[i+1].lower = l.buckets[i].upper
	}
}

// addQuantile adds the quantile of a share, with the bounds of its bucket.
func (l *storedLatency) addQuantile(share, value float64) {
	const rounding = 1 - 1e-9 // of a value at the bound of its bucket
	if l.Count == 0 {
		return
	}
	i := slices.IndexFunc(l.buckets, func(b bucket) bool { return b.upper >= value*rounding })
	if i < 0 || l.isBeyond(share) {
		i = len(l.buckets) - 1
	}
	l.Quantiles = append(l.Quantiles, report.Quantile{
		Share: share,
		Value: report.Number(value),
		Low:   report.Number(l.buckets[i].lower),
		High:  report.Number(l.buckets[i].upper),
	})
}

// isBeyond reports whether the quantile of a share is above the last finite bound. Prometheus then returns that bound.
func (l *storedLatency) isBeyond(share float64) bool {
	last := len(l.buckets) - 1
	if last == 0 || !math.IsInf(l.buckets[last].upper, 1) {
		return false
	}
	return share*l.buckets[last].upTo > l.buckets[last-1].upTo
}
