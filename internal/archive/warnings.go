package archive

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/format"
)

// warn adds warnings to the summary.
func (r *Record) warn() {
	for _, text := range []string{r.classicWords(), r.sourceWords(), r.birthWords(), r.holeWords(), r.tokenWords(), r.taintWords()} {
		if text != "" {
			r.Summary.Warnings = append(r.Summary.Warnings, text)
		}
	}
}

// classicWords say which quantiles are coarse.
func (r *Record) classicWords() string {
	var names []string
	for _, q := range r.quantities {
		if q.count > 0 && q.explicit != nil {
			names = append(names, q.name)
		}
	}
	if names == nil {
		return ""
	}
	return strings.Join(names, ", ") + " from classic buckets: quantiles are exact to a bucket only, " +
		"which is often 25% wide or more; scrape native histograms for 4.4%"
}

// sourceWords say that several told of the same at the same time: what they told
// is added up.
func (r *Record) sourceWords() string {
	seen, windows, both := map[string][]bool{}, 0, 0
	for _, g := range r.probes {
		key := source(g.labels)
		if seen[key] == nil {
			seen[key] = make([]bool, len(g.seen))
		}
		for i, yes := range g.seen {
			seen[key][i] = seen[key][i] || yes
		}
	}
	for i := range r.probes[0].seen {
		n := 0
		for _, windows := range seen {
			if windows[i] {
				n++
			}
		}
		windows, both = windows+min(n, 1), both+min(n/2, 1)
	}
	prober := "one prober"
	switch {
	case windows == 1 && both == 1: // one after the other or not: unknown
		prober += " that was not restarted"
	case both < 2 || 10*both <= windows: // one after the other: a restart
		return ""
	}
	names := slices.Sorted(maps.Keys(seen))
	return fmt.Sprintf("counts are the sum of %d sources (%s): if these are %s, choose one with --match",
		len(names), shorten(names, 4, "; "), prober)
}

// source is what sets apart who told, and how.
func source(m model.Metric) string {
	labels := m.Clone()
	for _, name := range []model.LabelName{"target", "model", "prompt", "outcome"} {
		delete(labels, name)
	}
	var words []string
	for name, value := range labels {
		words = append(words, string(name)+"="+format.Shorten(format.Clean(string(value)), 500))
	}
	slices.Sort(words)
	if words == nil {
		return "no label"
	}
	return strings.Join(words, ", ")
}

// birthWords say that probes may have been made before the range.
func (r *Record) birthWords() string {
	born := 0
	for _, g := range r.probes {
		born += whole(g.born)
	}
	if all := r.Summary.Succeeded() + r.Summary.Failed(); born > 2 && 100*born > all {
		return fmt.Sprintf("%s of the %s requests were already counted when Prometheus first scraped this target, and may be older than the range", format.Grouped(born), format.Grouped(all))
	}
	return ""
}

// holeWords say of how much of the range nothing is stored. Where scrapes are
// further apart than windows are wide, a window without one is no hole.
func (r *Record) holeWords() string {
	windows := make([]bool, len(r.probes[0].seen))
	for _, g := range r.probes {
		for i, yes := range g.seen {
			windows[i] = windows[i] || yes
		}
	}
	least := 1 + 2*(len(windows)-1)/r.scrapes
	holes, run, longest, end := 0, 0, 0, 0
	for i, yes := range append(windows, true) {
		switch {
		case !yes:
			run++
			continue
		case run >= least:
			holes += run
		}
		if run > longest {
			longest, end = run, i
		}
		run = 0
	}
	if holes == 0 {
		return ""
	}
	width := r.Range.Length() / time.Duration(len(windows))
	at := func(window int) string { return stamp(r.Range.From.Add(time.Duration(window) * width)) }
	return fmt.Sprintf("there is no data for %s of the range's %s; the longest gap is from about %s to %s",
		length((time.Duration(holes) * width).Round(time.Minute)), length(r.Range.Length()), at(end-longest), at(end))
}

// tokenWords say that not all tokens are of requests that succeeded.
func (r *Record) tokenWords() string {
	if n := r.Summary.Failed(); n > 0 && r.Summary.Input > 0 {
		return "token counts include the " + format.Grouped(n) + " failed requests, as far as the server reported them"
	}
	return ""
}

// taintWords say of how many requests the gaps are not the server's.
func (r *Record) taintWords() string {
	if n := whole(r.tainted); n > 0 {
		return fmt.Sprintf("%s of the %s requests were read too late by the prober: excluded from ITL",
			format.Grouped(n), format.Grouped(r.Summary.Succeeded()+r.Summary.Failed()))
	}
	return ""
}

// shorten joins words, and counts those above a number.
func shorten(words []string, most int, separator string) string {
	if len(words) > most {
		words = append(slices.Clone(words[:most]), fmt.Sprintf("%d more", len(words)-most))
	}
	return strings.Join(words, separator)
}

// length writes a duration as Prometheus does: 7d, 1h12m.
func length(d time.Duration) string { return model.Duration(d.Round(time.Second)).String() }
