package report

import (
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
)

// markdown returns d in Markdown, for an issue or a pull request.
func (d Document) markdown() string {
	source := nonEmpty(inline(d.Source))
	if !d.Started.IsZero() {
		source = append(source, d.Started.UTC().Format(time.RFC3339))
	}
	parts := []string{strings.Join(source, ", ") + "\n"}
	if len(d.Summaries) > 0 {
		overview := stepsTable(d.Summaries)
		if isStored(d.Summaries) {
			overview = targetsTable(d.Summaries)
		}
		parts = append(parts, "## Requests\n", overview.markdown())
		latencies := latenciesTable(d.Summaries)
		if len(latencies.rows) > 1 {
			parts = append(parts, "## Latencies\n", latencies.markdown())
		}
	}
	for _, c := range d.Comparisons {
		parts = append(parts, c.markdown()...)
	}
	var objectives, budgets []string
	for _, s := range d.Summaries {
		for _, a := range s.Objectives {
			objectives = append(objectives, s.Attained(a))
		}
		for _, b := range s.Budgets {
			budgets = append(budgets, headline(s)+": "+strings.Join(b.lines(), "; "))
		}
	}
	if objectives != nil {
		parts = append(parts, "## Objectives\n", bullets(objectives))
	}
	if budgets != nil {
		parts = append(parts, "## Error budgets\n", bullets(budgets))
	}
	warnings := d.allWarnings()
	if len(warnings) > 0 {
		parts = append(parts, "## Warnings\n", bullets(warnings))
	}
	return strings.TrimPrefix(strings.Join(nonEmpty(parts...), "\n"), "\n")
}

// bullets returns a list of texts.
func bullets(texts []string) string {
	var list strings.Builder
	for _, text := range texts {
		list.WriteString("- " + inline(text) + "\n")
	}
	return list.String()
}

// inline escapes a text for a table or a line of Markdown.
func inline(s string) string {
	escaper := strings.NewReplacer(
		`\`, `\\`, "|", `\|`, "<", "&lt;", "`", "'", "*", `\*`, "_", `\_`, "[", `\[`,
	)
	return escaper.Replace(format.Clean(s))
}
