// Package plot draws charts as SVG, or as one HTML page, readable on light and on
// dark ground, without anything from outside. It knows nothing of probes: what it
// draws are series of points.
//
// Any text may be in a page: it is escaped, and what does not print is left out.
// Points that have no place are left out too: what is no number or infinite, what
// is beyond 1e30, and on a logarithmic axis what is not above zero.
package plot

// A Page is charts under one title.
type Page struct {
	Title  string
	Notes  []string // sentences under the title: what was measured, and its warnings
	Charts []Chart
}

// A Chart is series on common axes. A legend names them where there are several;
// a chart without a point says so.
type Chart struct {
	Title  string
	X, Y   Axis
	Series []Series
}

// An Axis is what a direction of a chart means. It reaches from the least to the
// largest value; from 0 where that costs little, and from 0 to 1 for shares.
type Axis struct {
	Label string
	Unit  Unit
	Log   bool // leaves out what is not above zero
}

// A Unit is how the ticks of an axis are written.
type Unit string

// The units. The zero value is Number.
const (
	Number  Unit = "number" // 1,500, 20k, 3M
	Second  Unit = "s"      // ticks in µs, ms, s, min or h
	Percent Unit = "share"  // of values between 0 and 1
)

// A Series is points of one name, colour and shape. Series of equal name have the
// same ones in all charts of a page; eight names are told apart by colour alone,
// and all by colour with dashes or marks.
type Series struct {
	Name   string
	Style  Style
	Points []Point
}

// A Style is how points are drawn.
type Style string

// The styles. The zero value is Dots; one point alone is always a dot.
const (
	Dots Style = "dots"
	Line Style = "line" // joined in their order
	Both Style = "both" // joined, with a dot each
	Step Style = "step" // joined by steps, level and then up or down: distributions
)

// A Point is one value. Label says in words what it is, for who points at it; where
// it is empty, the values are told.
type Point struct {
	X, Y  float64
	Label string
}
