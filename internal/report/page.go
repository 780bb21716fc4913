package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/plot"
)

//go:embed page.html
var pageTemplate string

// A page is what page.html writes: one HTML document, which loads nothing from elsewhere.
type page struct {
	Title      string
	Verdicts   []string      // what a comparison found, in sentences
	Summary    string        // a table of fixed width, as a terminal shows it
	Charts     template.HTML // sections
	ChartStyle template.CSS
	Details    string // further tables
	Warnings   []string
	Settings   []string // what made the page: versions, times, settings
}

// WritePageFile writes d and charts as one HTML document to a file.
func WritePageFile(path, title string, d Document, charts []plot.Chart) error {
	f, err := os.Create(path) //nolint:gosec // the file that the user wants
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	err = writePage(f, title, d, charts)
	closeErr := f.Close()
	err = cmp.Or(err, closeErr)
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

func writePage(w io.Writer, title string, d Document, charts []plot.Chart) error {
	p := pageOf(title, d)
	var err error
	p.Charts, err = plot.Figures(charts)
	if err != nil {
		return err //nolint:wrapcheck // says what it is
	}
	p.ChartStyle = plot.StyleSheet()
	html, err := template.New("page").Funcs(template.FuncMap{"clean": format.Clean}).Parse(pageTemplate)
	if err != nil {
		return err //nolint:wrapcheck // the caller says what it writes
	}
	return html.Execute(w, p) //nolint:wrapcheck // the caller says what it writes
}

// pageOf returns the texts of a page: verdicts, an overview, comparisons, warnings, and what made d.
func pageOf(title string, d Document) page {
	const maxComparisons = 3 // of more, the verdicts stand in the details only
	p := page{Title: title, Warnings: d.allWarnings(), Settings: pageSettings(d)}
	if len(d.Summaries) > 0 {
		p.Summary = Overview(d.Summaries)
	}
	var details []string
	for _, c := range d.Comparisons {
		const width = 100 // columns
		details = append(details, c.Text(width))
		if len(d.Comparisons) <= maxComparisons {
			p.Verdicts = append(p.Verdicts, verdictLines(c)...)
		}
	}
	p.Details = strings.Join(details, "\n")
	return p
}

// pageSettings returns lines about what made d: the prober, the targets and the settings.
func pageSettings(d Document) []string {
	started := d.Started.UTC().Format("2006-01-02 15:04:05 UTC")
	list := []string{fmt.Sprintf("%s, prober %s, from %s", d.Source, cmp.Or(d.Version, "unknown"), started)}
	for _, s := range d.Summaries {
		target := fmt.Sprintf("%s: %s, model %s", s.Target, s.URL, s.Model)
		if s.URL != "" && !slices.Contains(list, target) {
			list = append(list, target)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Settings)) {
		list = append(list, name+": "+d.Settings[name])
	}
	return list
}
