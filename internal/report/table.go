package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/llm-prober/prober/internal/format"
)

type table struct {
	words int        // columns from the left that hold words; the others hold numbers
	rows  [][]string // the first is the head
}

func (t table) text() string { return t.lines("", "  ", "", format.Clean) }

func (t table) markdown() string {
	rule := slices.Repeat([]string{"---:"}, len(t.rows[0]))
	for i := range t.words {
		rule[i] = "---"
	}
	t.rows = slices.Insert(slices.Clone(t.rows), 1, rule)
	return t.lines("| ", " | ", " |", inline)
}

// lines aligns words on their left and numbers on their right. Escape makes a cell harmless.
func (t table) lines(left, gutter, right string, escape func(string) string) string {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], length(escape(cell)))
		}
	}
	for i := range t.words {
		widths[i] = -widths[i] // which fmt fills up on the right
	}
	var text strings.Builder
	for _, row := range t.rows {
		var cells []string
		for i, cell := range row {
			cells = append(cells, fmt.Sprintf("%*s", widths[i], escape(cell)))
		}
		text.WriteString(left + strings.Join(cells, gutter) + right + "\n")
	}
	return text.String()
}

// inline makes a text harmless within a table or a line of Markdown.
func inline(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "`", "'", "*", `\*`, "_", `\_`, "[", `\[`).Replace(format.Clean(s))
}

// Overview has a line for each of several summaries: what the steps of a ladder came to.
func Overview(summaries []Summary) string { return overview(summaries).text() }

func overview(summaries []Summary) table {
	columns := []struct {
		head string
		of   func(s Summary) string
	}{
		{"target", func(s Summary) string { return s.Target }},
		{"load", func(s Summary) string { return s.Load }},
		{"prompt", func(s Summary) string { return format.Grouped(s.PromptTokens) }},
		{"ok", func(s Summary) string { return format.Grouped(s.Succeeded()) + "/" + format.Grouped(s.Sent()) }},
		{"req/s", func(s Summary) string { return total("%.2f", s.Throughput().Requests) }},
		{"good/s", func(s Summary) string { return total("%.2f", s.Throughput().Good) }},
		{"tok/s", func(s Summary) string { return total("%.2f", s.Throughput().Output) }},
		{"TTFT P50", func(s Summary) string { return secondsOrNone(s.TTFT.At(0.5)) }},
		{"TPOT P50", func(s Summary) string { return secondsOrNone(s.TPOT.At(0.5)) }},
		{"E2EL P50", func(s Summary) string { return secondsOrNone(s.E2EL.At(0.5)) }},
	}
	t := table{words: 2, rows: make([][]string, len(summaries)+1)}
	if single(summaries) { // its name is known
		columns, t.words = columns[1:], 1
	}
	unlike := func(s Summary) bool { return s.PromptTokens != summaries[0].PromptTokens }
	judged := func(s Summary) bool { return s.Objectives != nil }
	for _, c := range columns {
		if c.head == "prompt" && !slices.ContainsFunc(summaries, unlike) || c.head == "good/s" && !slices.ContainsFunc(summaries, judged) {
			continue
		}
		t.rows[0] = append(t.rows[0], c.head)
		for i, s := range summaries {
			t.rows[i+1] = append(t.rows[i+1], c.of(s))
		}
	}
	return t
}

// secondsOrNone writes a latency, or "none" where there is none.
func secondsOrNone(v Number) string {
	if !finite(v) {
		return "none"
	}
	return format.Seconds(float64(v))
}

func (d Document) markdown() string {
	words := known(inline(d.Source))
	if !d.Started.IsZero() {
		words = append(words, d.Started.UTC().Format(time.RFC3339))
	}
	parts := []string{strings.Join(words, ", ") + "\n"}
	if len(d.Summaries) > 0 {
		parts = append(parts, "## Requests\n", overview(d.Summaries).markdown())
	}
	for _, s := range d.Summaries {
		parts = append(parts, "    "+strings.ReplaceAll(strings.TrimSpace(Block(s)), "\n", "\n    ")+"\n")
	}
	for _, c := range d.Comparisons {
		parts = append(parts, "## "+strings.Join(known(inline(c.B)+" against "+inline(c.A), inline(c.Load)), ", ")+"\n")
		if len(c.Lines) > 0 {
			words := inline(strings.Join(meaning(c, c.A, c.B), " ")) + "\n"
			parts = append(parts, comparisonTable(c, c.A, c.B).markdown(), bullets(verdicts(c)), words)
		}
		parts = append(parts, bullets(c.Warnings))
	}
	if len(d.Warnings) > 0 {
		parts = append(parts, "## Warnings\n", bullets(d.Warnings))
	}
	return strings.TrimPrefix(strings.Join(known(parts...), "\n"), "\n")
}

func bullets(texts []string) string {
	var list strings.Builder
	for _, text := range texts {
		list.WriteString("- " + inline(text) + "\n")
	}
	return list.String()
}

func write(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// A printer gathers text for a terminal, in lines of at most width columns where words allow.
type printer struct {
	strings.Builder
	width int
}

func (p *printer) wrap(label, text string) { p.WriteString(format.Wrap(label, text, p.width)) }

func known(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

func length(s string) int { return utf8.RuneCountInString(s) }
