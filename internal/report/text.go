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

// text returns d for a terminal. One or two summaries have a [Block] each. More have a table.
func (d Document) text(width int) string {
	const maxBlocks = 2
	p := &printer{width: width}
	for part := range strings.SplitSeq(d.Source, "; ") {
		p.wrap("", part)
	}
	for _, text := range d.Warnings {
		p.wrap("", "warning: "+text)
	}
	if len(d.Summaries) > maxBlocks {
		overview := Overview(d.Summaries)
		p.WriteString("\n" + overview + "\n")
		if strings.Contains(overview, " ~") || strings.Contains(overview, " >") {
			p.wrap("", "Values after ~ and > come from buckets wider than ±10%: scrape native histograms for ±4.4%")
		}
		for _, s := range d.Summaries {
			for _, text := range s.remarks() {
				p.wrap("", format.Clean(s.Target+": "+text))
			}
		}
		p.wrap("", "All quantiles, failures and error budgets of a target: --target NAME")
	} else {
		for _, s := range d.Summaries {
			p.WriteString("\n" + Block(s))
		}
	}
	for _, c := range d.Comparisons {
		p.WriteString("\n" + c.Text(width))
	}
	return p.String()
}

// A printer gathers text for a terminal, in lines of at most width columns, unless a single word is longer.
type printer struct {
	strings.Builder
	width int
}

// wrap adds a label and a text. Further lines of the text stand below its first.
func (p *printer) wrap(label, text string) { p.WriteString(format.Wrap(label, text, p.width)) }

func write(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

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
