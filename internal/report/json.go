package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
	"github.com/llm-prober/prober/internal/usage"
)

// currentSchema is the version of the JSON documents. It changes when a field changes its meaning.
const currentSchema = 2

// oldestSchema is the oldest version that [CompareFiles] reads. Schema 1 differs only in the fields of comparisons
// (its differences are A − B), and CompareFiles makes its own comparisons.
const oldestSchema = 1

// A documentJSON is a [Document] in a file. Durations are in seconds, unknown values are null or left out. Keys and
// their order are stable.
type documentJSON struct {
	Schema      int               `json:"schema"`
	Source      string            `json:"source"`
	Version     string            `json:"version"`
	Settings    map[string]string `json:"settings"`
	Started     time.Time         `json:"started,omitzero"`
	Summaries   []summaryJSON     `json:"summaries"`
	Comparisons []Comparison      `json:"comparisons"`
	Warnings    Texts             `json:"warnings"`
}

// A summaryJSON is a [Summary] in a file: its fields, and what is computed from them.
type summaryJSON struct {
	Target       string    `json:"target"`
	Model        string    `json:"model"`
	URL          string    `json:"url"`
	Vantage      string    `json:"vantage,omitzero"`
	Load         string    `json:"load"`
	Prompt       string    `json:"prompt,omitzero"`
	PromptTokens int       `json:"prompt_tokens,omitzero"`
	AtOnce       int       `json:"at_once,omitzero"`
	Start        time.Time `json:"start,omitzero"`

	Outcomes map[probe.Outcome]int `json:"outcomes"`
	Skipped  map[probe.Skip]int    `json:"skipped_requests"`
	Failures []Failures            `json:"failures"`

	TTFT stats.Distribution `json:"ttft_seconds,omitzero"`
	TPOT stats.Distribution `json:"tpot_seconds,omitzero"`
	ITL  stats.Distribution `json:"itl_seconds,omitzero"`
	E2EL stats.Distribution `json:"e2el_seconds,omitzero"`

	Objectives []Attainment `json:"objectives,omitempty"`
	Budgets    []Budget     `json:"budgets,omitempty"`
	Warnings   Texts        `json:"warnings"`

	Duration     stats.Number  `json:"duration_seconds"`
	Succeeded    int           `json:"succeeded_requests"`
	Failed       int           `json:"failed_requests"`
	InputTokens  stats.Number  `json:"input_tokens"`
	OutputTokens stats.Number  `json:"output_tokens"`
	RequestRate  stats.Number  `json:"requests_per_second"`
	OutputRate   stats.Number  `json:"output_tokens_per_second"`
	TotalRate    stats.Number  `json:"total_tokens_per_second"`
	Goodput      *stats.Number `json:"goodput_requests_per_second,omitempty"` // nil without objectives

	Requests []Latencies `json:"requests"` // at the end, because the list is long
}

func (d Document) json() string {
	j := documentJSON{
		Schema:      currentSchema,
		Source:      d.Source,
		Version:     d.Version,
		Settings:    d.Settings,
		Started:     d.Started.UTC(),
		Summaries:   []summaryJSON{}, // an empty list instead of null, as below
		Comparisons: append([]Comparison{}, d.Comparisons...),
		Warnings:    d.Warnings,
	}
	if j.Settings == nil {
		j.Settings = map[string]string{}
	}
	for _, s := range d.Summaries {
		j.Summaries = append(j.Summaries, s.json())
	}
	var text strings.Builder
	_ = Encode(&text, "  ", j) // neither this writer nor this type can fail
	return text.String()
}

func (s Summary) json() summaryJSON {
	rate := s.Throughput()
	j := summaryJSON{
		Target:       s.Target,
		Model:        s.Model,
		URL:          s.URL,
		Vantage:      s.Vantage,
		Load:         s.Load,
		Prompt:       s.Prompt,
		PromptTokens: s.PromptTokens,
		AtOnce:       s.AtOnce,
		Start:        s.Start.UTC(),

		Outcomes: s.Outcomes,
		Skipped:  s.Skipped,
		Failures: append([]Failures{}, s.Failures...),

		TTFT: s.TTFT,
		TPOT: s.TPOT,
		ITL:  s.ITL,
		E2EL: s.E2EL,

		Objectives: s.Objectives,
		Budgets:    s.Budgets,
		Warnings:   s.Warnings,

		Duration:     stats.Number(s.Duration.Seconds()),
		Succeeded:    s.Succeeded(),
		Failed:       s.Failed(),
		InputTokens:  rate.InputTokens,
		OutputTokens: rate.OutputTokens,
		RequestRate:  rate.RequestRate,
		OutputRate:   rate.OutputRate,
		TotalRate:    rate.TotalRate,

		Requests: append([]Latencies{}, s.Requests...),
	}
	if s.Objectives != nil {
		j.Goodput = &rate.Goodput
	}
	return j
}

// document returns what [CompareFiles] needs of a document in a file.
func (j documentJSON) document() Document {
	d := Document{Source: j.Source, Version: j.Version, Settings: j.Settings, Started: j.Started}
	for _, s := range j.Summaries {
		d.Summaries = append(d.Summaries, Summary{
			Target:       s.Target,
			Model:        s.Model,
			Load:         s.Load,
			Prompt:       s.Prompt,
			PromptTokens: s.PromptTokens,
			AtOnce:       s.AtOnce,
			Outcomes:     s.Outcomes,
			Requests:     s.Requests,
		})
	}
	return d
}

// readDocument reads a document from a JSON file.
func readDocument(path string) (Document, usage.Problems) {
	problem := usage.Problem{
		Place: path,
		Text:  "not a report",
		Hint:  "want a file that prober bench or prober report wrote with --format json",
	}
	data, err := os.ReadFile(path) //nolint:gosec // the file that the user wants
	if err != nil {
		cause, ok := errors.AsType[*fs.PathError](err)
		if ok {
			problem.Text = cause.Err.Error()
		}
		return Document{}, usage.Problems{problem}
	}
	var j documentJSON
	err = json.Unmarshal(data, &j)
	switch {
	case j.Schema > currentSchema: // even if another field cannot be read: it may have changed since
		problem.Text = fmt.Sprintf("unknown schema %d", j.Schema)
		problem.Hint = fmt.Sprintf("this prober reads schemas %d to %d: use one of the version that wrote the file",
			oldestSchema, currentSchema)
	case err == nil && j.Schema >= oldestSchema:
		return j.document(), nil
	}
	return Document{}, usage.Problems{problem}
}

// Encode writes v as a JSON value and the end of a line. It is indented if indent is not empty. Unlike json.Marshal it
// keeps the < of objectives.
func Encode(w io.Writer, indent string, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v) //nolint:wrapcheck // says what it is
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
