// Package plot draws series of points as charts, and writes them with tables and texts as one HTML page that loads
// nothing from elsewhere.
//
// What comes in is a [Page]: charts of series of points, and texts. What goes out of [HTML] is the page, with an SVG
// for each chart. Any text may be in a page: it is escaped, and what does not print is left out. The package knows no
// probes: internal/report decides what is drawn.
//
// Start with HTML and page.html, its template. chart.go draws one chart with a library; scale.go decides from where to
// where an axis goes, and ticks.go which values it names.
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

// A Chart is series on common axes. If there are several, a legend names them.
type Chart struct {
	Title  string
	X, Y   Axis
	Series []Series
}

// An Axis is what a direction of a chart means.
type Axis struct {
	Label  string // the unit is added to it
	Unit   Unit
	Log    bool // logarithmic; points that are not above zero are left out
	Values bool // the ticks are the values of the points
}

// A Unit is what the numbers of an axis are.
type Unit string

// The units. The zero value means plain numbers.
const (
	Second Unit = "s"     // ticks in µs, ms or s; the axis may become logarithmic: see scaleOf
	Share  Unit = "share" // between 0 and 1; ticks in per cent, always from 0 to 100
	Time   Unit = "UTC"   // seconds since 1970
)

// A Series is points of one style. The series of one target have the same colour in all charts.
type Series struct {
	Target string
	Name   string // in the legend; empty: that of the target
	Style  Style
	Points []Point
}

// A Style is how points are drawn. A single point is always a dot, except in a distribution.
type Style string

// The styles.
const (
	Dots   Style = "dots"   // also the zero value
	Hollow Style = "hollow" // dots that are rings
	Line   Style = "line"   // joined in their order; each has a dot if they are few
	Dashed Style = "dashed" // joined without dots
	Step   Style = "step"   // joined by steps from 0, on a linear Y axis: for distributions
)

// A Point is one value. Its label is shown when somebody points at it.
type Point struct {
	X, Y  float64
	Label string
}

//go:embed page.html
var pageTemplate string

// HTML writes a page as one HTML document.
func HTML(w io.Writer, p Page) error {
	classes := &seriesClasses{}
	draw := func(c Chart) (picture, error) { return c.draw(classes.of) }
	funcs := template.FuncMap{"clean": format.Clean, "classes": classes.of, "draw": draw}
	page := template.Must(template.New("page").Funcs(funcs).Parse(pageTemplate))
	err := page.Execute(w, p)
	if err != nil {
		return fmt.Errorf("write HTML: %w", err)
	}
	return nil
}

// seriesClasses are the classes of the style sheet for series: a colour for each target.
type seriesClasses struct{ targets []string }

// of returns the classes of a series. The style sheet has eight colours; after these they come again, with other
// dashes.
func (c *seriesClasses) of(s Series) string {
	const colours, dashes = 8, 3
	n := slices.Index(c.targets, s.Target)
	if n < 0 {
		n = len(c.targets)
		c.targets = append(c.targets, s.Target)
	}
	return fmt.Sprintf("c%d again%d %s", n%colours, n/colours%dashes, cmp.Or(s.Style, Dots))
}
