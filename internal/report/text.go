package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/stats"
)

// A printer gathers text for a terminal, in lines of at most width columns, unless a single word is longer.
type printer struct {
	strings.Builder
	width int
}

// wrap adds a label and a text. Further lines of the text stand below its first.
func (p *printer) wrap(label, text string) { p.WriteString(format.Wrap(label, text, p.width)) }

// write writes a whole report.
func write(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// nonEmpty returns the texts that are not empty.
func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// columnsOf returns how many columns of a terminal s takes, with one for each character.
func columnsOf(s string) int { return utf8.RuneCountInString(s) }

// secondsOrNone writes a latency, or "none" if there is none.
func secondsOrNone(v stats.Number) string {
	if !stats.Finite(v) {
		return "none"
	}
	return format.Seconds(float64(v))
}
