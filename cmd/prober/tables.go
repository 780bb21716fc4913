package main

import (
	"fmt"
	"slices"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/report"
)

// place is a flag and its value, as problems name them.
func place(flag string, value any) string { return fmt.Sprintf("--%s=\"%v\"", flag, value) }

// checkTables finds what is wrong with the format of tables, and with the file of a
// picture, if there is one.
func checkTables(format, picture string) (problems config.Problems) {
	if !slices.Contains(report.Formats(), format) {
		problems = append(problems, config.Problem{Place: place("format", format), Text: "unknown", Hint: "want text, json, csv or markdown"})
	}
	if picture != "" {
		if err := report.CheckPicture(picture); err != nil {
			problems = append(problems, config.Problem{Place: place("plot", picture), Text: err.Error()})
		}
	}
	return problems
}
