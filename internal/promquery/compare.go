package promquery

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stats"
)

// Prometheus has no single requests. So a comparison divides the range into periods. A pair is the means of both sides
// in one period. Example: six hours with 400 requests are 20 periods of 18 minutes, with 20 requests each.
const (
	maxPeriods       = 20
	requestsInPeriod = 10 // on average, at least
	minPeriod        = 5 * time.Minute
)

// minPeriods returns how many periods are needed to show a difference in any of the four quantities.
func minPeriods() int { return report.PairsNeeded(1) }

// compare compares record b with record a, by the means of their periods.
func (r reader) compare(ctx context.Context, a, b *record) report.Comparison {
	result := report.Comparison{
		A: a.summary.Target, B: b.summary.Target, Pair: "period", Columns: report.PeriodMeans,
	}
	if a.selection.span != b.selection.span {
		result.Apart = report.Ranges
		result.A += ", " + a.selection.span.String()
		result.B += ", " + b.selection.span.String()
	}
	if a.series.vantage != b.series.vantage {
		result.Warnings = append(result.Warnings, fmt.Sprintf("A was measured from %s, B from %s: "+
			"their difference may be that of the places", a.series.vantageText(), b.series.vantageText()))
	}
	n := min(periodsOf(a), periodsOf(b))
	if n < minPeriods() {
		return report.Uncompared(result, tooLittleData(a, b))
	}
	result.Pair = "period of " + duration(a.selection.span.length()/time.Duration(n))
	if a.selection.span.length() != b.selection.span.length() {
		result.Pair += " and " + duration(b.selection.span.length()/time.Duration(n))
	}
	var all []report.Pairs
	mostEmpty := 0 // periods of a quantity without a sample on one side
	for _, q := range report.Quantities() {
		if q.InSummary(&a.summary).Count == 0 || q.InSummary(&b.summary).Count == 0 {
			continue
		}
		meansOfA := r.means(ctx, a.selection, q, n)
		meansOfB := r.means(ctx, b.selection, q, n)
		pairs := report.Pairs{Metric: q.Name, Values: pairMeans(meansOfA, meansOfB)}
		all = append(all, pairs)
		mostEmpty = max(mostEmpty, n-len(pairs.Values))
	}
	if mostEmpty > 0 {
		result.Warnings = append(result.Warnings,
			fmt.Sprintf("%d of %d periods have no sample on one side, and are left out", mostEmpty, n))
	}
	return report.Compare(result, all)
}

// pairMeans pairs the means of periods, without periods that lack one.
func pairMeans(a, b []float64) (pairs []stats.Pair) {
	for i := range a {
		if !math.IsNaN(a[i]) && !math.IsNaN(b[i]) {
			pairs = append(pairs, stats.Pair{A: a[i], B: b[i]})
		}
	}
	return pairs
}

// periodsOf returns into how many periods the range of a record may be divided.
func periodsOf(r *record) int {
	return min(maxPeriods, r.summary.Succeeded()/requestsInPeriod, int(r.selection.span.length()/minPeriod))
}

// tooLittleData says how much data is missing for a comparison.
func tooLittleData(a, b *record) string {
	has := func(r *record) string {
		return fmt.Sprintf("%d of them in %s with %s", periodsOf(r), duration(r.selection.span.length()),
			format.Count(r.summary.Succeeded(), "successful request"))
	}
	both := "A has " + has(a) + ", B " + has(b)
	if has(a) == has(b) {
		both = "both have " + has(a)
	}
	return fmt.Sprintf("too little data to compare: %d periods of at least %s and %d requests are needed; %s",
		minPeriods(), duration(minPeriod), requestsInPeriod, both)
}

// means returns the mean of a latency in each of n periods of a selection, in seconds. The selection must be of one
// series. The mean is NaN in a period without a sample.
func (r reader) means(ctx context.Context, s selection, q report.Quantity, n int) []float64 {
	width := (s.span.length() / time.Duration(n)).Truncate(time.Millisecond)
	means := slices.Repeat([]float64{math.NaN()}, n)
	for _, v := range r.atPeriods(ctx, s, s.mean(histogramOf(q), width), width, n) {
		if !math.IsInf(v.value, 0) {
			means[v.period] = v.value
		}
	}
	return means
}
