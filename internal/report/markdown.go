package report

import (
	"io"
	"strings"
	"time"
)

// WriteMarkdown writes d as GitHub's Markdown: an overview, a block of each summary, and
// comparisons. The error is that of w.
func WriteMarkdown(w io.Writer, d Document) error {
	words := known(inline(d.Source))
	if !d.Started.IsZero() {
		words = append(words, d.Started.UTC().Format(time.RFC3339))
	}
	parts := []string{strings.Join(words, ", ") + "\n"}
	if len(d.Summaries) > 0 {
		parts = append(parts, "## Requests\n", overview(d.Summaries).markdown())
	}
	for _, s := range d.Summaries {
		var block strings.Builder
		_ = WriteBlock(&block, s) // a builder never fails
		parts = append(parts, "    "+strings.ReplaceAll(strings.TrimSpace(block.String()), "\n", "\n    ")+"\n")
	}
	for _, c := range d.Comparisons {
		parts = append(parts, "## "+strings.Join(known(inline(c.A)+" − "+inline(c.B), inline(c.Load)), ", ")+"\n")
		if len(c.Lines) > 0 {
			var verdicts []string
			for _, l := range c.Lines {
				verdicts = append(verdicts, l.Metric+": "+Verdict(l, c.A, c.B))
			}
			parts = append(parts, comparisonTable(c, c.A, c.B).markdown(), bullets(verdicts), inline(strings.Join(meaning(c, c.A, c.B), " "))+"\n")
		}
		parts = append(parts, bullets(allWarnings(c)))
	}
	if len(d.Warnings) > 0 {
		parts = append(parts, "## Warnings\n", bullets(d.Warnings))
	}
	return write(w, strings.TrimPrefix(strings.Join(known(parts...), "\n"), "\n"))
}

func bullets(texts []string) string {
	var list strings.Builder
	for _, text := range texts {
		list.WriteString("- " + inline(text) + "\n")
	}
	return list.String()
}
