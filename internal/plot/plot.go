// Package plot draws charts as SVG, or as one HTML page, readable on light and on
// dark ground, without anything from outside. It knows nothing of probes: what it
// draws are series of points.
package plot

import "io"

// A Page is charts under one title.
type Page struct {
	Title  string
	Notes  []string // sentences under the title: what was measured, and its warnings
	Charts []Chart
}

// A Chart is series on common axes.
type Chart struct {
	Title  string
	X, Y   Axis
	Series []Series
}

// An Axis is what a direction of a chart means.
type Axis struct {
	Label string
	Unit  Unit
	Log   bool // only where every value is above zero
}

// A Unit is how the ticks of an axis are written.
type Unit string

// The units.
const (
	Number  Unit = "number"
	Second  Unit = "s"     // ticks in µs, ms, s or min
	Percent Unit = "share" // of values between 0 and 1
)

// A Series is points of one name and colour. Series of equal name have the same
// colour in all charts of a page.
type Series struct {
	Name   string
	Style  Style
	Points []Point
}

// A Style is how points are drawn.
type Style string

// The styles.
const (
	Dots Style = "dots"
	Line Style = "line" // joined in their order
	Both Style = "both" // joined, with a dot each
	Step Style = "step" // joined by steps: distributions
)

// A Point is one value. Label says in words what it is, for who points at it; it
// may be empty.
type Point struct {
	X, Y  float64
	Label string
}

// SVG draws a page as one SVG document. The error is that of w.
func SVG(w io.Writer, p Page) error { panic("not yet") }

// HTML draws a page as one HTML document. The error is that of w.
func HTML(w io.Writer, p Page) error { panic("not yet") }
