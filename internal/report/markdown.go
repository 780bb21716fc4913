package report

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
)

// WriteMarkdown writes d as tables of GitHub's Markdown, a row a step; latencies
// are in milliseconds. The error is that of w.
func WriteMarkdown(w io.Writer, d Document) error {
	var m markdown
	m.head(d)
	if len(d.Summaries) > 0 {
		m.requests(d.Summaries)
		for i, l := range (Summary{}).latencies() {
			m.latency(l.Name, i, d.Summaries)
		}
	}
	for _, c := range d.Comparisons {
		m.comparison(c)
	}
	m.warnings(d)
	if _, err := io.WriteString(w, strings.TrimPrefix(m.text.String(), "\n")); err != nil {
		return fmt.Errorf("write Markdown: %w", err)
	}
	return nil
}

// A markdown gathers the text of a document.
type markdown struct{ text strings.Builder }

func (m *markdown) head(d Document) {
	words := known(inline(d.Source))
	if !d.Started.IsZero() {
		words = append(words, d.Started.UTC().Format(time.RFC3339))
	}
	if len(words) > 0 {
		m.text.WriteString(strings.Join(words, ", ") + "\n")
	}
}

func (m *markdown) title(text string) { m.text.WriteString("\n## " + text + "\n\n") }

// table writes a head and rows. The first columns are words and so are verdicts,
// the others are numbers.
func (m *markdown) table(words int, head []string, rows [][]string) {
	line := func(cells []string) { m.text.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	var rule []string
	for i, title := range head {
		if i < words || title == "verdict" {
			rule = append(rule, "---")
		} else {
			rule = append(rule, "---:")
		}
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
}

// step are the cells that name the target and the step of a row.
func step(s Summary) []string {
	prompt := ""
	if s.PromptTokens > 0 {
		prompt = format.Grouped(s.PromptTokens)
	}
	return []string{inline(s.Target), inline(s.Load), prompt}
}

func (m *markdown) requests(list []Summary) {
	m.title("Requests")
	head := []string{
		"target", "load", "prompt tokens", "succeeded", "failed", "seconds", "input tokens", "output tokens",
		"requests/s", "output tokens/s", "total tokens/s",
	}
	var rows [][]string
	for _, s := range list {
		rate := s.Throughput()
		rows = append(rows, append(step(s), format.Grouped(s.Succeeded()), failed(s), hundredths(s.Duration.Seconds()),
			tokens(s.Input, s), tokens(s.Output, s), hundredths(rate.Requests), hundredths(rate.Output), hundredths(rate.Total)))
	}
	m.table(2, head, rows)
}

// failed is "3 (2 timeout, 1 connect)".
func failed(s Summary) string {
	var parts []string
	for _, o := range failureOutcomes() {
		if n := s.Outcomes[o]; n > 0 {
			parts = append(parts, format.Grouped(n)+" "+string(o))
		}
	}
	if parts == nil {
		return "0"
	}
	return format.Grouped(s.Failed()) + " (" + strings.Join(parts, ", ") + ")"
}

// latency writes one quantity: the i-th of [Summary.latencies].
func (m *markdown) latency(name string, i int, list []Summary) {
	m.title(name + " (ms)")
	head := []string{"target", "load", "prompt tokens", "samples", "mean"}
	for _, share := range Shares() {
		head = append(head, percentile(share))
	}
	var rows [][]string
	for _, s := range list {
		d := s.latencies()[i]
		average := math.NaN()
		if d.Count > 0 {
			average = d.Mean
		}
		row := append(step(s), format.Grouped(d.Count), hundredths(average*1e3))
		for _, share := range Shares() {
			row = append(row, quantileCell(d.Distribution, share))
		}
		rows = append(rows, row)
	}
	m.table(2, head, rows)
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

func (m *markdown) comparison(c Comparison) {
	m.title(strings.Join(known(inline(c.A)+" − "+inline(c.B), inline(c.Load)), ", "))
	head := []string{"", inline(c.A), inline(c.B), paired, "of " + inline(c.A), "interval (ms)", "verdict"}
	var rows [][]string
	for _, l := range c.Lines {
		rows = append(rows, []string{
			l.Metric, millis(l.A), millis(l.B), signed(l.Difference.Center), ofA(l), between(l.Difference),
			Verdict(l, inline(c.A), inline(c.B)),
		})
	}
	if rows != nil {
		m.table(1, head, rows)
		m.text.WriteString("\n" + confidence(c) + ".\n")
	}
	m.list(allWarnings(c))
}

// warnings are those of the whole and of its summaries, each with what it is of.
func (m *markdown) warnings(d Document) {
	list := append([]string{}, d.Warnings...)
	for _, s := range d.Summaries {
		for _, text := range append(bucketNotes(s), s.Warnings...) {
			list = append(list, headline(s)+": "+text)
		}
	}
	if len(list) > 0 {
		m.title("Warnings")
		m.list(list)
	}
}

func (m *markdown) list(texts []string) {
	if len(texts) > 0 && !strings.HasSuffix(m.text.String(), "\n\n") {
		m.text.WriteString("\n")
	}
	for _, text := range texts {
		m.text.WriteString("- " + inline(text) + "\n")
	}
}

// inline makes a text harmless within a table or a line.
func inline(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "`", "'", "*", `\*`, "_", `\_`, "[", `\[`).Replace(format.Clean(s))
}
