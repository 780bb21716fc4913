package report

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/plot"
)

// Page returns charts of d with its verdicts, an overview, its comparisons and warnings, and what made it.
func Page(title string, d Document, charts []plot.Chart) plot.Page {
	const maxComparisons = 3 // of more, the verdicts stand in the details only
	page := plot.Page{Title: title, Charts: charts, Warnings: pageWarnings(d), Settings: pageSettings(d)}
	if len(d.Summaries) > 0 {
		page.Summary = Overview(d.Summaries)
	}
	var details []string
	for _, c := range d.Comparisons {
		const width = 100 // columns
		details = append(details, c.Text(width))
		if len(d.Comparisons) <= maxComparisons {
			page.Verdicts = append(page.Verdicts, verdictLines(c)...)
		}
	}
	page.Details = strings.Join(details, "\n")
	return page
}

// pageWarnings returns the warnings of d, and failures and warnings of each of its summaries.
func pageWarnings(d Document) []string {
	list := slices.Clone(d.Warnings)
	for _, s := range d.Summaries {
		prefix := headline(s) + ": "
		for _, f := range s.shownFailures() {
			list = append(list, prefix+strings.Join(nonEmpty(s.failureText(f), f.Hint), "; "))
		}
		note := bucketNote(s)
		if note != "" {
			list = append(list, prefix+note)
		}
		for _, warning := range s.Warnings {
			list = append(list, prefix+warning)
		}
	}
	return list
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

// Draw writes a page to a file.
func Draw(path string, page plot.Page) error {
	f, err := os.Create(path) //nolint:gosec // the file that the user wants
	if err == nil {
		err = errors.Join(plot.HTML(f, page), f.Close())
	}
	if err != nil {
		return fmt.Errorf("write the plot: %w", err)
	}
	return nil
}
