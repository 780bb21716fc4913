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
		parts = append(parts, "## Requests\n", overview(d.Summaries).markdown())
	}
	for _, s := range d.Summaries {
		parts = append(parts, codeBlock(Block(s)))
	}
	for _, c := range d.Comparisons {
		parts = append(parts, c.markdown()...)
	}
	if len(d.Warnings) > 0 {
		parts = append(parts, "## Warnings\n", bullets(d.Warnings))
	}
	return strings.TrimPrefix(strings.Join(nonEmpty(parts...), "\n"), "\n")
}

// markdown returns the parts of c in Markdown: a heading, the table, verdicts, what they mean, and warnings.
func (c Comparison) markdown() []string {
	heading := nonEmpty(inline(c.B)+" against "+inline(c.A), inline(c.Load))
	parts := []string{"## " + strings.Join(heading, ", ") + "\n"}
	if len(c.Lines) > 0 {
		explanation := inline(strings.Join(c.explanation(c.A, c.B), " ")) + "\n"
		parts = append(parts, comparisonTable(c, c.A, c.B).markdown(), bullets(verdictLines(c)), explanation)
	}
	return append(parts, bullets(c.Warnings))
}

// codeBlock indents text, so that Markdown leaves it as it is.
func codeBlock(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n"
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
