package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

// A table is written for a terminal or as Markdown.
type table struct {
	words int        // columns from the left that hold words; the others hold numbers
	rows  [][]string // the first is the head
}

// gutter is between the columns of a table.
const gutter = "  "

// text aligns words on their left and numbers on their right.
func (t table) text() string {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], length(cell))
		}
	}
	var text strings.Builder
	for _, row := range t.rows {
		var cells []string
		for i, cell := range row {
			if i < t.words {
				cells = append(cells, pad(cell, widths[i]))
			} else {
				cells = append(cells, padLeft(cell, widths[i]))
			}
		}
		text.WriteString(strings.Join(cells, gutter) + "\n")
	}
	return text.String()
}

func (t table) markdown() string {
	rule := make([]string, len(t.rows[0]))
	for i := range rule {
		if rule[i] = "---:"; i < t.words {
			rule[i] = "---"
		}
	}
	var text strings.Builder
	for i, row := range t.rows {
		var cells []string
		for _, cell := range row {
			cells = append(cells, inline(cell))
		}
		text.WriteString("| " + strings.Join(cells, " | ") + " |\n")
		if i == 0 {
			text.WriteString("| " + strings.Join(rule, " | ") + " |\n")
		}
	}
	return text.String()
}

// inline makes a text harmless within a table or a line of Markdown.
func inline(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "`", "'", "*", `\*`, "_", `\_`, "[", `\[`).Replace(format.Clean(s))
}

// WriteOverview writes a line for each of several summaries: what the steps of a
// ladder came to. The error is that of w.
func WriteOverview(w io.Writer, summaries []Summary) error {
	return write(w, overview(summaries).text())
}

func overview(summaries []Summary) table {
	t := table{words: 2, rows: [][]string{{
		"target", "load", "prompt", "ok", "failed", "req/s", "tok/s", "TTFT P50", "TTFT P99", "TPOT P50", "E2EL P50",
	}}}
	targets := map[string]bool{}
	for _, s := range summaries {
		targets[s.Target] = true
		rate, prompt := s.Throughput(), ""
		if s.PromptTokens > 0 {
			prompt = format.Grouped(s.PromptTokens)
		}
		t.rows = append(t.rows, []string{
			format.Clean(s.Target), format.Clean(s.Load), prompt, format.Grouped(s.Succeeded()), format.Grouped(s.Failed()),
			hundredths(rate.Requests), hundredths(rate.Output),
			duration(s.TTFT, 0.5), duration(s.TTFT, 0.99), duration(s.TPOT, 0.5), duration(s.E2EL, 0.5),
		})
	}
	if len(targets) == 1 { // its name is known
		t.words = 1
		for i, row := range t.rows {
			t.rows[i] = row[1:]
		}
	}
	return t
}

// duration is a quantile for people.
func duration(d Distribution, share float64) string {
	if v := float64(d.value(share)); finite(v) {
		return format.Seconds(v)
	}
	return "none"
}

// write says of which kind an error is.
func write(w io.Writer, text string) error {
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
