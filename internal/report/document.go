// Package report tells results to people: one probe in a terminal, many as tables, comparisons and charts. It prints
// and never measures: every number in it comes from the results.
package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/plot"
	"github.com/llm-prober/prober/internal/usage"
)

// Write writes d as text, json or markdown; as text in lines of at most width columns where words allow.
func (d Document) Write(w io.Writer, format string, width int) error {
	switch format {
	case "json":
		return write(w, d.json())
	case "markdown":
		return write(w, d.markdown())
	}
	return write(w, d.text(width))
}

// Draw writes a page to a file.
func Draw(path string, page plot.Page) error {
	f, err := os.Create(path) //nolint:gosec // the file that the user wants
	if err == nil {
		err = errors.Join(plot.HTML(f, page), f.Close())
	}
	if err != nil {
		return fmt.Errorf("write the plot: %w", err)
	}
	return nil
}

// schema is the version of the JSON documents. It changes when a field changes its meaning.
const schema = 2

// oldestSchema is the oldest that [CompareFiles] reads: since then only the fields of comparisons changed, of which it
// makes its own. Schema 1 had differences of A − B.
const oldestSchema = 1

// json is d as one JSON object: durations in seconds, unknown values null or left out. Keys and their order are stable.
func (d Document) json() string {
	d.Started = d.Started.UTC()
	d.Summaries, d.Comparisons = append([]Summary{}, d.Summaries...), append([]Comparison{}, d.Comparisons...)
	if d.Settings == nil {
		d.Settings = map[string]string{}
	}
	var text strings.Builder
	_ = Encode(&text, "  ", versioned{schema, d}) // never fails
	return text.String()
}

// Encode writes v as a JSON value and a line's end, indented if there is an indent. Objectives keep their <.
func Encode(w io.Writer, indent string, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", indent)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v) //nolint:wrapcheck // says what it is
}

type versioned struct {
	Schema int `json:"schema"`
	Document
}

// MarshalJSON writes also what the fields of s come to.
func (s Summary) MarshalJSON() ([]byte, error) {
	type plain Summary // which has no methods
	j := struct {
		plain
		Duration  Number `json:"duration_seconds"`
		Succeeded int    `json:"succeeded_requests"`
		Failed    int    `json:"failed_requests"`
		Throughput
		Goodput  *Number   `json:"goodput_requests_per_second,omitempty"` // nil without objectives
		Requests []Request `json:"requests"`                              // at the end, since they are many
	}{plain(s), Number(s.Duration.Seconds()), s.Succeeded(), s.Failed(), s.Throughput(), nil, append([]Request{}, s.Requests...)}
	if s.Objectives != nil {
		j.Goodput = &j.Good
	}
	j.Start, j.Failures = s.Start.UTC(), append([]Failures{}, s.Failures...)
	var text bytes.Buffer
	err := Encode(&text, "", j)
	return text.Bytes(), err
}

// A Number is null in JSON if it is infinite or none, and else exact to the ninth decimal.
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

var none = Number(math.NaN())

// UnmarshalJSON reads null as NaN.
func (n *Number) UnmarshalJSON(text []byte) error {
	if *n = none; string(text) == "null" {
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

// MeasuredInTurn is the warning about targets of which one had its whole step before the other.
const MeasuredInTurn = "one was measured after the other: what disturbed the machine or the network meanwhile " +
	"looks like a difference; repeat the run, or compare in rounds (--qps)"

// CompareFiles compares the steps that two JSON documents have in common: those of equal load, length of prompts and,
// unless each file has only one, target. What is wrong with the files are [usage.Problems].
func CompareFiles(pathA, pathB string) (Document, error) {
	a, problemsA := readDocument(pathA)
	b, problemsB := readDocument(pathB)
	if problems := append(problemsA, problemsB...); problems != nil {
		return Document{}, problems
	}
	nameA, nameB := filepath.Base(pathA), filepath.Base(pathB)
	if nameA == nameB {
		nameA, nameB = pathA, pathB
	}
	d := Document{Source: fmt.Sprintf("A: %s; B: %s", describe(nameA, a), describe(nameB, b))}
	unlike := []string{unlikeTexts("versions of prober differ", a.Version, b.Version)}
	all := map[string]string{}
	maps.Copy(all, a.Settings)
	maps.Copy(all, b.Settings)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		unlike = append(unlike, unlikeTexts(format.Clean(key)+" differs", a.Settings[key], b.Settings[key]))
	}
	d.Warnings = known(unlike...)
	steps := commonSteps(a.Summaries, b.Summaries)
	for _, step := range steps {
		d.Comparisons = append(d.Comparisons, compareSteps(nameA, nameB, step[0], step[1], len(steps)))
	}
	if d.Comparisons == nil {
		return d, fmt.Errorf("%s and %s have no step in common, of equal load, prompt length and target", nameA, nameB)
	}
	return d, nil
}

// commonSteps pairs the steps of two runs that are alike.
func commonSteps(a, b []Summary) (steps [][2]Summary) {
	for _, x := range a {
		for _, y := range b {
			sameTarget := x.Target == y.Target || single(a) && single(b)
			if x.Load == y.Load && x.PromptTokens == y.PromptTokens && sameTarget {
				steps = append(steps, [2]Summary{x, y})
			}
		}
	}
	return steps
}

func readDocument(path string) (Document, usage.Problems) {
	var j versioned
	problem := usage.Problem{Place: path, Text: "not a report", Hint: "want a file that prober bench or prober report wrote with --format json"}
	data, err := os.ReadFile(path) //nolint:gosec // the file that the user wants
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		problem.Text = cause.Err.Error()
	} else if err := json.Unmarshal(data, &j); j.Schema > schema { // of which other fields may differ as well
		problem.Text = fmt.Sprintf("unknown schema %d", j.Schema)
		problem.Hint = fmt.Sprintf("this prober reads schemas %d to %d: use one of the version that wrote the file",
			oldestSchema, schema)
	} else if err == nil && j.Schema >= oldestSchema {
		return j.Document, nil
	}
	return Document{}, usage.Problems{problem}
}

func describe(name string, d Document) string {
	return format.Clean(fmt.Sprintf("%s, %s, %s, version %s", name, d.Source, d.Started.UTC().Format(time.RFC3339), cmp.Or(d.Version, "unknown")))
}

func single(steps []Summary) bool {
	return !slices.ContainsFunc(steps, func(s Summary) bool { return s.Target != steps[0].Target })
}

func unlikeTexts(what, a, b string) string {
	if a == b {
		return ""
	}
	return fmt.Sprintf("%s: %s, %s", what, cmp.Or(format.Clean(a), "none"), cmp.Or(format.Clean(b), "none"))
}

// compareSteps compares one step of two runs that have some in common.
func compareSteps(nameA, nameB string, x, y Summary, inCommon int) Comparison {
	c := Comparison{A: nameA, B: nameB, Pair: "request", Load: headline(x), InRun: inCommon}
	c.Warnings = known(unlikeTexts("models differ", x.Model, y.Model), unlikeTexts("targets differ", x.Target, y.Target))
	if x.Failed()+y.Failed() > 0 || x.Succeeded() != y.Succeeded() {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s of A and %s of B succeeded: the first ones are compared",
			of(x.Succeeded(), x.Sent(), "request"), of(y.Succeeded(), y.Sent(), "request")))
	}
	c.Together = x.AtOnce
	if len(x.Requests) > 0 && len(y.Requests) > 0 {
		var both [][2]Request
		for i := range min(len(x.Requests), len(y.Requests)) {
			both = append(both, [2]Request{x.Requests[i], y.Requests[i]})
		}
		return Compare(c, pairsOf(both))
	}
	return Uncompared(c, "data from Prometheus has no single requests: compare with prober report --prometheus --vs")
}
