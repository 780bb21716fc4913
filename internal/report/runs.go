package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/format"
)

// DependentPairs is the warning about pairs of requests that were under way together.
const DependentPairs = "requests that were under way together share a queue and a batch: pairs are not independent, and the intervals may be too narrow"

// CompareFiles compares the steps that two files have in common, which [WriteJSON] wrote:
// those of equal load and length of prompts and, unless each file has only one target, of
// equal target. What is wrong with the files are [config.Problems].
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
	d := Document{
		Source: fmt.Sprintf("A: %s; B: %s", a.describe(nameA), b.describe(nameB)), Version: a.Version, Started: a.start(),
		Warnings: unlikeSettings(a, b),
	}
	single := len(a.targets()) == 1 && len(b.targets()) == 1
	for _, x := range a.Summaries {
		for _, y := range b.Summaries {
			if x.Load == y.Load && x.promptTokens() == y.promptTokens() && (single || x.Target == y.Target) {
				d.Comparisons = append(d.Comparisons, compareSteps(nameA, nameB, x, y))
			}
		}
	}
	if d.Comparisons == nil {
		return d, fmt.Errorf("%s and %s have no step in common: %s; %s", nameA, nameB, a.steps(), b.steps())
	}
	return d, nil
}

func readDocument(path string) (d jsonDocument, problems config.Problems) {
	refuse := func(text, hint string) (jsonDocument, config.Problems) {
		return d, config.Problems{{Place: path, Text: text, Hint: hint}}
	}
	const hint = "want a file that prober bench or prober report wrote with --format json"
	data, err := os.ReadFile(path) //nolint:gosec // the file that the user wants
	if err != nil {
		if cause, ok := errors.AsType[*fs.PathError](err); ok {
			err = cause.Err
		}
		return refuse(err.Error(), hint)
	}
	var head struct {
		Schema *int `json:"schema"`
	}
	switch err := json.Unmarshal(data, &head); {
	case err != nil || head.Schema == nil:
		return refuse("not a report", hint)
	case *head.Schema != schema:
		return refuse(fmt.Sprintf("unknown schema %d", *head.Schema), fmt.Sprintf("this prober reads schema %d: use one of the version that wrote the file", schema))
	}
	if err := json.Unmarshal(data, &d); err != nil {
		return refuse("not a report: "+format.Clean(err.Error()), hint)
	}
	return d, nil
}

// describe is "a.json, prober bench, 2026-03-01T12:00:00Z, version 1.2".
func (d jsonDocument) describe(name string) string {
	words := known(name, d.Source)
	if d.Started != nil {
		words = append(words, d.Started.UTC().Format(time.RFC3339))
	}
	if d.Version != "" {
		words = append(words, "version "+d.Version)
	}
	return format.Clean(strings.Join(words, ", "))
}

func (d jsonDocument) start() time.Time {
	if d.Started == nil {
		return time.Time{}
	}
	return *d.Started
}

func (d jsonDocument) targets() []string {
	var names []string
	for _, s := range d.Summaries {
		names = append(names, s.Target)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// steps are the names of all steps.
func (d jsonDocument) steps() string {
	var names []string
	for _, s := range d.Summaries {
		names = append(names, headline(Summary{Target: s.Target, Load: s.Load, PromptTokens: s.promptTokens()}))
	}
	if names == nil {
		return "nothing was measured"
	}
	return format.Shorten(strings.Join(names, " and "), 200)
}

func (s jsonSummary) promptTokens() int {
	if s.PromptTokens == nil {
		return 0
	}
	return *s.PromptTokens
}

// unlikeSettings says in what two runs differ that were meant to be alike.
func unlikeSettings(a, b jsonDocument) []string {
	var list, keys []string
	if a.Version != b.Version {
		list = append(list, fmt.Sprintf("versions of prober differ: %s, %s", orNone(a.Version), orNone(b.Version)))
	}
	for _, d := range []jsonDocument{a, b} {
		for key := range d.Settings {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if x, y := a.Settings[key], b.Settings[key]; x != y {
			list = append(list, fmt.Sprintf("%s differs: %s, %s", key, orNone(x), orNone(y)))
		}
	}
	return list
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return format.Clean(text)
}

// compareSteps pairs the requests of two runs in their order.
func compareSteps(nameA, nameB string, x, y jsonSummary) Comparison {
	c := Comparison{A: nameA, B: nameB, Pair: "request", Load: headline(Summary{Target: x.Target, Load: x.Load, PromptTokens: x.promptTokens()})}
	if x.Model != y.Model {
		c.Warnings = append(c.Warnings, fmt.Sprintf("models differ: %s, %s", orNone(x.Model), orNone(y.Model)))
	}
	if x.Target != y.Target {
		c.Warnings = append(c.Warnings, fmt.Sprintf("targets differ: %s, %s", orNone(x.Target), orNone(y.Target)))
	}
	if x.Failed+y.Failed > 0 || x.Succeeded != y.Succeeded {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s of A and %s of B succeeded: the first ones are compared",
			of(x.Succeeded, x.Succeeded+x.Failed, "request"), of(y.Succeeded, y.Succeeded+y.Failed, "request")))
	}
	if x.AtOnce != nil && *x.AtOnce > 1 {
		c.Warnings = append(c.Warnings, DependentPairs)
	}
	if lines := mediansOf(x, y); lines != nil && (len(x.Requests) == 0 || len(y.Requests) == 0) {
		c.Lines, c.Confidence = lines, defaultConfidence
		c.Warnings = append(c.Warnings, "only medians are known, as data from Prometheus has no single requests: "+
			"to see whether they differ, compare with prober report --prometheus --vs")
		return c
	}
	var both [][2]Request
	for i := range min(len(x.Requests), len(y.Requests)) {
		both = append(both, [2]Request{x.Requests[i], y.Requests[i]})
	}
	return Compare(c, pairsOf(both))
}

// mediansOf compares no more than medians.
func mediansOf(x, y jsonSummary) []Line {
	var lines []Line
	others := y.latencies()
	for i, d := range x.latencies() {
		a, okA := d.At(0.5)
		b, okB := others[i].At(0.5)
		if okA && okB {
			none, far := Number(math.NaN()), Number(math.Inf(1))
			lines = append(lines, Line{
				Metric: d.Name, A: a.Value, B: b.Value,
				Difference: Interval{a.Value - b.Value, -far, far}, Ratio: Interval{a.Value / b.Value, none, none},
			})
		}
	}
	return lines
}

func (s jsonSummary) latencies() []named {
	return Summary{TTFT: s.TTFT, TPOT: s.TPOT, ITL: s.ITL, E2EL: s.E2EL}.latencies()
}
