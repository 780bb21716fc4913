package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/llm-prober/prober/internal/format"
)

// schema is the version of the JSON documents. It changes when a field changes its meaning.
const schema = 1

// WriteJSON writes d as one JSON object, for programs: durations in seconds, to
// the nanosecond, and what is unknown null or left out. Keys and their order are stable.
// The error is that of w.
func WriteJSON(w io.Writer, d Document) error {
	d.Started = d.Started.UTC()
	d.Summaries, d.Comparisons = append([]Summary{}, d.Summaries...), append([]Comparison{}, d.Comparisons...)
	for i, c := range d.Comparisons {
		d.Comparisons[i].Lines = append([]Line{}, c.Lines...)
		for k, l := range c.Lines {
			d.Comparisons[i].Lines[k].Verdict = Verdict(l, c.A, c.B)
		}
	}
	if d.Settings == nil {
		d.Settings = map[string]string{}
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(versioned{schema, d}); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// A versioned document is what a file has.
type versioned struct {
	Schema int `json:"schema"`
	Document
}

// MarshalJSON writes also what the fields of s come to.
func (s Summary) MarshalJSON() ([]byte, error) {
	type plain Summary // which has no methods
	rate := s.Throughput()
	j := struct {
		plain
		Duration    Number `json:"duration_seconds"`
		Succeeded   int    `json:"succeeded_requests"`
		Failed      int    `json:"failed_requests"`
		Input       Number `json:"input_tokens"`
		Output      Number `json:"output_tokens"`
		RequestRate Number `json:"requests_per_second"`
		OutputRate  Number `json:"output_tokens_per_second"`
		TotalRate   Number `json:"total_tokens_per_second"`

		Requests []Request `json:"requests"` // at the end, since they are many
	}{
		plain(s), Number(s.Duration.Seconds()), s.Succeeded(), s.Failed(),
		rate.Input, rate.Generated, rate.Requests, rate.Output, rate.Total, append([]Request{}, s.Requests...),
	}
	j.Start, j.Failures = s.Start.UTC(), append([]Failures{}, s.Failures...)
	return json.Marshal(j) //nolint:wrapcheck // never fails
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
	list := []string{}
	for _, text := range t {
		list = append(list, format.Clean(text))
	}
	return json.Marshal(list)
}
