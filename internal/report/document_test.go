package report

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
	"github.com/llm-prober/prober/internal/testing/golden"
	"github.com/llm-prober/prober/internal/usage"
)

// document returns a document with everything that may be unknown, infinite or hostile.
func document() Document {
	measured := step32()
	measured.Requests = measured.Requests[:2]
	hostile := stored()
	hostile.Target, hostile.Budgets = `pipe\|"comma", <b>`, budgets()
	hostile.Warnings = []string{"a\x1b[31m warning\nof two lines"}
	return Document{
		Source: "prober bench", Started: noon(), Summaries: []Summary{measured, hostile, Summarize(nil)},
		Comparisons: []Comparison{
			comparison("vllm_a", "ray-serve", 10),
			Compare(Comparison{A: "x", B: "y", Pair: "round"}, nil),
		},
		Warnings: []string{"the clock of this machine was set back"},
	}
}

// budgets returns budgets of 30 days, one with bad hours and one without data.
func budgets() []Budget {
	const month = 30 * 86400
	hour := func(after, bad int, outcomes map[probe.Outcome]int) BadHour {
		return BadHour{Start: noon().Add(time.Duration(after) * time.Hour), Bad: bad, Judged: 360, Outcomes: outcomes}
	}
	return []Budget{
		{
			Attainment: Attainment{Objective: "ttft<2.05s@95%", Goal: 0.95, Good: 2120, Judged: 2160}, Limit: 2.05,
			Window: month, Covered: 6 * 3600, Due: 259_200, Spent: 0.00308642, Left: 0.99691358,
			Hours: []BadHour{
				hour(2, 17, map[probe.Outcome]int{probe.Timeout: 2, probe.Connect: 12}),
				hour(5, 9, map[probe.Outcome]int{}),
			},
		},
		{
			Attainment: Attainment{Objective: "availability@99%", Goal: 0.99}, Window: month, Left: 1, Hours: []BadHour{},
		},
	}
}

// TestDocuments holds both forms of a document. That in Markdown has the blocks of its summaries.
func TestDocuments(t *testing.T) {
	golden.Equal(t, "testdata/document.json", document().json())
	golden.Equal(t, "testdata/document.md", document().markdown())
}

func TestEmptyDocuments(t *testing.T) {
	want := "{\n  \"schema\": 2,\n  \"source\": \"\",\n  \"version\": \"\",\n  \"settings\": {},\n  \"summaries\": " +
		"[],\n  \"comparisons\": [],\n  \"warnings\": []\n}\n"
	if diff := cmp.Diff(want, Document{}.json()); diff != "" {
		t.Error(diff)
	}
}

// saved writes a file, and returns its path.
func saved(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runOf returns a document of one step.
func runOf(version, maxTokens string, samples []Sample) Document {
	s := Summarize(samples)
	s.Load, s.PromptTokens, s.Model = "0.1 QPS", 21000, "llama"
	return Document{
		Source: "prober bench", Version: version, Started: noon(), Summaries: []Summary{s},
		Settings: map[string]string{"max_tokens": maxTokens, "qps": "0.1"},
	}
}

// TestCompareFiles compares two runs, the first of a prober that wrote schema 1.
func TestCompareFiles(t *testing.T) {
	before, after := answers("old", 10, 0.7961, 0.0028, 0.004, 1), answers("new", 10, 0.8226, 0.00736, 0.004, 2)
	a, b := runOf("1.0", "100", before), runOf("1.1", "200", after)
	b.Summaries[0].Model = ""
	for i := range b.Summaries[0].Requests { // rounds of two runs have nothing to do with each other
		b.Summaries[0].Requests[i].Round += 3
	}
	b.Summaries[0].Requests[4].TTFT = noValue
	earlier := strings.Replace(a.json(), `"schema": 2`, `"schema": 1`, 1)
	d, err := CompareFiles(saved(t, "a.json", earlier), saved(t, "b.json", b.json()))
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/comparison_files.txt", d.text(80))
}

// TestStepsOfFilesAreMatched holds that steps of equal target and prompt length are compared, and no others.
func TestStepsOfFilesAreMatched(t *testing.T) {
	two := func(first, second string) Document {
		d := runOf("1.0", "100", answers(first, 10, 0.8, 0.003, 0.01, 1))
		d.Summaries = append(d.Summaries, runOf("1.0", "100", answers(second, 9, 0.8, 0.003, 0.01, 2)).Summaries...)
		return d
	}
	other := two("y", "z")
	other.Summaries = append(other.Summaries, other.Summaries[0])
	other.Summaries[2].PromptTokens = 80
	d, err := CompareFiles(saved(t, "run.json", two("x", "y").json()), saved(t, "run.json", other.json()))
	if err != nil || len(d.Comparisons) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	c := d.Comparisons[0]
	if !strings.HasPrefix(c.Load, "y, ") || c.A == c.B {
		t.Errorf("%+v is not of target y in two files of the same name", c)
	}
	want := Texts{"9 of 9 requests of A and 10 of 10 requests of B succeeded: the first ones are compared"}
	if diff := cmp.Diff(want, c.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestFilesThatCannotBeCompared holds what is wrong with files: with one, or with both together.
func TestFilesThatCannotBeCompared(t *testing.T) {
	run := func(target string) string { return runOf("1.0", "100", answers(target, 9, 0.8, 0.003, 0.01, 1)).json() }
	week := Document{Source: "Prometheus", Summaries: []Summary{stored()}}.json()
	failed := runOf("1.0", "100", []Sample{failure("a", 0, probe.Connect)}).json()
	longer := strings.Replace(run("a"), `"prompt_tokens": 21000`, `"prompt_tokens": 80`, 1)
	for name, test := range map[string]struct{ text, other, want string }{
		"a text": {"it was the best of times", week,
			"not a report; want a file that prober bench or prober report wrote with --format json"},
		"another JSON file":   {`{"a": 1}`, week, "not a report"},
		"a later schema":      {`{"schema": 3}`, week, "unknown schema 3; this prober reads schemas 1 to 2"},
		"no step in common":   {run("a"), longer, "a.json and b.json have no step in common"},
		"data of histograms":  {week, week, "data from Prometheus has no single requests"},
		"all requests failed": {run("a"), failed, "no request was answered by both: nothing to compare"},
	} {
		a, b := saved(t, "a.json", test.text), saved(t, "b.json", test.other)
		d, err := CompareFiles(a, b)
		got := fmt.Sprint(err)
		if err == nil {
			got = strings.Join(d.Comparisons[0].Warnings, "\n")
		}
		if !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want %q", name, got, test.want)
		}
	}
	_, err := CompareFiles("none", saved(t, "b.json", "{}"))
	problems, ok := errors.AsType[usage.Problems](err)
	if !ok || len(problems) != 2 || !strings.Contains(err.Error(), "none: no such file") {
		t.Errorf("%v, want a problem with each file", err)
	}
}

// twelve returns stored data of twelve targets: names of any length, buckets of three kinds, failures, budgets that are
// left, overspent, of no data or missing.
func twelve() []Summary {
	var list []Summary
	for i := range 12 {
		s := stored()
		s.Target = fmt.Sprintf("llama-%d", i)
		s.Outcomes[probe.Timeout] = 2 * i
		s.ITL = stats.DistributionOf([]float64{0.020, 0.021, 0.022})
		s.TTFT = stats.DistributionOf([]float64{0.5, 1.25, 2.5})
		s.E2EL = stored().TTFT
		s.Budgets = budgets()[:1]
		list = append(list, s)
	}
	list[1].Target = "gateway-of-the-second-region (model meta-llama/Llama-3.1-8B-Instruct, prompt cold)"
	list[1].Warnings = []string{"two probers send the same series"}
	list[2].Budgets[0].Left = -0.25
	list[3].Budgets = budgets()
	list[3].Budgets[0].Left, list[3].Budgets[1].Left = -1, -2
	list[4].Budgets = budgets()[1:]
	list[5].Budgets = nil
	list[6].E2EL = stored().E2EL
	list[6].E2EL.Quantiles[stats.P50].High = stats.Number(math.Inf(1))
	list[7].TTFT = stored().E2EL
	list[8] = Summary{Target: "silent"}
	return list
}

// TestTwelveTargets holds that more than two targets have a table with a line for each, in at most 120 columns, and one
// or two have blocks.
func TestTwelveTargets(t *testing.T) {
	d := Document{Source: "Prometheus at http://prometheus:9090", Summaries: twelve()}
	golden.Equal(t, "testdata/targets.txt", d.text(120))
	golden.Equal(t, "testdata/targets.md", targetsTable(d.Summaries[:3]).markdown())
	for line := range strings.Lines(d.text(120)) {
		if columnsOf(line) > 121 {
			t.Errorf("%d columns: %s", columnsOf(line), line)
		}
	}
	d.Summaries = d.Summaries[:2]
	if n := strings.Count(d.text(120), "Serving Benchmark Result"); n != 2 {
		t.Errorf("%d blocks of two targets", n)
	}
}
