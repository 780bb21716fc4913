package main

import (
	"path/filepath"
	"testing"
)

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
