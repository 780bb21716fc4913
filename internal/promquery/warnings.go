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
	first := r.span.To.Add(-time.Duration(n-1) * width)
	matrix, err := r.steps(ctx, over("present_over_time", r.filter.selector(probesTotal, `outcome="ok"`), width),
		first, r.span.To, width)
	if err != nil {
		return err
	}
	for i := range records {
		one := &records[i]
		sources, seen := []string(nil), make([]int, n) // by window: from how many sources
		for _, stream := range matrix {
			if seriesOf(stream.Metric) != one.series {
				continue
			}
			sources = append(sources, source(stream.Metric))
			for _, pair := range stream.Values {
				seen[min(max(int(pair.Timestamp.Time().Sub(first)/width), 0), n-1)]++
			}
		}
		texts := []string{one.classicWarning(), sourcesWarning(sources, seen), holesWarning(r.span, seen), one.samplesWarning(), one.taintedWarning()}
		one.summary.Warnings = append(one.summary.Warnings, slices.DeleteFunc(texts, func(text string) bool { return text == "" })...)
	}
	return nil
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

// source is what sets apart who told, and how.
func source(labels model.Metric) string {
	var words []string
	for name, value := range labels {
		if !slices.Contains([]model.LabelName{model.MetricNameLabel, "target", "model", "prompt", "outcome"}, name) {
			words = append(words, string(name)+"="+format.Shorten(format.Clean(string(value)), 500))
		}
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// sourcesWarning says that several sources counted at the same time, and not only in the window of a restart.
func sourcesWarning(sources []string, seen []int) string {
	windows, several := 0, 0
	for _, n := range seen {
		windows, several = windows+min(n, 1), several+min(n/2, 1)
	}
	if several == 0 || several == 1 && windows > 1 || 10*several <= windows {
		return ""
	}
	slices.Sort(sources)
	return fmt.Sprintf("counts are the sum of %d sources (%s): if these are one prober, choose one with --match", len(sources), format.Shorten(strings.Join(sources, "; "), 500))
}

// holesWarning says of how much of the range nothing is stored.
func holesWarning(span Range, seen []int) string {
	holes, run, longest, end := 0, 0, 0, 0
	for i, n := range seen {
		if run++; n > 0 {
			run = 0
			continue
		}
		holes++
		if run > longest {
			longest, end = run, i+1
		}
	}
	if holes == 0 {
		return ""
	}
	width := span.Length() / time.Duration(len(seen))
	at := func(window int) string { return timestamp(span.From.Add(time.Duration(window) * width)) }
	return fmt.Sprintf("there is no data for %s of the range's %s; the longest gap is from about %s to %s",
		length((time.Duration(holes) * width).Round(time.Minute)), length(span.Length()), at(end-longest), at(end))
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
