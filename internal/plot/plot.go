// Package plot draws series of points as charts, and writes them with tables and texts as one HTML page without anything from
// outside. Any text may be in a page: it is escaped, and what does not print is left out.
package plot

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/llm-prober/prober/internal/format"
)

// A Page is charts and what belongs to them.
type Page struct {
	Title    string
	Verdicts []string // what a comparison found, in sentences
	Summary  string   // a table of fixed width, as a terminal shows it
	Charts   []Chart
	Details  string // further tables
	Warnings []string
	Settings []string // what made the page: versions, times, settings
}

// A Chart is series on common axes. A legend names them where there are several.
type Chart struct {
	Title  string
	X, Y   Axis
	Series []Series
}

// An Axis is what a direction of a chart means.
type Axis struct {
	Label  string // the unit is added to it
	Unit   Unit
	Log    bool // leaves out what is not above zero
	Values bool // the ticks are the values of the points
}

// A Unit is what the numbers of an axis are.
type Unit string

// The units. The zero value is numbers.
const (
	Second Unit = "s"     // ticks in µs, ms or s; logarithmic also where most values would stand in a line
	Share  Unit = "share" // between 0 and 1; ticks in per cent, always from 0 to 100
	Time   Unit = "UTC"   // seconds since 1970
)

// A Series is points of one style. Those of one target have the same colour in all charts.
type Series struct {
	Target string
	Name   string // in the legend; empty: that of the target
	Style  Style
	Points []Point
}

// A Style is how points are drawn. One point alone is always a dot, but in a distribution.
type Style string

// The styles.
const (
	Dots   Style = "dots"   // also the zero value
	Hollow Style = "hollow" // dots that are rings
	Line   Style = "line"   // joined in their order, with a dot each if they are few
	Dashed Style = "dashed" // joined without dots
	Step   Style = "step"   // joined by steps from 0, on a linear Y axis: distributions
)

// A Point is one value. Label says in words what it is, for who points at it.
type Point struct {
	X, Y  float64
	Label string
}

//go:embed page.html
var pageText string

// HTML draws a page as one HTML document. The looks of series are classes of the style sheet: a colour for each target. After
// eight the colours come again, with other dashes.
func HTML(w io.Writer, p Page) error {
	var targets []string
	look := func(s Series) string {
		n := slices.Index(targets, s.Target)
		if n < 0 {
			n, targets = len(targets), append(targets, s.Target)
		}
		return fmt.Sprintf("c%d again%d %s", n%8, n/8%3, cmp.Or(s.Style, Dots))
	}
	draw := func(c Chart) (picture, error) { return c.draw(look) }
	funcs := template.FuncMap{"clean": format.Clean, "look": look, "draw": draw}
	page := template.Must(template.New("page").Funcs(funcs).Parse(pageText))
	if err := page.Execute(w, p); err != nil {
		return fmt.Errorf("write HTML: %w", err)
	}
	return nil
}
