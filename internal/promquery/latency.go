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

	classic bool
	buckets []bucket // ascending
}

// A bucket is above lower, up to upper, in seconds; upTo counts the samples up to upper.
type bucket struct{ lower, upper, upTo float64 }

// latencies reads the histograms of all records.
func (r reader) latencies(ctx context.Context, records []record) error {
	for i, l := range latencies {
		native, err := r.histograms(ctx, l.metric, false)
		if err != nil {
			return err
		}
		classic, err := r.histograms(ctx, l.metric, true)
		if err != nil {
			return err
		}
		for k := range records {
			s := &records[k].summary
			q := cmp.Or(native[records[k].series], classic[records[k].series], &quantity{})
			records[k].quantities = append(records[k].quantities, *q)
			*[]*report.Distribution{&s.TTFT, &s.TPOT, &s.ITL, &s.E2EL}[i] = q.Distribution
		}
	}
	return nil
}

// histograms reads a latency from native histograms or from classic buckets.
func (r reader) histograms(ctx context.Context, metric string, classic bool) (map[series]*quantity, error) {
	expr := r.increase(metric, r.span.length())
	if classic {
		expr = r.increase(metric+"_bucket", r.span.length(), model.BucketLabel)
	}
	vector, err := r.instant(ctx, expr, r.span.to)
	found := map[series]*quantity{}
	for _, sample := range vector {
		id := seriesOf(sample.Metric)
		if found[id] == nil {
			found[id] = &quantity{classic: classic}
		}
		if err := found[id].add(sample); err != nil {
			return nil, err
		}
	}
	for id, q := range found {
		if q.Count = int(math.Round(q.samples())); q.Count == 0 {
			delete(found, id)
		}
	}
	if err != nil || len(found) == 0 {
		return nil, err
	}
	means, err := r.instant(ctx, r.mean(metric, classic, r.span.length()), r.span.to)
	if err != nil {
		return nil, err
	}
	for _, sample := range means {
		if q := found[seriesOf(sample.Metric)]; q != nil {
			q.Mean = report.Number(sample.Value)
		}
	}
	for _, share := range report.Shares() {
		vector, err := r.instant(ctx, fmt.Sprintf("histogram_quantile(%v, %s)", share, expr), r.span.to)
		if err != nil {
			return nil, err
		}
		for _, sample := range vector {
			if q := found[seriesOf(sample.Metric)]; q != nil {
				q.Quantiles = append(q.Quantiles, q.quantile(share, float64(sample.Value)))
			}
		}
	}
	return found, nil
}

// add adds the buckets of a native histogram, or one classic bucket.
func (q *quantity) add(sample *model.Sample) error {
	if h := sample.Histogram; h != nil {
		for _, b := range h.Buckets {
			q.buckets = append(q.buckets, bucket{max(float64(b.Lower), 0), float64(b.Upper), q.samples() + float64(b.Count)})
		}
		return nil
	}
	le, err := strconv.ParseFloat(string(sample.Metric[model.BucketLabel]), 64)
	if err != nil {
		return fmt.Errorf("%s: %w", sample.Metric, err)
	}
	q.buckets = append(q.buckets, bucket{upper: le, upTo: float64(sample.Value)})
	slices.SortFunc(q.buckets, func(a, b bucket) int { return cmp.Compare(a.upper, b.upper) })
	for i := range q.buckets[1:] {
		q.buckets[i+1].lower = q.buckets[i].upper
	}
	return nil
}

// samples is how many there are in all buckets.
func (q *quantity) samples() float64 {
	if q.buckets == nil {
		return 0
	}
	return q.buckets[len(q.buckets)-1].upTo
}

// quantile is a quantile with the bounds of the bucket that it lies in.
func (q *quantity) quantile(share, value float64) report.Quantile {
	last := len(q.buckets) - 1
	i := slices.IndexFunc(q.buckets, func(b bucket) bool { return b.upper >= value*(1-1e-9) })
	beyond := last > 0 && math.IsInf(q.buckets[last].upper, 1) && share*q.buckets[last].upTo > q.buckets[last-1].upTo
	if i < 0 || beyond { // Prometheus tells the last finite bound of what is above it
		i = last
	}
	return report.Quantile{Share: share, Value: report.Number(value), Low: report.Number(q.buckets[i].lower), High: report.Number(q.buckets[i].upper)}
}

// mean is the expression of the mean of a histogram in each window of so long.
func (r reader) mean(metric string, classic bool, in time.Duration) string {
	if classic {
		return r.increase(metric+"_sum", in) + " / " + r.increase(metric+"_count", in)
	}
	return "histogram_avg(" + r.increase(metric, in) + ")"
}
