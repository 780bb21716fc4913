package main

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/llm-prober/prober/internal/usage"
)

// checkOutput returns the problems of the format of tables and of the file for the page with plots. An empty picture is
// no problem: there is no page then.
func checkOutput(layout, picture string) (problems usage.Problems) {
	wrong := func(flag, value, text, hint string) { problems.Add(usage.FlagPlace(flag, value), text, hint) }
	if !slices.Contains([]string{"text", "json", "markdown"}, layout) {
		wrong("format", layout, "unknown", "want text, json or markdown")
	}
	if picture == "" {
		return problems
	}
	if filepath.Ext(picture) != ".html" {
		wrong("plot", picture, "not a page", "want a file that ends with .html")
		return problems
	}
	if _, err := os.Stat(filepath.Dir(picture)); err != nil {
		wrong("plot", picture, err.Error(), "want a file that can be written")
	}
	return problems
}
