package main

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
)

// TestParseGate holds what --fail-on accepts, and that a command which compares nothing does not offer regression.
func TestParseGate(t *testing.T) {
	const all = "want objective, regression or 'regression>5%'"
	for _, test := range []struct {
		failOn  string
		targets []config.Target
		want    report.Gate
		wrong   usage.Problems
	}{
		{failOn: "objective", want: report.Gate{Objective: true}},
		{
			failOn:  " regression>2.5%",
			targets: make([]config.Target, 2),
			want:    report.Gate{Regression: true, MinSlowdown: 2.5},
		},
		{failOn: "x", wrong: usage.Problems{{Place: `--fail-on="x"`, Text: "unknown", Hint: "want objective"}}},
		{
			failOn:  "regression>5",
			targets: make([]config.Target, 1),
			wrong:   usage.Problems{{Place: `--fail-on="regression>5"`, Text: "unknown", Hint: all}},
		},
	} {
		got, wrong := parseGate([]string{test.failOn}, true, test.targets)
		if diff := cmp.Diff(test.want, got) + cmp.Diff(test.wrong, wrong); diff != "" {
			t.Errorf("%q: -want +got\n%s", test.failOn, diff)
		}
	}
}

func TestCheckOutput(t *testing.T) {
	dir := t.TempDir()
	for picture, want := range map[string]string{
		"":                                 "",
		filepath.Join(dir, "x.html"):       "",
		filepath.Join(dir, "no", "x.html"): "want a file that can be written",
		filepath.Join(dir, "x.png"):        "want a file that ends with .html",
	} {
		got := ""
		for _, problem := range checkOutput("json", picture) {
			got += problem.Hint
		}
		if got != want {
			t.Errorf("%q: %q, want %q", picture, got, want)
		}
	}
}
