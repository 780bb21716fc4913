package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
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
		Source:   fmt.Sprintf("A: %s; B: %s", describe(nameA, a), describe(nameB, b)),
		Warnings: unlikeSettings(a, b),
	}
	for _, x := range a.Summaries {
		for _, y := range b.Summaries {
			if x.Load == y.Load && x.PromptTokens == y.PromptTokens && (x.Target == y.Target || single(a) && single(b)) {
				d.Comparisons = append(d.Comparisons, compareSteps(nameA, nameB, x, y))
			}
		}
	}
	if d.Comparisons == nil {
		return d, fmt.Errorf("%s and %s have no step in common: %s; %s", nameA, nameB, stepsOf(a), stepsOf(b))
	}
	return d, nil
}

func readDocument(path string) (Document, config.Problems) {
	var j versioned
	problem := config.Problem{Place: path, Text: "not a report", Hint: "want a file that prober bench or prober report wrote with --format json"}
	data, err := os.ReadFile(path) //nolint:gosec // the file that the user wants
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		problem.Text = cause.Err.Error()
	} else if err := json.Unmarshal(data, &j); j.Schema > schema { // of which other fields may differ as well
		problem.Text = fmt.Sprintf("unknown schema %d", j.Schema)
		problem.Hint = fmt.Sprintf("this prober reads schema %d: use one of the version that wrote the file", schema)
	} else if err == nil && j.Schema == schema {
		return j.Document, nil
	}
	return Document{}, config.Problems{problem}
}

// describe is "a.json, prober bench, 2026-03-01T12:00:00Z, version 1.2".
func describe(name string, d Document) string {
	return format.Clean(fmt.Sprintf("%s, %s, %s, version %s", name, d.Source, d.Started.UTC().Format(time.RFC3339), cmp.Or(d.Version, "unknown")))
}

// single reports whether all steps are of one target.
func single(d Document) bool {
	return !slices.ContainsFunc(d.Summaries, func(s Summary) bool { return s.Target != d.Summaries[0].Target })
}

// stepsOf are the names of all steps.
func stepsOf(d Document) string {
	var names []string
	for _, s := range d.Summaries {
		names = append(names, headline(s))
	}
	return cmp.Or(format.Shorten(format.List(names), 200), "nothing was measured")
}

// unlikeSettings says in what two runs differ that were meant to be alike.
func unlikeSettings(a, b Document) []string {
	list := []string{unlikeTexts("versions of prober differ", a.Version, b.Version)}
	all := map[string]string{}
	maps.Copy(all, a.Settings)
	maps.Copy(all, b.Settings)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		list = append(list, unlikeTexts(format.Clean(key)+" differs", a.Settings[key], b.Settings[key]))
	}
	return known(list...)
}

// unlikeTexts is empty where two texts are alike.
func unlikeTexts(what, a, b string) string {
	if a == b {
		return ""
	}
	return fmt.Sprintf("%s: %s, %s", what, cmp.Or(format.Clean(a), "none"), cmp.Or(format.Clean(b), "none"))
}

// compareSteps pairs the requests of two runs in their order.
func compareSteps(nameA, nameB string, x, y Summary) Comparison {
	c := Comparison{A: nameA, B: nameB, Pair: "request", Load: headline(x)}
	c.Warnings = known(unlikeTexts("models differ", x.Model, y.Model), unlikeTexts("targets differ", x.Target, y.Target))
	if x.Failed()+y.Failed() > 0 || x.Succeeded() != y.Succeeded() {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s of A and %s of B succeeded: the first ones are compared",
			of(x.Succeeded(), x.Succeeded()+x.Failed(), "request"), of(y.Succeeded(), y.Succeeded()+y.Failed(), "request")))
	}
	if x.AtOnce > 1 {
		c.Warnings = append(c.Warnings, DependentPairs)
	}
	if len(x.Requests) > 0 && len(y.Requests) > 0 {
		var both [][2]Request
		for i := range min(len(x.Requests), len(y.Requests)) {
			both = append(both, [2]Request{x.Requests[i], y.Requests[i]})
		}
		return Compare(c, pairsOf(both))
	}
	none, far := Number(math.NaN()), Number(math.Inf(1))
	for _, q := range quantities {
		if a, b := q.in(&x).value(0.5), q.in(&y).value(0.5); finite(a - b) {
			c.Lines = append(c.Lines, Line{
				Metric: q.name, A: a, B: b, Difference: Interval{a - b, -far, far}, Ratio: Interval{a / b, none, none},
			})
		}
	}
	if c.Lines == nil {
		return Compare(c, nil)
	}
	c.Confidence = confidence
	c.Warnings = append(c.Warnings, "only medians are known, as data from Prometheus has no single requests: "+
		"to see whether they differ, compare with prober report --prometheus --vs")
	return c
}
