package report

import (
	"fmt"
	"io"
	"math"
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
	b.throughput(s)
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
	if _, err := io.WriteString(w, b.text.String()); err != nil {
		return fmt.Errorf("write block: %w", err)
	}
	return nil
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

// blockWidth is the columns of a block's section lines.
const blockWidth = 50

// section writes a title in the middle of a line, filled up on both sides; an odd
// one is on the right, as Python's format has it.
func (b *block) section(title, fill string) {
	free := blockWidth - len(title)
	b.text.WriteString(strings.Repeat(fill, free/2) + title + strings.Repeat(fill, free-free/2) + "\n")
}

// row writes a label and its value, "{:<40} {:<10}" there.
func (b *block) row(label, value string) { fmt.Fprintf(&b.text, "%-40s %-10s\n", label, value) }

func (b *block) count(label string, n int) { b.row(label, fmt.Sprint(n)) }

func (b *block) figure(label string, v float64) { b.row(label, hundredths(v)) }

// hundredths writes a figure with two decimals, or nan where there is none.
func hundredths(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "nan"
	}
	return fmt.Sprintf("%.2f", v)
}

func (b *block) requests(s Summary) {
	b.count("Successful requests:", s.Succeeded())
	b.count("Failed requests:", s.Failed())
	for _, o := range probe.Outcomes() {
		if n := s.Outcomes[o]; n > 0 && o != probe.OK {
			b.count(fmt.Sprintf("Failed requests (%s):", o), n)
		}
	}
	for _, reason := range probe.Skips() {
		if n := s.Skipped[reason]; n > 0 {
			b.count(fmt.Sprintf("Skipped requests (%s):", reason), n)
		}
	}
}

func (b *block) throughput(s Summary) {
	b.figure("Benchmark duration (s):", s.Duration.Seconds())
	b.row("Total input tokens:", tokens(s.Input, s))
	b.row("Total generated tokens:", tokens(s.Output, s))
	rate := s.Throughput()
	b.figure("Request throughput (req/s):", rate.Requests)
	b.figure("Output token throughput (tok/s):", rate.Output)
	b.figure("Total Token throughput (tok/s):", rate.Total)
}

func tokens(n int, s Summary) string {
	if untoldTokens(n, s) {
		return "nan"
	}
	return fmt.Sprint(n)
}

func (b *block) latency(title, name string, d Distribution) {
	b.section(title, "-")
	average, middle := math.NaN(), math.NaN()
	if half, ok := d.At(0.5); ok {
		average, middle = d.Mean, half.Value
	}
	b.figure("Mean "+name+" (ms):", average*1e3)
	b.figure("Median "+name+" (ms):", middle*1e3)
	for _, share := range Shares() {
		v := math.NaN()
		if q, ok := d.At(share); ok {
			v = q.Value
		}
		b.figure(percentile(share)+" "+name+" (ms):", v*1e3)
	}
}
