package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// schema is the version of the JSON documents. It changes when a field changes its meaning.
const schema = 1

// WriteJSON writes d as one JSON object, for programs: durations in seconds, to
// the nanosecond, null where unknown. Keys and their order are stable. The error is that of w.
func WriteJSON(w io.Writer, d Document) error {
	doc := jsonDocument{
		Schema: schema, Source: d.Source, Version: d.Version, Settings: d.Settings, Started: moment(d.Started),
		Summaries: []jsonSummary{}, Comparisons: []Comparison{}, Warnings: d.Warnings,
	}
	if doc.Settings == nil {
		doc.Settings = map[string]string{}
	}
	for _, s := range d.Summaries {
		doc.Summaries = append(doc.Summaries, summaryJSON(s))
	}
	for _, c := range d.Comparisons {
		c.Lines = append([]Line{}, c.Lines...)
		for i, l := range c.Lines {
			c.Lines[i].Verdict = Verdict(l, c.A, c.B)
		}
		doc.Comparisons = append(doc.Comparisons, c)
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
	Schema      int               `json:"schema"`
	Source      string            `json:"source"`
	Version     string            `json:"version"`
	Settings    map[string]string `json:"settings"`
	Started     *time.Time        `json:"started"`
	Summaries   []jsonSummary     `json:"summaries"`
	Comparisons []Comparison      `json:"comparisons"`
	Warnings    Texts             `json:"warnings"`
}

type jsonSummary struct {
	Target       string                `json:"target"`
	Model        string                `json:"model"`
	URL          string                `json:"url"`
	Load         string                `json:"load"`
	PromptTokens *int                  `json:"prompt_tokens"`
	AtOnce       *int                  `json:"at_once"`
	Start        *time.Time            `json:"start"`
	Duration     Number                `json:"duration_seconds"`
	Succeeded    int                   `json:"succeeded_requests"`
	Failed       int                   `json:"failed_requests"`
	Outcomes     map[probe.Outcome]int `json:"outcomes"`
	Failures     []Failures            `json:"failures"`
	Skipped      map[probe.Skip]int    `json:"skipped_requests"`
	Input        *int                  `json:"input_tokens"`
	Output       *int                  `json:"output_tokens"`
	RequestRate  Number                `json:"requests_per_second"`
	OutputRate   Number                `json:"output_tokens_per_second"`
	TotalRate    Number                `json:"total_tokens_per_second"`
	TTFT         Distribution          `json:"ttft_seconds"`
	TPOT         Distribution          `json:"tpot_seconds"`
	ITL          Distribution          `json:"itl_seconds"`
	E2EL         Distribution          `json:"e2el_seconds"`
	Warnings     Texts                 `json:"warnings"`
	Requests     []Request             `json:"requests"`
}

func summaryJSON(s Summary) jsonSummary {
	rate := s.Throughput()
	j := jsonSummary{
		Target: s.Target, Model: s.Model, URL: s.URL, Load: s.Load, PromptTokens: unlessZero(s.PromptTokens), AtOnce: unlessZero(s.AtOnce),
		Start: moment(s.Start), Duration: Number(s.Duration.Seconds()), Succeeded: s.Succeeded(), Failed: s.Failed(),
		Outcomes: map[probe.Outcome]int{}, Failures: append([]Failures{}, s.Failures...), Skipped: map[probe.Skip]int{},
		RequestRate: Number(rate.Requests), OutputRate: Number(rate.Output), TotalRate: Number(rate.Total),
		TTFT: s.TTFT, TPOT: s.TPOT, ITL: s.ITL, E2EL: s.E2EL, Warnings: s.Warnings, Requests: append([]Request{}, s.Requests...),
	}
	for _, d := range []*Distribution{&j.TTFT, &j.TPOT, &j.ITL, &j.E2EL} {
		if d.Count == 0 {
			*d = Distribution{Mean: Number(math.NaN()), Quantiles: []Quantile{}}
		}
	}
	for _, o := range probe.Outcomes() {
		j.Outcomes[o] = s.Outcomes[o]
	}
	for _, reason := range probe.Skips() {
		j.Skipped[reason] = s.Skipped[reason]
	}
	if !untoldTokens(s.Input, s) {
		j.Input = &s.Input
	}
	if !untoldTokens(s.Output, s) {
		j.Output = &s.Output
	}
	return j
}

// summary is what comparisons need of j.
func (j jsonSummary) summary() Summary {
	s := Summary{
		Target: j.Target, Model: j.Model, URL: j.URL, Load: j.Load, Outcomes: j.Outcomes,
		TTFT: j.TTFT, TPOT: j.TPOT, ITL: j.ITL, E2EL: j.E2EL, Requests: j.Requests,
	}
	if j.PromptTokens != nil {
		s.PromptTokens = *j.PromptTokens
	}
	if j.AtOnce != nil {
		s.AtOnce = *j.AtOnce
	}
	return s
}

// A Number is null in JSON if it is infinite or none, and else exact to the ninth decimal: of
// seconds, to the nanosecond.
type Number float64

// MarshalJSON never fails.
func (n Number) MarshalJSON() ([]byte, error) {
	switch {
	case !finite(n):
		return []byte("null"), nil
	case math.Abs(float64(n)) <= 1e6:
		n = Number(math.Round(float64(n)*1e9) / 1e9)
	}
	return json.Marshal(float64(n))
}

// UnmarshalJSON reads null as NaN.
func (n *Number) UnmarshalJSON(text []byte) error {
	if *n = Number(math.NaN()); string(text) == "null" {
		return nil
	}
	return json.Unmarshal(text, (*float64)(n)) //nolint:wrapcheck // as it is without a Number
}

// Texts are never null in JSON, and fit for a terminal, where JSON ends up too.
type Texts []string

// MarshalJSON never fails.
func (t Texts) MarshalJSON() ([]byte, error) {
	list := slices.Clone([]string(t))
	for i, text := range list {
		list[i] = format.Clean(text)
	}
	return json.Marshal(append([]string{}, list...))
}

// A Text is null in JSON if it is empty, and fit for a terminal.
type Text string

// MarshalJSON never fails.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return json.Marshal(format.Clean(string(t)))
}

func unlessZero(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}

// moment is a time in UTC, or nil for none.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
