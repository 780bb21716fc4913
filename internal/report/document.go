// Package report turns the results of probes into what people and scripts read: summaries, comparisons, tables, JSON,
// pages, and sentences about a target. It never measures, and sends nothing. Its numbers come from internal/stats.
//
// What comes in are [probe.Result] values. One of them becomes a [ResultJSON], the form in which a [Waterfall], the
// page and the JSON API show it. Many of them become [Sample] values, which a [Step] collects and sums up.
// internal/promquery fills the same summaries from a Prometheus.
//
// What goes out is a [Document]: a [Summary] for each target and load, a [Comparison] for each pair of targets, and
// warnings. [Document.Write] writes it as text, Markdown or JSON, [WritePageFile] as a page with charts.
//
// Start with [Sample] (what counts of a request), then [Step.Summary], then [Compare]. Each output has a file of its
// own: text.go with block.go, markdown.go, json.go, page.go with charts.go, and waterfall.go for a single probe. The
// sentences are in hint.go (what to do about a failure), summary_warnings.go, result_warnings.go and notes.go.
package report

import (
	"io"
	"slices"
	"time"
)

// A Document is everything that one run, or one query of stored data, reports.
type Document struct {
	Source      string            // what was asked: "prober bench", or a Prometheus
	Version     string            // of the prober
	Settings    map[string]string // by their names, without secrets; several values have commas between them
	Started     time.Time         // of the first request, or of the range of time
	Summaries   []Summary
	Comparisons []Comparison
	Warnings    Texts // sentences about the whole document
}

// Write writes d as text, json or markdown. Lines of text have at most width columns, unless a single word is longer.
func (d Document) Write(w io.Writer, format string, width int) error {
	switch format {
	case "json":
		return write(w, d.json())
	case "markdown":
		return write(w, d.markdown())
	}
	return write(w, d.text(width))
}

// allWarnings returns the warnings of d, and those of each of its summaries with what failed, was skipped and is not
// exact.
func (d Document) allWarnings() []string {
	list := slices.Clone([]string(d.Warnings))
	for _, s := range d.Summaries {
		for _, text := range append(s.remarks(), nonEmpty(bucketNote(s))...) {
			list = append(list, headline(s)+": "+text)
		}
	}
	return list
}
