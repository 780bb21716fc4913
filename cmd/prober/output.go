package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/usage"
)

// checkFormat returns a problem if the value of --format is none of the known ones.
func checkFormat(value string, known ...string) (problems usage.Problems) {
	if !slices.Contains(known, value) {
		last := len(known) - 1
		hint := "want " + strings.Join(known[:last], ", ") + " or " + known[last]
		problems.Add(usage.FlagPlace("format", value), "unknown", hint)
	}
	return problems
}

// checkOutput returns the problems of the format of tables and of the file for the page with plots, which is empty if
// nobody asked for a page.
func checkOutput(layout, page string) usage.Problems {
	problems := checkFormat(layout, "text", "json", "markdown")
	if page == "" {
		return problems
	}
	place := usage.FlagPlace("plot", page)
	if filepath.Ext(page) != ".html" {
		problems.Add(place, "not a page", "want a file that ends with .html")
		return problems
	}
	_, err := os.Stat(filepath.Dir(page))
	if err != nil {
		problems.Add(place, err.Error(), "want a file that can be written")
	}
	return problems
}
