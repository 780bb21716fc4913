package report

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/golden"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
)

// document returns a document with all that may be unknown, infinite or hostile.
func document() Document {
	wide := stored(0.5)
	wide.Target, wide.TTFT.Quantiles[4].High = `pipe\|"comma", <b>`, Number(math.Inf(1))
	failed := Summarize([]Sample{failure("gateway", 0, probe.Connect)})
	failed.Load, failed.AtOnce = "1 at once", 1
	untold := stored(0.02)
	untold.Output, untold.Warnings = 0, []string{"a\x1b[31m warning\nof two lines"}
	wide.Budgets = budgets()
	first := step32()
	first.Requests = first.Requests[:2]
	return Document{
		Source: "prober bench", Started: noon(), Summaries: []Summary{first, failed, untold, wide},
		Comparisons: []Comparison{
			comparison("vllm_a", "ray-serve", 10),
			comparison("vllm_a", "ray-serve", 5),
			Compare(Comparison{A: "x", B: "y", Pair: "round"}, nil),
		},
		Warnings: []string{"the clock of this machine was set back"},
	}
}

// budgets returns budgets of 30 days: with some bad hours, with one, and without data.
func budgets() []Budget {
	const month = 30 * 86400
	hour := func(after, bad int, outcomes map[probe.Outcome]int) BadHour {
		return BadHour{Start: noon().Add(time.Duration(after) * time.Hour), Bad: bad, Judged: 360, Outcomes: outcomes}
	}
	none := map[probe.Outcome]int{}
	return []Budget{
		{
			Attainment: Attainment{Objective: "ttft<2.05s@95%", Goal: 0.95, Good: 2120, Judged: 2160}, Limit: 2.05,
			Window: month, Covered: 6 * 3600, Due: 259_200, Spent: 0.00308642, Left: 0.99691358,
			Hours: []BadHour{
				hour(2, 17, map[probe.Outcome]int{probe.Timeout: 2, probe.Connect: 12}),
				hour(5, 9, none), hour(4, 9, none), hour(0, 3, none), hour(3, 2, none),
			},
		},
		{
			Attainment: Attainment{Objective: "availability@99%", Goal: 0.99, Good: 260, Judged: 360},
			Window:     month, Covered: 3600, Due: 259_200, Spent: 0.038580247, Left: 0.961419753,
			Hours: []BadHour{hour(0, 100, map[probe.Outcome]int{probe.Timeout: 2, probe.Connect: 95})},
		},
		{
			Attainment: Attainment{Objective: "tpot<50ms@90%", Goal: 0.9}, Limit: 0.05,
			Window: month, Left: 1, Hours: []BadHour{},
		},
	}
}

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

// saved writes d as JSON to a file, and returns its path.
func saved(t *testing.T, name string, d Document) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(d.json()), 0o600); err != nil {
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

func TestCompareFiles(t *testing.T) {
	before, after := answers("old", 10, 0.7961, 0.0028, 0.004, 1), answers("new", 10, 0.8226, 0.00736, 0.004, 2)
	a, b := runOf("1.0", "100", before), runOf("1.1", "200", after)
	b.Summaries[0].Model = ""
	for i := range b.Summaries[0].Requests { // rounds of two runs have nothing to do with each other
		b.Summaries[0].Requests[i].Round += 3
	}
	b.Summaries[0].Requests[4].TTFT = noValue
	d, err := CompareFiles(saved(t, "a.json", a), saved(t, "b.json", b))
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/comparison_files.txt", d.text(80))
}

func TestStepsOfFilesAreMatched(t *testing.T) {
	two := func(first, second string) Document {
		d := runOf("1.0", "100", answers(first, 10, 0.8, 0.003, 0.01, 1))
		d.Summaries = append(d.Summaries, runOf("1.0", "100", answers(second, 9, 0.8, 0.003, 0.01, 2)).Summaries...)
		return d
	}
	other := two("y", "z")
	other.Summaries = append(other.Summaries, other.Summaries[0])
	other.Summaries[2].PromptTokens = 80
	d, err := CompareFiles(saved(t, "run.json", two("x", "y")), saved(t, "run.json", other))
	if err != nil || len(d.Comparisons) != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	c := d.Comparisons[0]
	if !strings.HasPrefix(c.Load, "y, ") || c.A == c.B {
		t.Errorf("%+v", c)
	}
	const want = "9 of 9 requests of A and 10 of 10 requests of B succeeded: the first ones are compared"
	if warnings := strings.Join(c.Warnings, "|"); warnings != want {
		t.Error(warnings)
	}
	_, err = CompareFiles(saved(t, "a.json", two("x", "y")), saved(t, "b.json", two("v", "w")))
	if err == nil || !strings.Contains(err.Error(), "a.json and b.json have no step in common") {
		t.Error(err)
	}
}

// TestFilesOfAnEarlierSchema holds that what a prober wrote before differences were B − A is still compared.
func TestFilesOfAnEarlierSchema(t *testing.T) {
	now := runOf("1.0", "100", answers("old", 10, 0.8, 0.003, 0.01, 1)).json()
	path := filepath.Join(t.TempDir(), "earlier.json")
	earlier := strings.Replace(now, `"schema": 2`, `"schema": 1`, 1)
	if err := os.WriteFile(path, []byte(earlier), 0o600); err != nil {
		t.Fatal(err)
	}
	later := runOf("1.0", "100", answers("old", 10, 1.2, 0.003, 0.01, 2))
	d, err := CompareFiles(path, saved(t, "later.json", later))
	if err != nil {
		t.Fatal(err)
	}
	if l, _ := d.Comparisons[0].line("TTFT"); !l.Shown || !(l.Difference.Low > 0) {
		t.Errorf("%+v", l)
	}
}

func TestStoredDataIsNotCompared(t *testing.T) {
	path := saved(t, "week.json", Document{Source: "Prometheus", Summaries: []Summary{stored(0.02)}})
	d, err := CompareFiles(path, path)
	if err != nil {
		t.Fatal(err)
	}
	c := d.Comparisons[0]
	if len(c.Lines) != 0 || !strings.HasPrefix(c.Warnings[0], "data from Prometheus has no single requests") {
		t.Errorf("%+v", c)
	}
}

func TestFilesThatAreNoReports(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct{ text, want string }{
		"text": {"it was the best of times",
			"not a report; want a file that prober bench or prober report wrote with --format json"},
		"other": {`{"a": 1}`, "not a report"},
		"later": {`{"schema": 3}`, "unknown schema 3; this prober reads schemas 1 to 2"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := CompareFiles(path, filepath.Join(dir, "none"))
		problems, ok := errors.AsType[usage.Problems](err)
		if !ok || len(problems) != 2 {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range []string{path + ": " + test.want, "none: no such file"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
}
