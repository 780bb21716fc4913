package report

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/llm-prober/prober/internal/plot"
)

// Formats are those of a document: text is for reading while it runs, the others are
// written by [WriteAs].
func Formats() []string { return []string{"text", "json", "csv", "markdown"} }

// WriteAs writes d in a format other than text.
func WriteAs(w io.Writer, format string, d Document) error {
	switch format {
	case "json":
		return WriteJSON(w, d)
	case "csv":
		return WriteCSV(w, d)
	}
	return WriteMarkdown(w, d)
}

// ErrPicture is returned for a file whose name is not that of a picture.
var ErrPicture = errors.New("unknown kind of picture; want a file that ends with .svg or .html")

// CheckPicture finds out, before anything is measured, whether a picture can be
// written to a file. It leaves no file where there was none.
func CheckPicture(path string) error {
	if end := filepath.Ext(path); end != ".svg" && end != ".html" {
		return ErrPicture
	}
	_, missing := os.Lstat(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o666) //nolint:gosec // the file that the user wants
	if err != nil {
		return fmt.Errorf("%w; want a file that can be written", err)
	}
	if errors.Is(missing, fs.ErrNotExist) {
		defer func() { _ = os.Remove(path) }()
	}
	return f.Close()
}

// Draw writes a page to a file, in the format of its name.
func Draw(path string, page plot.Page) error {
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

// Notes are the warnings that stand above a picture of d.
func Notes(d Document) []string {
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
