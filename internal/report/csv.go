package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// WriteCSV writes the summaries of d as a table, one row each, with a head. Its
// columns are always the same; a cell is empty where the value is unknown. Durations are
// in seconds. Comparisons are not in it. The error is that of w.
func WriteCSV(w io.Writer, d Document) error {
	table := csv.NewWriter(w)
	if err := table.Write(csvHead()); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	for _, s := range d.Summaries {
		if err := table.Write(csvRow(s)); err != nil {
			return fmt.Errorf("write CSV: %w", err)
		}
	}
	table.Flush()
	if err := table.Error(); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

func csvHead() []string {
	head := []string{"target", "load", "prompt_tokens", "at_once", "start", "duration_seconds", "succeeded_requests", "failed_requests"}
	for _, o := range failureOutcomes() {
		head = append(head, "failed_"+string(o))
	}
	for _, reason := range probe.Skips() {
		head = append(head, "skipped_"+string(reason))
	}
	head = append(head, "input_tokens", "output_tokens", "requests_per_second", "output_tokens_per_second", "total_tokens_per_second")
	for _, d := range (Summary{}).latencies() {
		name := strings.ToLower(d.Name)
		head = append(head, name+"_count", name+"_mean_seconds")
		for _, share := range Shares() {
			head = append(head, name+"_"+strings.ToLower(percentile(share))+"_seconds")
		}
	}
	return append(head, "warnings")
}

func csvRow(s Summary) []string {
	j := summaryJSON(s)
	row := []string{
		format.Clean(s.Target), format.Clean(s.Load), cell(j.PromptTokens), cell(j.AtOnce), textOf(j.Start), decimal(j.Duration),
		strconv.Itoa(j.Succeeded), strconv.Itoa(j.Failed),
	}
	for _, o := range failureOutcomes() {
		row = append(row, strconv.Itoa(s.Outcomes[o]))
	}
	for _, reason := range probe.Skips() {
		row = append(row, strconv.Itoa(s.Skipped[reason]))
	}
	rate := s.Throughput()
	row = append(row, cell(j.Input), cell(j.Output), decimal(rate.Requests), decimal(rate.Output), decimal(rate.Total))
	for _, d := range s.latencies() {
		average := math.NaN()
		if d.Count > 0 {
			average = d.Mean
		}
		row = append(row, strconv.Itoa(d.Count), decimal(average))
		for _, share := range Shares() {
			v := math.NaN()
			if q, ok := d.At(share); ok {
				v = q.Value
			}
			row = append(row, decimal(v))
		}
	}
	return append(row, strings.Join(slices.Concat(bucketNotes(s), j.SummaryWarnings), "; "))
}

// failureOutcomes are the outcomes but success.
func failureOutcomes() []probe.Outcome {
	var list []probe.Outcome
	for _, o := range probe.Outcomes() {
		if o != probe.OK {
			list = append(list, o)
		}
	}
	return list
}

func cell(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// decimal writes a number to the ninth decimal, or nothing for none.
func decimal(v float64) string {
	if !finite(v) {
		return ""
	}
	return strconv.FormatFloat(ninth(v), 'f', -1, 64)
}
