package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/plot"
)

// On a page, the columns of a comparison, and up to how many comparisons verdicts stand
// above the charts: those of a ladder would hide them.
const (
	detailsWidth = 100
	mostVerdicts = 3
)

// Page is charts of d with what d tells: verdicts, an overview of its summaries, its
// comparisons, warnings, and what made it.
func Page(title string, d Document, charts []plot.Chart) plot.Page {
	page := plot.Page{Title: title, Charts: charts, Warnings: slices.Clone(d.Warnings), Settings: made(d)}
	for _, s := range d.Summaries {
		for _, w := range append(bucketNotes(s), s.Warnings...) {
			page.Warnings = append(page.Warnings, headline(s)+": "+w)
		}
	}
	var summary, details strings.Builder // whose writes never fail
	if len(d.Summaries) > 0 {
		_ = WriteOverview(&summary, d.Summaries)
	}
	for i, c := range d.Comparisons {
		if i > 0 {
			details.WriteString("\n")
		}
		_ = WriteComparison(&details, c, detailsWidth)
		a, b := c.A, c.B
		if len(a)+len(b) > detailsWidth/2 {
			page.Verdicts = append(page.Verdicts, "A: "+a, "B: "+b)
			a, b = "A", "B"
		}
		for _, l := range c.Lines {
			page.Verdicts = append(page.Verdicts, l.Metric+": "+Verdict(l, a, b))
		}
	}
	if len(d.Comparisons) > mostVerdicts {
		page.Verdicts = nil
	}
	page.Summary, page.Details = summary.String(), details.String()
	return page
}

// made says what made a document: source, version, time, servers and settings.
func made(d Document) []string {
	list := []string{fmt.Sprintf("%s, prober %s, from %s", d.Source, cmp.Or(d.Version, "unknown"), d.Started.UTC().Format("2006-01-02 15:04:05 UTC"))}
	for _, s := range d.Summaries {
		if text := fmt.Sprintf("%s: %s, model %s", s.Target, s.URL, s.Model); s.URL != "" && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.Settings)) {
		list = append(list, name+": "+d.Settings[name])
	}
	return list
}

// most is how many points a series has at most: half as many as a chart is wide.
const most = 500

// cumulated are the points of a distribution: at each value the share of those that are
// not above it. Of many, it keeps even steps of the share.
func cumulated(values []float64) []plot.Point {
	sorted := slices.Sorted(slices.Values(values))
	var points []plot.Point
	for i := range min(len(sorted), most) {
		if len(sorted) > most {
			i = i * (len(sorted) - 1) / (most - 1)
		}
		points = append(points, plot.Point{X: sorted[i], Y: float64(i+1) / float64(len(sorted))})
	}
	return points
}

// thin keeps of points in the order of X the lowest and the highest of equal numbers in
// a row: what stands out stays.
func thin(points []plot.Point) []plot.Point {
	if len(points) <= most {
		return points
	}
	var kept []plot.Point
	for i := range most / 2 {
		row := points[i*len(points)/(most/2) : (i+1)*len(points)/(most/2)]
		low, high := 0, 0
		for j, p := range row {
			if p.Y < row[low].Y {
				low = j
			}
			if p.Y > row[high].Y {
				high = j
			}
		}
		kept = append(kept, row[min(low, high)])
		if low != high {
			kept = append(kept, row[max(low, high)])
		}
	}
	return kept
}
