package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/usage"
)

// CompareFiles compares two documents in JSON files, step by step. A step of one file is compared with the step of the
// other that has the same load, prompt length and target (if each file has only one target, their names may differ).
// Mistakes in the files are returned as [usage.Problems].
func CompareFiles(pathA, pathB string) (Document, error) {
	a, problemsA := readDocument(pathA)
	b, problemsB := readDocument(pathB)
	problems := append(problemsA, problemsB...)
	if problems != nil {
		return Document{}, problems
	}
	nameA, nameB := filepath.Base(pathA), filepath.Base(pathB)
	if nameA == nameB {
		nameA, nameB = pathA, pathB
	}
	d := Document{
		Source:   fmt.Sprintf("A: %s; B: %s", sourceOfFile(nameA, a), sourceOfFile(nameB, b)),
		Warnings: settingsThatDiffer(a, b),
	}
	steps := commonSteps(a.Summaries, b.Summaries)
	for _, step := range steps {
		d.Comparisons = append(d.Comparisons, compareSteps(nameA, nameB, step, len(steps)))
	}
	if d.Comparisons == nil {
		return d, fmt.Errorf("%s and %s have no step in common, of equal load, prompt length and target", nameA, nameB)
	}
	return d, nil
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
	case j.Schema > currentSchema: // also if another field cannot be read: it may have changed since
		problem.Text = fmt.Sprintf("unknown schema %d", j.Schema)
		problem.Hint = fmt.Sprintf("this prober reads schemas %d to %d: use one of the version that wrote the file",
			oldestSchema, currentSchema)
	case err == nil && j.Schema >= oldestSchema:
		return j.document(), nil
	}
	return Document{}, usage.Problems{problem}
}

// sourceOfFile returns a line with the name of a file, and what wrote it when.
func sourceOfFile(name string, d Document) string {
	started := d.Started.UTC().Format(time.RFC3339)
	version := cmp.Or(d.Version, "unknown")
	return format.Clean(fmt.Sprintf("%s, %s, %s, version %s", name, d.Source, started, version))
}

// settingsThatDiffer returns a sentence for each setting, and for the version, in which two runs differ.
func settingsThatDiffer(a, b Document) []string {
	sentences := []string{differenceText("versions of prober differ", a.Version, b.Version)}
	all := map[string]string{}
	maps.Copy(all, a.Settings)
	maps.Copy(all, b.Settings)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		sentence := differenceText(format.Clean(name)+" differs", a.Settings[name], b.Settings[name])
		sentences = append(sentences, sentence)
	}
	return nonEmpty(sentences...)
}

// differenceText returns what differs and both values, or nothing if they are equal.
func differenceText(what, a, b string) string {
	if a == b {
		return ""
	}
	return fmt.Sprintf("%s: %s, %s", what, cmp.Or(format.Clean(a), "none"), cmp.Or(format.Clean(b), "none"))
}

// A stepPair is the same step of two runs.
type stepPair struct{ a, b Summary }

// commonSteps returns the steps that two runs have in common.
func commonSteps(a, b []Summary) (steps []stepPair) {
	ignoreNames := ofOneTarget(a) && ofOneTarget(b)
	for _, x := range a {
		for _, y := range b {
			sameTarget := ignoreNames || x.Target == y.Target
			if sameTarget && x.Load == y.Load && x.PromptTokens == y.PromptTokens {
				steps = append(steps, stepPair{x, y})
			}
		}
	}
	return steps
}

// ofOneTarget reports whether all steps are of the same target.
func ofOneTarget(steps []Summary) bool {
	return !slices.ContainsFunc(steps, func(s Summary) bool { return s.Target != steps[0].Target })
}

// compareSteps compares one of the steps that two runs have in common. Rounds of two runs have nothing to do with each
// other, so the first request of A is paired with the first of B, and so on.
func compareSteps(nameA, nameB string, step stepPair, steps int) Comparison {
	a, b := step.a, step.b
	c := Comparison{
		A: nameA, B: nameB, Load: headline(a), Pair: "request",
		ComparisonsInRun: steps,
		RequestsInPair:   a.AtOnce,
		Warnings: nonEmpty(
			differenceText("models differ", a.Model, b.Model),
			differenceText("targets differ", a.Target, b.Target),
		),
	}
	if a.Failed()+b.Failed() > 0 || a.Succeeded() != b.Succeeded() {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s of A and %s of B succeeded: the first ones are compared",
			nOfTotal(a.Succeeded(), a.Sent(), "request"), nOfTotal(b.Succeeded(), b.Sent(), "request")))
	}
	if len(a.Requests) == 0 || len(b.Requests) == 0 {
		return Uncompared(c, "data from Prometheus has no single requests: compare with prober report --prometheus --vs")
	}
	var both []requestPair
	for i := range min(len(a.Requests), len(b.Requests)) {
		both = append(both, requestPair{a.Requests[i], b.Requests[i]})
	}
	return Compare(c, pairsOf(both))
}
