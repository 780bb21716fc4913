package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
)

// Block returns s as the block that vLLM's benchmark_serving prints, byte for byte, so that scripts which read those
// blocks read ours. A line with the target and its load stands before the block; failures, budgets and warnings stand
// after it.
func Block(s Summary) string {
	var b block
	b.WriteString(headline(s) + "\n")
	b.section(" Serving Benchmark Result ", "=")
	b.requests(s)
	b.throughput(s)
	for _, q := range quantities {
		b.latency(q, *q.InSummary(&s))
	}
	b.section("", "=")
	for _, f := range s.shownFailures() {
		b.wrap("", s.failureText(f))
		if f.Hint != "" {
			b.wrap("  ", f.Hint)
		}
	}
	note := bucketNote(s)
	if note != "" {
		b.wrap("", note)
	}
	for _, budget := range s.Budgets {
		b.WriteString(strings.Join(budget.lines(), "\n  ") + "\n")
	}
	for _, text := range s.Warnings {
		b.wrap("", "warning: "+format.Clean(text))
	}
	return b.String()
}

// A block gathers the lines of a [Block].
type block struct{ strings.Builder }

// wrap adds a label and a text below the block. Like the block, it does not depend on the width of the terminal.
func (b *block) wrap(label, text string) {
	const width = 80 // columns
	b.WriteString(format.Wrap(label, text, width))
}

// section adds a title in the middle of a line of 50 columns. If the fill is odd, the right gets more, as in Python.
func (b *block) section(title, fill string) {
	free := 50 - len(title)
	left := free / 2
	b.WriteString(strings.Repeat(fill, left) + title + strings.Repeat(fill, free-left) + "\n")
}

// row adds a label and its value. Python writes them with "{:<40} {:<10}".
func (b *block) row(label string, value any) { fmt.Fprintf(b, "%-40s %-10v\n", label, value) }

// requests adds how many requests succeeded, failed, or were skipped.
func (b *block) requests(s Summary) {
	b.row("Successful requests:", s.Succeeded())
	b.row("Failed requests:", s.Failed())
	for _, outcome := range probe.Outcomes() {
		n := s.Outcomes[outcome]
		if n > 0 && outcome != probe.OK {
			b.row(fmt.Sprintf("Failed requests (%s):", outcome), n)
		}
	}
	for _, reason := range probe.Skips() {
		n := s.Skipped[reason]
		if n > 0 {
			b.row(fmt.Sprintf("Skipped requests (%s):", reason), n)
		}
	}
}

// throughput adds the duration, totals and rates, and how far the objectives were met.
func (b *block) throughput(s Summary) {
	rate := s.Throughput()
	b.row("Benchmark duration (s):", twoDecimals(stats.Number(s.Duration.Seconds())))
	b.row("Total input tokens:", decimals(0, rate.InputTokens))
	b.row("Total generated tokens:", decimals(0, rate.OutputTokens))
	b.row("Request throughput (req/s):", decimals(2, rate.RequestRate))
	if s.Objectives != nil {
		b.row("Request goodput (req/s):", decimals(2, rate.Goodput))
	}
	b.row("Output token throughput (tok/s):", decimals(2, rate.OutputRate))
	b.row("Total Token throughput (tok/s):", decimals(2, rate.TotalRate))
	for _, a := range s.Objectives {
		verdict := "Met "
		if a.Missed() {
			verdict = "Missed "
		}
		b.row(verdict+a.Objective+":", a.share())
	}
}

func (b *block) latency(q Quantity, d stats.Distribution) {
	b.section(q.title, "-")
	mean := d.Mean
	if d.Count == 0 {
		mean = noValue
	}
	b.row("Mean "+q.Name+" (ms):", twoDecimals(mean*1e3))
	b.row("Median "+q.Name+" (ms):", twoDecimals(d.At(stats.P50)*1e3))
	for _, share := range stats.Shares() {
		b.row(share.String()+" "+q.Name+" (ms):", twoDecimals(d.At(share)*1e3))
	}
}

// decimals writes a total or a rate with n decimals, or that it is unknown.
func decimals(n int, v stats.Number) string {
	if !stats.Finite(v) {
		return "unknown"
	}
	return fmt.Sprintf("%.*f", n, float64(v))
}

// twoDecimals writes a figure as vLLM does: nan if there is none.
func twoDecimals(v stats.Number) string { return strings.ToLower(fmt.Sprintf("%.2f", v)) }

// bucketNote says how exact the quantiles are that come from histograms. It is empty if all are exact.
func bucketNote(s Summary) string {
	var parts []string
	widest := 0.0
	for _, quantity := range quantities {
		largest := 0.0 // of the quantiles of this quantity whose error is known
		for share, q := range quantity.InSummary(&s).Quantiles {
			deviation := q.RelativeError()
			if math.IsInf(deviation, 1) {
				parts = append(parts, quantity.Name+" "+stats.Share(share).String()+" above "+secondsOrNone(q.Low))
				continue
			}
			largest = max(largest, deviation)
		}
		if largest > 0 {
			parts = append(parts, quantity.Name+" ±"+format.Percent(largest))
			widest = max(widest, largest)
		}
	}
	if parts == nil {
		return ""
	}
	note := "Quantiles come from histogram buckets: " + strings.Join(parts, ", ")
	if widest > wideBucket {
		note += "; scrape native histograms for ±4.4%"
	}
	return note
}
