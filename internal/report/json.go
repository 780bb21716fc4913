package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// WriteJSON writes d as one JSON object, for programs: durations in seconds, to
// the nanosecond, null where unknown. Keys and their order are stable. The error is that of w.
func WriteJSON(w io.Writer, d Document) error {
	doc := jsonDocument{
		Source: d.Source, Started: moment(d.Started), Summaries: []jsonSummary{}, Comparisons: []jsonComparison{}, Warnings: listOf(d.Warnings),
	}
	for _, s := range d.Summaries {
		doc.Summaries = append(doc.Summaries, summaryJSON(s))
	}
	for _, c := range d.Comparisons {
		doc.Comparisons = append(doc.Comparisons, comparisonJSON(c))
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(doc); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

type jsonDocument struct {
	Source      string           `json:"source"`
	Started     *string          `json:"started"`
	Summaries   []jsonSummary    `json:"summaries"`
	Comparisons []jsonComparison `json:"comparisons"`
	Warnings    []string         `json:"warnings"`
}

type jsonSummary struct {
	Target          string         `json:"target"`
	Load            string         `json:"load"`
	PromptTokens    *int           `json:"prompt_tokens"`
	AtOnce          *int           `json:"at_once"`
	Start           *string        `json:"start"`
	Duration        float64        `json:"duration_seconds"`
	Succeeded       int            `json:"succeeded_requests"`
	Failed          int            `json:"failed_requests"`
	Outcomes        map[string]int `json:"outcomes"`
	Failures        []jsonFailures `json:"failures"`
	Skipped         map[string]int `json:"skipped_requests"`
	Input           *int           `json:"input_tokens"`
	Output          *int           `json:"output_tokens"`
	RequestRate     *float64       `json:"requests_per_second"`
	OutputRate      *float64       `json:"output_tokens_per_second"`
	TotalRate       *float64       `json:"total_tokens_per_second"`
	TTFT            jsonSpread     `json:"ttft_seconds"`
	TPOT            jsonSpread     `json:"tpot_seconds"`
	ITL             jsonSpread     `json:"itl_seconds"`
	E2EL            jsonSpread     `json:"e2el_seconds"`
	SummaryWarnings []string       `json:"warnings"`
}

// A jsonSpread is a distribution.
type jsonSpread struct {
	Count     int            `json:"count"`
	Mean      *float64       `json:"mean"`
	Quantiles []jsonQuantile `json:"quantiles"`
}

type jsonQuantile struct {
	Share float64  `json:"share"`
	Value *float64 `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

type jsonComparison struct {
	A          string     `json:"a"`
	B          string     `json:"b"`
	Load       string     `json:"load"`
	Pair       string     `json:"pair"`
	Confidence float64    `json:"confidence"`
	Lines      []jsonLine `json:"lines"`
	Warnings   []string   `json:"warnings"`
}

type jsonLine struct {
	Metric     string       `json:"metric"`
	Pairs      int          `json:"pairs"`
	A          *float64     `json:"a_median_seconds"`
	B          *float64     `json:"b_median_seconds"`
	Difference jsonInterval `json:"difference_seconds"`
	Ratio      jsonInterval `json:"ratio"`
	Shown      bool         `json:"shown"`
	Verdict    string       `json:"verdict"`
	Warnings   []string     `json:"warnings"`
}

type jsonInterval struct {
	Center *float64 `json:"center"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
}

func summaryJSON(s Summary) jsonSummary {
	rate := s.Throughput()
	j := jsonSummary{
		Target: s.Target, Load: s.Load, PromptTokens: above0(s.PromptTokens), AtOnce: above0(s.AtOnce),
		Start: moment(s.Start), Duration: s.Duration.Seconds(), Succeeded: s.Succeeded(), Failed: s.Failed(),
		Outcomes: map[string]int{}, Failures: failuresJSON(s.Failures), Skipped: map[string]int{},
		RequestRate: float(rate.Requests), OutputRate: float(rate.Output), TotalRate: float(rate.Total),
		TTFT: spreadJSON(s.TTFT), TPOT: spreadJSON(s.TPOT), ITL: spreadJSON(s.ITL), E2EL: spreadJSON(s.E2EL),
		SummaryWarnings: listOf(s.Warnings),
	}
	for _, o := range probe.Outcomes() {
		j.Outcomes[string(o)] = s.Outcomes[o]
	}
	for _, reason := range probe.Skips() {
		j.Skipped[string(reason)] = s.Skipped[reason]
	}
	if !untoldTokens(s.Input, s) {
		j.Input = &s.Input
	}
	if !untoldTokens(s.Output, s) {
		j.Output = &s.Output
	}
	return j
}

func spreadJSON(d Distribution) jsonSpread {
	j := jsonSpread{Count: d.Count, Quantiles: []jsonQuantile{}}
	if d.Count > 0 {
		j.Mean = float(d.Mean)
	}
	for _, q := range d.Quantiles {
		j.Quantiles = append(j.Quantiles, jsonQuantile{Share: q.Share, Value: float(q.Value), Low: float(q.Low), High: float(q.High)})
	}
	return j
}

func comparisonJSON(c Comparison) jsonComparison {
	j := jsonComparison{
		A: c.A, B: c.B, Load: c.Load, Pair: c.Pair, Confidence: c.Confidence, Lines: []jsonLine{}, Warnings: listOf(c.Warnings),
	}
	for _, l := range c.Lines {
		line := jsonLine{
			Metric: l.Metric, Pairs: l.Pairs, A: float(l.A), B: float(l.B), Difference: intervalJSON(l.Difference),
			Ratio: intervalJSON(l.Ratio), Shown: l.Shown, Verdict: Verdict(l, c.A, c.B), Warnings: listOf(l.Warnings),
		}
		if line.Ratio.High == nil {
			line.Ratio.Low = nil // the 0 of a ratio without bounds
		}
		j.Lines = append(j.Lines, line)
	}
	return j
}

func intervalJSON(i Interval) jsonInterval {
	return jsonInterval{Center: float(i.Center), Low: float(i.Low), High: float(i.High)}
}

// float is v to the ninth decimal, or nil where JSON has no number for it.
func float(v float64) *float64 {
	if !finite(v) {
		return nil
	}
	v = ninth(v)
	return &v
}

func above0(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}

// moment is a time in UTC, or nil for none.
func moment(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(time.RFC3339Nano)
	return &text
}

// listOf is never null; its texts are fit for a terminal, where JSON ends up too.
func listOf(texts []string) []string {
	list := []string{}
	for _, text := range texts {
		list = append(list, strings.ToValidUTF8(format.Clean(text), ""))
	}
	return list
}
