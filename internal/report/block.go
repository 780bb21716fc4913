package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// Block is s as the block that vLLM's benchmark_serving prints, byte for byte, so that what reads those reads ours.
// Before the block stands a line with the target and its load, after it warnings.
func Block(s Summary) string {
	var b block
	b.WriteString(headline(s) + "\n")
	b.section(" Serving Benchmark Result ", "=")
	b.requests(s)
	for _, q := range quantities {
		b.section(q.title, "-")
		d := *q.in(&s)
		mean := d.Mean
		if d.Quantiles == nil {
			mean = none
		}
		b.row("Mean "+q.name+" (ms):", twoDecimals(mean*1e3))
		b.row("Median "+q.name+" (ms):", twoDecimals(d.At(0.5)*1e3))
		for _, share := range Shares() {
			b.row(percentile(share)+" "+q.name+" (ms):", twoDecimals(d.At(share)*1e3))
		}
	}
	b.section("", "=")
	for _, f := range s.Failures[:min(len(s.Failures), mostFailures)] {
		b.WriteString(format.Wrap("", s.failed(f), blockWidth))
		if f.Hint != "" {
			b.WriteString(format.Wrap("  ", f.Hint, blockWidth))
		}
	}
	for _, text := range bucketNotes(s) {
		b.WriteString(format.Wrap("", text, blockWidth))
	}
	for _, budget := range s.Budgets {
		b.budget(budget)
	}
	for _, text := range s.Warnings {
		b.WriteString(format.Wrap("", "warning: "+format.Clean(text), blockWidth))
	}
	return b.String()
}

// blockWidth is how wide what follows a block is, in columns. It does not depend on the terminal, as the block does not.
const blockWidth = 80

// mostFailures is how many kinds of failures have their text after a block: the most frequent.
const mostFailures = 3

// failed says how many requests of s failed alike, and how the first of them did.
func (s Summary) failed(f Failures) string {
	const columns = 300
	text := of(f.Requests, s.Sent(), "request") + " failed (" + string(f.Outcome) + ")"
	if f.Error != "" {
		text += ": " + format.Shorten(format.Clean(f.Error), columns)
	}
	return text
}

func headline(s Summary) string {
	words := known(format.Clean(s.Target), format.Clean(s.Load))
	if s.PromptTokens > 0 {
		words = append(words, "prompts of "+format.Count(s.PromptTokens, "token"))
	}
	return strings.Join(words, ", ")
}

type block struct{ strings.Builder }

// section writes a title in the middle of a line of 50 columns; an odd fill is on the right, as Python's format has it.
func (b *block) section(title, fill string) {
	free := 50 - len(title)
	b.WriteString(strings.Repeat(fill, free/2) + title + strings.Repeat(fill, free-free/2) + "\n")
}

// row writes a label and its value, "{:<40} {:<10}" there.
func (b *block) row(label string, value any) { fmt.Fprintf(b, "%-40s %-10v\n", label, value) }

// total writes a total or a rate, or that the server did not tell it.
func total(layout string, v Number) string {
	if !finite(v) {
		return "unknown"
	}
	return fmt.Sprintf(layout, float64(v))
}

// twoDecimals writes a figure as vLLM does, or nan where there is none.
func twoDecimals(v Number) string { return strings.ToLower(fmt.Sprintf("%.2f", v)) }

func (b *block) requests(s Summary) {
	b.row("Successful requests:", s.Succeeded())
	b.row("Failed requests:", s.Failed())
	for _, o := range probe.Outcomes() {
		if n := s.Outcomes[o]; n > 0 && o != probe.OK {
			b.row(fmt.Sprintf("Failed requests (%s):", o), n)
		}
	}
	for _, reason := range probe.Skips() {
		if n := s.Skipped[reason]; n > 0 {
			b.row(fmt.Sprintf("Skipped requests (%s):", reason), n)
		}
	}
	rate := s.Throughput()
	b.row("Benchmark duration (s):", twoDecimals(Number(s.Duration.Seconds())))
	b.row("Total input tokens:", total("%.0f", rate.Input))
	b.row("Total generated tokens:", total("%.0f", rate.Generated))
	b.row("Request throughput (req/s):", total("%.2f", rate.Requests))
	if s.Objectives != nil {
		b.row("Request goodput (req/s):", total("%.2f", rate.Good))
	}
	b.row("Output token throughput (tok/s):", total("%.2f", rate.Output))
	b.row("Total Token throughput (tok/s):", total("%.2f", rate.Total))
	for _, a := range s.Objectives {
		b.row(map[bool]string{true: "Missed ", false: "Met "}[a.Missed()]+a.Objective+":", a.share())
	}
}

// bucketNotes says how exact quantiles are that come from histograms.
func bucketNotes(s Summary) []string {
	var parts []string
	var widest Number
	for _, quantity := range quantities {
		off := Number(0)
		for _, q := range quantity.in(&s).Quantiles {
			if math.IsInf(float64(q.High), 1) {
				parts = append(parts, quantity.name+" "+percentile(q.Share)+" above "+secondsOrNone(q.Low))
			} else if distance := max(q.High-q.Value, q.Value-q.Low); distance > 0 {
				off = max(off, distance/q.Value)
			}
		}
		if off > 0 {
			parts, widest = append(parts, quantity.name+" ±"+format.Percent(float64(off))), max(widest, off)
		}
	}
	if parts == nil {
		return nil
	}
	note := "Quantiles come from histogram buckets: " + strings.Join(parts, ", ")
	if widest > 0.1 {
		note += "; scrape native histograms for ±4.4%"
	}
	return []string{note}
}
