package report

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/stats"
)

// currentSchema is the version of the JSON documents. It changes when a field changes its meaning.
const currentSchema = 2

// oldestSchema is the oldest version that [CompareFiles] reads. Schema 1 differs only in the fields of comparisons
// (its differences are A − B), and CompareFiles makes its own comparisons.
const oldestSchema = 1

// documentJSON is a document in a file.
type documentJSON struct {
	Schema int `json:"schema"`
	Document
}

// json returns d as one JSON object. Durations are in seconds, unknown values are null or left out. Keys and their
// order are stable.
func (d Document) json() string {
	d.Started = d.Started.UTC()
	d.Summaries = append([]Summary{}, d.Summaries...) // an empty list instead of null
	d.Comparisons = append([]Comparison{}, d.Comparisons...)
	if d.Settings == nil {
		d.Settings = map[string]string{}
	}
	var text strings.Builder
	_ = Encode(&text, "  ", documentJSON{Schema: currentSchema, Document: d}) // neither this writer nor this type can fail
	return text.String()
}

// Encode writes v as a JSON value and the end of a line. It is indented if indent is not empty. Unlike json.Marshal it
// keeps the < of objectives.
func Encode(w io.Writer, indent string, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v) //nolint:wrapcheck // says what it is
}

// summaryFields are the fields of a Summary without its methods, so that encoding them does not call MarshalJSON again.
type summaryFields Summary

// summaryJSON is the JSON form of a Summary: its fields, and what is computed from them.
type summaryJSON struct {
	summaryFields

	Duration  stats.Number `json:"duration_seconds"`
	Succeeded int          `json:"succeeded_requests"`
	Failed    int          `json:"failed_requests"`
	Throughput
	Goodput *stats.Number `json:"goodput_requests_per_second,omitempty"` // nil without objectives

	// Requests takes the place of the field of the same key in summaryFields, so that the long list stands at the end.
	Requests []Latencies `json:"requests"`
}

// MarshalJSON writes the fields of s, and what is computed from them: its duration, counts of requests and throughput.
func (s Summary) MarshalJSON() ([]byte, error) {
	s.Start = s.Start.UTC()
	s.Failures = append([]Failures{}, s.Failures...) // an empty list instead of null
	j := summaryJSON{
		summaryFields: summaryFields(s),
		Duration:      stats.Number(s.Duration.Seconds()),
		Succeeded:     s.Succeeded(),
		Failed:        s.Failed(),
		Throughput:    s.Throughput(),
		Requests:      append([]Latencies{}, s.Requests...),
	}
	if s.Objectives != nil {
		j.Goodput = &j.Good
	}
	var text bytes.Buffer
	err := Encode(&text, "", j)
	return text.Bytes(), err
}

// noValue stands for what is unknown, or does not exist.
var noValue = stats.Number(math.NaN())

// Texts are sentences. In JSON they are never null, and without control characters, because JSON is printed to
// terminals.
type Texts []string

// MarshalJSON writes a list, empty if t is nil. It never fails.
func (t Texts) MarshalJSON() ([]byte, error) {
	list := []string{}
	for _, text := range t {
		list = append(list, format.Clean(text))
	}
	return json.Marshal(list)
}
