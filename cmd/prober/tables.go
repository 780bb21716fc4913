package main

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
	"github.com/llm-prober/prober/internal/report"
)

// What bench and report have in common: tables in a format, and a picture.

// place is a flag and its value, as problems name them.
func place(flag string, value any) string { return fmt.Sprintf("--%s=\"%v\"", flag, value) }

// judgeFormat finds what is wrong with the format of tables.
func judgeFormat(format string) config.Problems {
	if slices.Contains([]string{"text", "json", "csv", "markdown"}, format) {
		return nil
	}
	return config.Problems{{Place: place("format", format), Text: "unknown", Hint: "want text, json, csv or markdown"}}
}

// judgePlot finds out, before anything is measured, whether its picture can be
// written. It leaves no file where there was none.
func judgePlot(path string) config.Problems {
	if path == "" {
		return nil
	}
	problem := config.Problem{Place: place("plot", path)}
	if end := filepath.Ext(path); end != ".svg" && end != ".html" {
		problem.Text, problem.Hint = "unknown kind of picture", "want a file that ends with .svg or .html"
		return config.Problems{problem}
	}
	_, err := os.Lstat(path)
	anew := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666) //nolint:gosec // the file that the user wants
	if err != nil {
		problem.Text, problem.Hint = err.Error(), "want a file that can be written"
		return config.Problems{problem}
	}
	_ = f.Close()
	if anew {
		_ = os.Remove(path)
	}
	return nil
}

// writeDocument writes d in a format but text, of which it writes nothing.
func writeDocument(w io.Writer, format string, d report.Document) error {
	switch format {
	case "json":
		return report.WriteJSON(w, d)
	case "csv":
		return report.WriteCSV(w, d)
	case "markdown":
		return report.WriteMarkdown(w, d)
	}
	return nil
}

// drawTo writes a page to a file, in the format of its name.
func drawTo(path string, page plot.Page) error {
	f, err := os.Create(path) //nolint:gosec // the file that the user wants
	if err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	draw := plot.SVG
	if filepath.Ext(path) == ".html" {
		draw = plot.HTML
	}
	if err := errors.Join(draw(f, page), f.Close()); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}

// mostNotes is how many warnings stand above a picture.
const mostNotes = 6

// notesOf are the warnings that stand above a picture of d.
func notesOf(d report.Document) []string {
	notes := slices.Clone(d.Warnings)
	for _, s := range d.Summaries {
		name := s.Target
		if s.Load != "" {
			name += ", " + s.Load
		}
		for _, w := range s.Warnings {
			notes = append(notes, name+": "+w)
		}
	}
	if len(notes) > mostNotes {
		more := len(notes) - mostNotes + 1
		notes = append(notes[:mostNotes-1], fmt.Sprintf("and %d more warnings, which stand below the blocks", more))
	}
	return notes
}
