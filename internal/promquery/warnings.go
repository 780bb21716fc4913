package promquery

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/format"
)

// The windows in which the presence of data is looked at.
const (
	mostWindows = 200
	leastWindow = 15 * time.Minute
)

// warn adds warnings to the summaries.
func (r reader) warn(ctx context.Context, records []record) error {
	n := int(min(max(r.span.Length()/leastWindow, 1), mostWindows))
	width := r.span.Length() / time.Duration(n)
	sources := "count by (target, model, prompt) (" + over("present_over_time", r.filter.selector(probesTotal, `outcome="ok"`), width) + ")"
	matrix, err := r.steps(ctx, sources, r.span.To.Add(-time.Duration(n-1)*width), r.span.To, width)
	for i := range records {
		one := &records[i]
		var seen []model.SamplePair // how many sources there were in each window that has any
		for _, stream := range matrix {
			if seriesOf(stream.Metric) == one.series {
				seen = stream.Values
			}
		}
		texts := []string{one.classicWarning(), sourcesWarning(seen), holesWarning(r.span, n, len(seen)), one.samplesWarning(), one.taintedWarning()}
		one.summary.Warnings = append(one.summary.Warnings, slices.DeleteFunc(texts, func(text string) bool { return text == "" })...)
	}
	return err
}

// classicWarning says which quantiles are coarse.
func (r *record) classicWarning() string {
	var names []string
	for _, q := range r.quantities {
		if q.classic {
			names = append(names, q.name)
		}
	}
	if names == nil {
		return ""
	}
	return strings.Join(names, ", ") + " from classic buckets: quantiles are exact to a bucket only, " +
		"which is often 25% wide or more; scrape native histograms for 4.4%"
}

// sourcesWarning says that several sources counted at the same time, and not only in the window of a restart.
func sourcesWarning(seen []model.SamplePair) string {
	several, most := 0, 0
	for _, window := range seen {
		several, most = several+min(int(window.Value)/2, 1), max(most, int(window.Value))
	}
	if several == 0 || several == 1 && len(seen) > 1 || 10*several <= len(seen) {
		return ""
	}
	return fmt.Sprintf("counts are the sum of %d sources (jobs, instances): if these are one prober, choose one with --match", most)
}

// holesWarning says of how much of the range nothing is stored.
func holesWarning(span Range, windows, seen int) string {
	if seen == windows {
		return ""
	}
	holes := span.Length() / time.Duration(windows) * time.Duration(windows-seen)
	return fmt.Sprintf("there is no data for %s of the range's %s", length(holes.Round(time.Minute)), length(span.Length()))
}

// samplesWarning says that latencies are not of all requests: some were stored without their histograms. In a short range
// Prometheus extrapolates histograms and counters differently.
func (r *record) samplesWarning() string {
	if e2el, ok := r.summary.E2EL.Count, r.summary.Succeeded(); 5*e2el < 4*ok {
		return fmt.Sprintf("latencies are of %s of the %s successful requests: of the others no histogram is stored in the same form", format.Grouped(e2el), format.Grouped(ok))
	}
	return ""
}

// taintedWarning says of how many requests the gaps are not the server's.
func (r *record) taintedWarning() string {
	if r.tainted > 0 {
		return fmt.Sprintf("%s of the %s requests were read too late by the prober: excluded from ITL", format.Grouped(r.tainted), format.Grouped(r.requests()))
	}
	return ""
}
