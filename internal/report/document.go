// Package report turns the results of probes into what people and scripts read: summaries, comparisons, tables, JSON
// and charts. It never measures, and sends nothing.
//
// What comes in are [probe.Result] values. One of them becomes a [ResultJSON], the form in which a [Waterfall], the
// page and the JSON API show it. Many of them become [Sample] values, which a [Step] collects and sums up.
// internal/promquery fills the same summaries from a Prometheus.
//
// What goes out is a [Document]: a [Summary] for each target and load, a [Comparison] for each pair of targets, and
// warnings. [Document.Write] writes it as text, Markdown or JSON, [WritePageFile] as a page with
// charts.
//
// Start with [Sample] (what counts of a request), then [Step.Summary], then [Compare]. The numbers come from
// internal/stats. Each output has a file of its own: block.go, comparison_text.go, markdown.go, json.go, page.go,
// waterfall.go.
package report

import (
	"io"
	"strings"
	"time"
)

// A Document is everything that one run, or one query of stored data, reports.
type Document struct {
	Source string `json:"source"` // what was asked: "prober bench", or a Prometheus

	Version string `json:"version"` // of the prober

	// Settings by their names, without secrets. Several values have commas between them.
	Settings map[string]string `json:"settings"`

	Started     time.Time    `json:"started,omitzero"` // of the first request, or of the range of time
	Summaries   []Summary    `json:"summaries"`
	Comparisons []Comparison `json:"comparisons"`
	Warnings    Texts        `json:"warnings"` // sentences about the whole document
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

// text returns d for a terminal.
func (d Document) text(width int) string {
	p := &printer{width: width}
	for part := range strings.SplitSeq(d.Source, "; ") {
		p.wrap("", part)
	}
	for _, text := range d.Warnings {
		p.wrap("", "warning: "+text)
	}
	for _, s := range d.Summaries {
		p.WriteString("\n" + Block(s))
	}
	for _, c := range d.Comparisons {
		p.WriteString("\n" + c.Text(width))
	}
	return p.String()
}
