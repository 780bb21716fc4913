package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/plot"
)

// CheckOutput finds what is wrong with the format of tables, which is text, json
// or markdown, and with the page with plots, if there is one. It leaves no file where
// there was none.
func CheckOutput(format, picture string) (problems config.Problems) {
	if !slices.Contains([]string{"text", "json", "markdown"}, format) {
		problems = append(problems, config.Problem{Place: config.FlagPlace("format", format), Text: "unknown", Hint: "want text, json or markdown"})
	}
	if picture == "" {
		return problems
	}
	problem := config.Problem{Place: config.FlagPlace("plot", picture)}
	if filepath.Ext(picture) != ".html" {
		problem.Text, problem.Hint = "not a page", "want a file that ends with .html"
		return append(problems, problem)
	}
	_, missing := os.Lstat(picture)
	f, err := os.OpenFile(picture, os.O_WRONLY|os.O_CREATE, 0o666) //nolint:gosec // the file that the user wants
	if err != nil {
		problem.Text, problem.Hint = err.Error(), "want a file that can be written"
		return append(problems, problem)
	}
	_ = f.Close()
	if errors.Is(missing, fs.ErrNotExist) {
		_ = os.Remove(picture)
	}
	return problems
}

// WriteAs writes d in a format other than text.
func WriteAs(w io.Writer, format string, d Document) error {
	if format == "json" {
		return WriteJSON(w, d)
	}
	return WriteMarkdown(w, d)
}

// Draw writes a page to a file.
func Draw(path string, page plot.Page) error {
	f, err := os.Create(path) //nolint:gosec // the file that the user wants
	if err != nil {
		return fmt.Errorf("write the plot: %w", err)
	}
	if err := errors.Join(plot.HTML(f, page), f.Close()); err != nil {
		return fmt.Errorf("write the plot: %w", err)
	}
	return nil
}
