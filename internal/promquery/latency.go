package promquery

import (
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
	latency

	classic bool
	buckets []bucket // ascending
}

// A latency is a histogram by its name.
type latency struct{ name, metric string }

func latencies() []latency {
	return []latency{{"TTFT", ttftSeconds}, {"TPOT", tpotSeconds}, {"ITL", itlSeconds}, {"E2EL", e2elSeconds}}
}

// A bucket is above lower, up to upper, in seconds; upTo counts the samples up to upper.
type bucket struct{ lower, upper, upTo float64 }

// latencies reads the histograms of all records.
func (r reader) latencies(ctx context.Context, records []record) error {
	for _, l := range latencies() {
		native, err := r.native(ctx, l)
		if err != nil {
			return err
		}
		classic, err := r.classic(ctx, l)
		if err != nil {
			return err
		}
		for i := range records {
			one := &records[i]
			q, ok := native[one.series]
			if !ok {
				q = classic[one.series]
			}
			q.latency = l
			one.quantities = append(one.quantities, q)
		}
	}
	for i := range records {
		s, q := &records[i].summary, records[i].quantities
		s.TTFT, s.TPOT, s.ITL, s.E2EL = q[0].Distribution, q[1].Distribution, q[2].Distribution, q[3].Distribution
	}
	return nil
}

// native reads a latency from native histograms.
func (r reader) native(ctx context.Context, l latency) (map[series]quantity, error) {
	expr := r.filter.increase(l.metric, r.span.Length())
	vector, err := r.instant(ctx, expr, r.span.To)
	found := map[series]quantity{}
	for _, sample := range vector {
		if h := sample.Histogram; h != nil && h.Count > 0 {
			q := quantity{latency: l, Distribution: report.Distribution{Count: int(math.Round(float64(h.Count))), Mean: report.Number(h.Sum / h.Count)}}
			upTo := 0.0
			for _, b := range h.Buckets {
				upTo += float64(b.Count)
				q.buckets = append(q.buckets, bucket{max(float64(b.Lower), 0), float64(b.Upper), upTo})
			}
			found[seriesOf(sample.Metric)] = q
		}
	}
	if err != nil {
		return nil, err
	}
	return found, r.quantiles(ctx, expr, found)
}

// classic reads a latency from classic buckets.
func (r reader) classic(ctx context.Context, l latency) (map[series]quantity, error) {
	expr := r.filter.increase(l.metric+"_bucket", r.span.Length(), model.BucketLabel)
	vector, err := r.instant(ctx, expr, r.span.To)
	found := map[series]quantity{}
	for _, sample := range vector {
		le, err := strconv.ParseFloat(string(sample.Metric[model.BucketLabel]), 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sample.Metric, err)
		}
		id := seriesOf(sample.Metric)
		q := found[id]
		q.buckets = append(q.buckets, bucket{upper: le, upTo: float64(sample.Value)})
		found[id] = q
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	sums, err := r.instant(ctx, r.filter.increase(l.metric+"_sum", r.span.Length()), r.span.To)
	if err != nil {
		return nil, err
	}
	for id, q := range found {
		slices.SortFunc(q.buckets, func(a, b bucket) int { return int(math.Copysign(1, a.upper-b.upper)) })
		for i := range q.buckets[1:] {
			q.buckets[i+1].lower = q.buckets[i].upper
		}
		all := q.buckets[len(q.buckets)-1].upTo
		q.latency, q.classic, q.Count = l, true, int(math.Round(all))
		for _, sum := range sums {
			if seriesOf(sum.Metric) == id {
				q.Mean = report.Number(float64(sum.Value) / all)
			}
		}
		if found[id] = q; q.Count == 0 {
			delete(found, id)
		}
	}
	return found, r.quantiles(ctx, expr, found)
}

// quantiles adds those of a block to the distributions of an expression.
func (r reader) quantiles(ctx context.Context, expr string, found map[series]quantity) error {
	if len(found) == 0 {
		return nil
	}
	for _, share := range report.Shares() {
		vector, err := r.instant(ctx, fmt.Sprintf("histogram_quantile(%v, %s)", share, expr), r.span.To)
		if err != nil {
			return err
		}
		for _, sample := range vector {
			id := seriesOf(sample.Metric)
			if q, ok := found[id]; ok {
				q.Quantiles = append(q.Quantiles, q.quantile(share, float64(sample.Value)))
				found[id] = q
			}
		}
	}
	return nil
}

// quantile is a quantile with the bounds of the bucket that it lies in.
func (q quantity) quantile(share, value float64) report.Quantile {
	last := len(q.buckets) - 1
	i := slices.IndexFunc(q.buckets, func(b bucket) bool { return b.upper >= value*(1-1e-9) })
	beyond := last > 0 && math.IsInf(q.buckets[last].upper, 1) && share*q.buckets[last].upTo > q.buckets[last-1].upTo
	if i < 0 || beyond { // Prometheus tells the last finite bound of what is above it
		i = last
	}
	return report.Quantile{Share: share, Value: report.Number(value), Low: report.Number(q.buckets[i].lower), High: report.Number(q.buckets[i].upper)}
}

// mean is the expression of the mean of a quantity in each window of so long.
func (q quantity) mean(f filter, in time.Duration) string {
	if q.classic {
		return f.increase(q.metric+"_sum", in) + " / " + f.increase(q.metric+"_count", in)
	}
	return "histogram_avg(" + f.increase(q.metric, in) + ")"
}
