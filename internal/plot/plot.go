// Package plot draws series of points as charts, and writes them with tables and texts as one HTML page that loads
// nothing from elsewhere.
//
// What comes in is a [Page]: charts of series of points, and texts. What goes out is HTML with an SVG for each chart.
// Texts may hold anything: they are escaped, and control characters are left out. The package knows no probes:
// internal/report decides what is drawn.
//
// Start with [HTML] and page.html, its template. chart.go draws one chart with a library. scale.go chooses the ends of
// an axis, ticks.go the values that have a label on it.
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

// A Page is charts, and texts that explain them.
type Page struct {
	Title    string
	Verdicts []string // what a comparison found, in sentences
	Summary  string   // a table of fixed width, as a terminal shows it
	Charts   []Chart
	Details  string // further tables
	Warnings []string
	Settings []string // what made the page: versions, times, settings
}

// A Chart shows series on common axes. If there are several, a legend names them.
type Chart struct {
	Title  string
	X, Y   Axis
	Series []Series
}

// An Axis says what one direction of a chart shows.
type Axis struct {
	Label  string // without the unit
	Unit   Unit
	Log    bool // logarithmic, without the points that are not above zero
	Values bool // its ticks are the values of the points, not round numbers
}

// A Unit is the unit of the numbers of an axis.
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
	Name   string // in the legend; if empty, Target stands there
	Style  Style
	Points []Point
}

// A Style is how points are drawn. A single point is always a dot, except with Step.
type Style string

// The styles.
const (
	Dots   Style = "dots"   // also the zero value
	Hollow Style = "hollow" // dots that are rings
	Line   Style = "line"   // joined in their order; each has a dot if they are few
	Dashed Style = "dashed" // joined without dots
	Step   Style = "step"   // joined by steps from 0, on a linear Y axis: for distributions
)

// A Point is one value. A browser shows its label when the mouse is over it.
type Point struct {
	X, Y  float64
	Label string
}

//go:embed page.html
var pageTemplate string

// HTML writes a page as one HTML document.
func HTML(w io.Writer, p Page) error {
	classes := &seriesClasses{}
	draw := func(c Chart) (picture, error) { return c.draw(classes.assign) }
	funcs := template.FuncMap{"clean": format.Clean, "classes": classes.assign, "draw": draw}
	page := template.Must(template.New("page").Funcs(funcs).Parse(pageTemplate))
	return page.Execute(w, p) //nolint:wrapcheck // the caller says what it writes
}

// seriesClasses assigns classes of the style sheet to series: a colour for each target.
type seriesClasses struct {
	targets []string // that have a colour, in the order of their colours
}

// assign returns the classes of a series. A target that is new gets the next colour. The style sheet has eight; after
// these they come again, with other dashes.
func (c *seriesClasses) assign(s Series) string {
	const colours, dashes = 8, 3
	n := slices.Index(c.targets, s.Target)
	if n < 0 {
		n = len(c.targets)
		c.targets = append(c.targets, s.Target)
	}
	return fmt.Sprintf("c%d again%d %s", n%colours, n/colours%dashes, cmp.Or(s.Style, Dots))
}
