package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

// WriteOverview writes a line for each of several summaries: what the steps of a
// ladder came to. The error is that of w.
func WriteOverview(w io.Writer, summaries []Summary) error {
	rows := [][]string{{"load", "prompt", "ok", "failed", "req/s", "tok/s", "TTFT P50", "TTFT P99", "TPOT P50", "E2EL P50"}}
	targets := map[string]bool{}
	for _, s := range summaries {
		targets[s.Target] = true
		rows = append(rows, overviewOf(s))
	}
	if len(targets) > 1 {
		rows[0] = append([]string{"target"}, rows[0]...)
		for i, s := range summaries {
			rows[i+1] = append([]string{format.Clean(s.Target)}, rows[i+1]...)
		}
	}
	if _, err := io.WriteString(w, columns(rows)); err != nil {
		return fmt.Errorf("write overview: %w", err)
	}
	return nil
}

func overviewOf(s Summary) []string {
	rate := s.Throughput()
	prompt := ""
	if s.PromptTokens > 0 {
		prompt = format.Grouped(s.PromptTokens)
	}
	row := []string{format.Clean(s.Load), prompt, format.Grouped(s.Succeeded()), format.Grouped(s.Failed()), hundredths(rate.Requests), hundredths(rate.Output)}
	for _, cell := range []struct {
		of    Distribution
		share float64
	}{{s.TTFT, 0.5}, {s.TTFT, 0.99}, {s.TPOT, 0.5}, {s.E2EL, 0.5}} {
		text := "none"
		if q, ok := cell.of.At(cell.share); ok {
			text = format.Seconds(q.Value)
		}
		row = append(row, text)
	}
	return row
}

// columns aligns cells: the first column on its left, the others on their right.
func columns(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], length(cell))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		text.WriteString(pad(row[0], widths[0]))
		for i, cell := range row[1:] {
			text.WriteString("  " + padLeft(cell, widths[i+1]))
		}
		text.WriteString("\n")
	}
	return text.String()
}
