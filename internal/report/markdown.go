package report

import (
	"io"
	"math"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// WriteMarkdown writes d as tables of GitHub's Markdown; latencies
// are in milliseconds. The error is that of w.
func WriteMarkdown(w io.Writer, d Document) error {
	var parts []string
	words := known(inline(d.Source))
	if !d.Started.IsZero() {
		words = append(words, d.Started.UTC().Format(time.RFC3339))
	}
	parts = append(parts, strings.Join(words, ", ")+"\n")
	if len(d.Summaries) > 0 {
		parts = append(parts, "## Requests\n", requestTable(d.Summaries).markdown(), "## Latencies (ms)\n", latencyTable(d.Summaries).markdown())
	}
	for _, c := range d.Comparisons {
		parts = append(parts, "## "+strings.Join(known(inline(c.A)+" − "+inline(c.B), inline(c.Load)), ", ")+"\n")
		if len(c.Lines) > 0 {
			var verdicts []string
			for _, l := range c.Lines {
				verdicts = append(verdicts, l.Metric+": "+Verdict(l, c.A, c.B))
			}
			parts = append(parts, comparisonTable(c, c.A, c.B).markdown(), bullets(verdicts), inline(strings.Join(meaning(c, c.A, c.B), " "))+"\n")
		}
		parts = append(parts, bullets(allWarnings(c)))
	}
	if list := documentWarnings(d); list != nil {
		parts = append(parts, "## Warnings\n", bullets(list))
	}
	parts = known(parts...)
	return write(w, strings.TrimPrefix(strings.Join(parts, "\n"), "\n"))
}

func bullets(texts []string) string {
	list := ""
	for _, text := range texts {
		list += "- " + inline(text) + "\n"
	}
	return list
}

// documentWarnings are those of the whole and of its summaries, each with what it is of.
func documentWarnings(d Document) []string {
	list := append([]string(nil), d.Warnings...)
	for _, s := range d.Summaries {
		for _, text := range append(bucketNotes(s), s.Warnings...) {
			list = append(list, headline(s)+": "+text)
		}
	}
	return list
}

func requestTable(list []Summary) table {
	t := table{words: 2, rows: [][]string{{
		"target", "load", "prompt tokens", "succeeded", "failed", "seconds", "input tokens", "output tokens",
		"requests/s", "output tokens/s", "total tokens/s",
	}}}
	for _, s := range list {
		rate := s.Throughput()
		t.rows = append(t.rows, append(step(s), format.Grouped(s.Succeeded()), failed(s), hundredths(s.Duration.Seconds()),
			tokens(s.Input, s), tokens(s.Output, s), hundredths(rate.Requests), hundredths(rate.Output), hundredths(rate.Total)))
	}
	return t
}

// failed is "3 (2 timeout, 1 connect)".
func failed(s Summary) string {
	var parts []string
	for _, o := range probe.Outcomes() {
		if n := s.Outcomes[o]; n > 0 && o != probe.OK {
			parts = append(parts, format.Grouped(n)+" "+string(o))
		}
	}
	if parts == nil {
		return "0"
	}
	return format.Grouped(s.Failed()) + " (" + strings.Join(parts, ", ") + ")"
}

func latencyTable(list []Summary) table {
	t := table{words: 2, rows: [][]string{{"target", "load", "prompt tokens", "latency", "samples", "mean"}}}
	for _, share := range Shares() {
		t.rows[0] = append(t.rows[0], percentile(share))
	}
	for _, s := range list {
		for _, d := range s.latencies() {
			row := append(step(s), d.Name, format.Grouped(d.Count), hundredths(d.mean()*1e3))
			for _, share := range Shares() {
				row = append(row, quantileCell(d.Distribution, share))
			}
			t.rows = append(t.rows, row)
		}
	}
	return t
}

// mean is NaN of no samples.
func (d Distribution) mean() float64 {
	if d.Count == 0 {
		return math.NaN()
	}
	return float64(d.Mean)
}

// quantileCell is a quantile, with its bounds where they are wide.
func quantileCell(d Distribution, share float64) string {
	q, ok := d.At(share)
	if !ok {
		return "nan"
	}
	text := hundredths(q.Value * 1e3)
	if d.inexact() > narrow {
		text += " (" + q.bucket() + ")"
	}
	return text
}
