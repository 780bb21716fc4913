// Package plot draws series of points as charts: figures of HTML, each with an SVG of its own.
//
// What comes in are [Chart] values, whose texts may hold anything: they are escaped, and control characters are left
// out. What goes out is a piece of a page, by [Figures], and the style sheet that the page needs, [StyleSheet]. They
// load nothing from elsewhere, and suit light and dark. The package knows no probes: internal/report decides what is
// drawn.
//
// scale.go chooses the ends of an axis and its ticks. drawing.go turns a chart into the coordinates that charts.html
// writes.
package plot

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

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
	Second Unit = "s"     // ticks in µs, ms or s; the axis becomes logarithmic if its values have a long tail
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
	Step   Style = "step"   // joined by steps that begin at the X axis: for distributions
)

// A Point is one value. A browser shows its label when the mouse is over it.
type Point struct {
	X, Y  float64
	Label string
}

//go:embed charts.html
var figuresTemplate string

//go:embed charts.css
var styleSheet string

// Figures returns charts as HTML: a section for each, with its title, its legend and its SVG.
func Figures(charts []Chart) (template.HTML, error) {
	var drawings []drawing
	var targets targetColours
	for _, c := range charts {
		drawings = append(drawings, draw(c, &targets))
	}
	figures, err := template.New("charts").Funcs(template.FuncMap{"clean": format.Clean}).Parse(figuresTemplate)
	if err != nil {
		return "", fmt.Errorf("draw charts: %w", err)
	}
	var html strings.Builder
	err = figures.Execute(&html, drawings)
	if err != nil {
		return "", fmt.Errorf("draw charts: %w", err)
	}
	return template.HTML(html.String()), nil //nolint:gosec // the template has escaped all texts
}

// StyleSheet returns the style sheet of [Figures]. It uses the custom properties --ink (text), --dim (axes and their
// text) and --edge (grid) of the page.
func StyleSheet() template.CSS { return template.CSS(styleSheet) } //nolint:gosec // our own file

// targetColours are the targets that have a colour, in the order of their colours.
type targetColours []string

// classesOf returns the classes of a series in the style sheet. A new target gets the next colour. The style sheet has
// eight; after these they come again, with other dashes.
func (c *targetColours) classesOf(s Series) string {
	const colours, dashes = 8, 3
	n := slices.Index(*c, s.Target)
	if n < 0 {
		n = len(*c)
		*c = append(*c, s.Target)
	}
	return fmt.Sprintf("c%d again%d %s", n%colours, n/colours%dashes, cmp.Or(s.Style, Dots))
}
