package main

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/llm-prober/prober/internal/usage"
)

// TestOutputProblems holds which values of --format and --plot bench refuses, beside what else is wrong.
func TestOutputProblems(t *testing.T) {
	dir := t.TempDir()
	other := usage.Problems{{Hint: "other"}}
	for _, test := range []struct {
		err          error
		layout, plot string
		want         string // the hints
	}{
		{layout: "json"},
		{layout: "json", plot: filepath.Join(dir, "x.html")},
		{layout: "json", plot: filepath.Join(dir, "no", "x.html"), want: " want a file that can be written"},
		{layout: "json", plot: filepath.Join(dir, "x.png"), want: " want a file that ends with .html"},
		{
			err: other, layout: "xml", plot: "x.png",
			want: " want text, json or markdown want a file that ends with .html other",
		},
	} {
		err := withOutputProblems(test.err, test.layout, test.plot)
		problems, _ := errors.AsType[usage.Problems](err)
		got := ""
		for _, problem := range problems {
			got += " " + problem.Hint
		}
		if got != test.want || (err != nil) != (test.want != "") {
			t.Errorf("%s, %q: %v, want%s", test.layout, test.plot, err, test.want)
		}
	}
	broken := errors.New("broken")
	if err := withOutputProblems(broken, "xml", ""); err != broken { //nolint:errorlint // it must be the same
		t.Errorf("got %v, want %v", err, broken)
	}
}
