package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// WriteBlock writes s as the block that vLLM's benchmark_serving prints, byte for
// byte, so that what reads those reads ours. Before the block stands a line with
// the target and its load, after it warnings. The error is that of w.
func WriteBlock(w io.Writer, s Summary) error {
	var b block
	b.text.WriteString(headline(s) + "\n")
	b.section(" Serving Benchmark Result ", "=")
	b.requests(s)
	b.latency("Time to First Token", "TTFT", s.TTFT)
	b.latency("Time per Output Token (excl. 1st token)", "TPOT", s.TPOT)
	b.latency("Inter-token Latency", "ITL", s.ITL)
	b.latency("End-to-end Latency", "E2EL", s.E2EL)
	b.section("", "=")
	for _, text := range bucketNotes(s) {
		b.text.WriteString(text + "\n")
	}
	for _, text := range s.Warnings {
		b.text.WriteString("warning: " + format.Clean(text) + "\n")
	}
	return write(w, b.text.String())
}

// headline names what a block is of.
func headline(s Summary) string {
	words := known(format.Clean(s.Target), format.Clean(s.Load))
	if s.PromptTokens > 0 {
		words = append(words, "prompts of "+format.Count(s.PromptTokens, "token"))
	}
	return strings.Join(words, ", ")
}

// A block gathers the text of one.
type block struct{ text strings.Builder }

// section writes a title in the middle of a line of 50 columns, filled up on both sides; an
// odd one is on the right, as Python's format has it.
func (b *block) section(title, fill string) {
	free := 50 - len(title)
	b.text.WriteString(strings.Repeat(fill, free/2) + title + strings.Repeat(fill, free-free/2) + "\n")
}

// row writes a label and its value, "{:<40} {:<10}" there.
func (b *block) row(label string, value any) { fmt.Fprintf(&b.text, "%-40s %-10v\n", label, value) }

// hundredths writes a figure with two decimals, or nan where there is none.
func hundredths[T ~float64](v T) string {
	if !finite(v) {
		return "nan"
	}
	return fmt.Sprintf("%.2f", v)
}

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
	b.row("Benchmark duration (s):", hundredths(s.Duration.Seconds()))
	b.row("Total input tokens:", tokens(s.Input, s))
	b.row("Total generated tokens:", tokens(s.Output, s))
	b.row("Request throughput (req/s):", hundredths(rate.Requests))
	b.row("Output token throughput (tok/s):", hundredths(rate.Output))
	b.row("Total Token throughput (tok/s):", hundredths(rate.Total))
}

func tokens(n int, s Summary) string {
	if untoldTokens(n, s) {
		return "nan"
	}
	return fmt.Sprint(n)
}

func (b *block) latency(title, name string, d Distribution) {
	b.section(title, "-")
	average := "nan"
	if d.Quantiles != nil {
		average = hundredths(d.Mean * 1e3)
	}
	b.row("Mean "+name+" (ms):", average)
	b.row("Median "+name+" (ms):", milliseconds(d, 0.5))
	for _, share := range Shares() {
		b.row(percentile(share)+" "+name+" (ms):", milliseconds(d, share))
	}
}

// milliseconds is a quantile, or nan.
func milliseconds(d Distribution, share float64) string {
	if q, ok := d.At(share); ok {
		return hundredths(q.Value * 1e3)
	}
	return "nan"
}
