package promquery

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/report"
)

// A quantity is one latency of a series, from native histograms where there are any.
type quantity struct {
	report.Distribution
	buckets []bucket // ascending
}

// A bucket is above lower, up to upper, in seconds; upTo counts the samples up to upper.
type bucket struct{ lower, upper, upTo float64 }

func (r reader) latencies(ctx context.Context, found store) {
	for i, l := range latencies {
		native := r.increase(l.metric, r.span.length())
		classic := r.increase(l.metric+"_bucket", r.span.length(), model.BucketLabel)
		either := native + " or on (target, model, prompt) " + classic
		r.each(ctx, found, either, func(one *record, sample *model.Sample) { one.quantities[i].add(sample) })
		r.each(ctx, found, r.mean(l.metric, r.span.length()), func(one *record, sample *model.Sample) {
			one.quantities[i].Mean = report.Number(sample.Value)
		})
		for _, share := range report.Shares() {
			r.each(ctx, found, fmt.Sprintf("histogram_quantile(%v, %s)", share, either), func(one *record, sample *model.Sample) {
				one.quantities[i].quantile(share, float64(sample.Value))
			})
		}
	}
	for _, one := range found {
		s := &one.summary
		for i, to := range []*report.Distribution{&s.TTFT, &s.TPOT, &s.ITL, &s.E2EL} {
			if q := one.quantities[i]; q.Count > 0 {
				*to = q.Distribution
			}
		}
	}
}

func (r reader) mean(metric string, in time.Duration) string {
	return "histogram_avg(" + r.increase(metric, in) + ") or " + r.increase(metric+"_sum", in) + " / " + r.increase(metric+"_count", in)
}

func (q *quantity) add(sample *model.Sample) {
	if h := sample.Histogram; h != nil {
		total := 0.0
		for _, b := range h.Buckets {
			total += float64(b.Count)
			q.buckets = append(q.buckets, bucket{max(float64(b.Lower), 0), float64(b.Upper), total})
		}
	} else if le, err := strconv.ParseFloat(string(sample.Metric[model.BucketLabel]), 64); err == nil {
		q.buckets = append(q.buckets, bucket{upper: le, upTo: float64(sample.Value)})
		slices.SortFunc(q.buckets, func(a, b bucket) int { return cmp.Compare(a.upper, b.upper) })
		for i := range q.buckets[1:] {
			q.buckets[i+1].lower = q.buckets[i].upper
		}
	}
	if n := len(q.buckets); n > 0 {
		q.Count = int(math.Round(q.buckets[n-1].upTo))
	}
}

func (q *quantity) quantile(share, value float64) {
	if q.Count == 0 {
		return
	}
	last := len(q.buckets) - 1
	i := slices.IndexFunc(q.buckets, func(b bucket) bool { return b.upper >= value*(1-1e-9) })
	beyond := last > 0 && math.IsInf(q.buckets[last].upper, 1) && share*q.buckets[last].upTo > q.buckets[last-1].upTo
	if i < 0 || beyond { // Prometheus tells the last finite bound of what is above it
		i = last
	}
	q.Quantiles = append(q.Quantiles, report.Quantile{
		Share: share, Value: report.Number(value), Low: report.Number(q.buckets[i].lower), High: report.Number(q.buckets[i].upper),
	})
}
