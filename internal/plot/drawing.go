package plot

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// The measures of an SVG in its own units. charts.html gives it a viewBox of 480 by 250 units, which a browser scales
// to the width of the section.
const (
	svgHeight = 250.0
	plotTop   = 28.0  // of the area between the axes; the title of the Y axis stands above it
	plotRight = 470.0 // so that half of the last label fits beside it
	plotFoot  = 208.0 // the ticks and the title of the X axis stand below it
	charWidth = 8.0   // of a digit in the largest font of the style sheet
)

// A drawing is a chart as charts.html writes it. All coordinates are those of the SVG.
type drawing struct {
	Title  string
	Legend []legendEntry // nil for a single series
	Grid   string        // path of the lines at all ticks
	Axes   string        // path of both axes and their tick marks
	Texts  []text        // titles and ticks of the axes
	Curves []curve       // nil if no point has a place on the axes
	Spots  []spot        // the points that have a label
}

// A legendEntry names a series.
type legendEntry struct{ Classes, Name string }

// A text stands at a place. Anchor says which part of it is at X, as SVG names that: start, middle or end.
type text struct {
	X, Y   float64
	Anchor string
	Words  string
}

// A curve is a series: a line, dots or both.
type curve struct {
	Classes string
	Line    string // path; empty for dots alone
	Dots    []spot
}

// A spot is the place of a point.
type spot struct {
	X, Y  float64
	Label string
}

// draw returns the drawing of c. It leaves out points that have no place on the axes, and series that have no others.
func draw(c Chart, targets *targetColours) drawing {
	d := drawing{Title: c.Title}
	var drawn []Series
	var xs, ys []float64
	for _, s := range c.Series {
		classes := targets.classesOf(s)
		if len(c.Series) > 1 {
			d.Legend = append(d.Legend, legendEntry{classes, cmp.Or(s.Name, s.Target)})
		}
		var points []Point
		for _, p := range s.Points {
			if c.X.hasPlace(p.X) && c.Y.hasPlace(p.Y) {
				points = append(points, p)
				xs = append(xs, p.X)
				ys = append(ys, p.Y)
			}
		}
		if points != nil {
			s.Points = points
			drawn = append(drawn, s)
		}
	}
	if drawn == nil {
		return d
	}
	a := area{x: newScale(c.X, xs), y: newScale(c.Y, ys)}
	a.left = leftOf(a.y.ticks())
	d.drawAxes(a)
	for _, s := range drawn {
		d.Curves = append(d.Curves, a.curveOf(s, targets.classesOf(s)))
		for _, p := range s.Points {
			if p.Label != "" {
				d.Spots = append(d.Spots, a.spotOf(p))
			}
		}
	}
	return d
}

// leftOf returns the left end of the X axis: right of the longest label of the Y axis.
func leftOf(ticks []tick) float64 {
	longest := 0
	for _, t := range ticks {
		longest = max(longest, utf8.RuneCountInString(t.label))
	}
	return 12 + charWidth*float64(longest)
}

// drawAxes adds the axes, their ticks and titles, and the grid.
func (d *drawing) drawAxes(a area) {
	const mark = 4 // length of a tick mark
	var grid, axes strings.Builder
	fmt.Fprintf(&axes, "M%g %gV%gH%g", a.left, plotTop, plotFoot, plotRight)
	for _, t := range a.x.ticks() {
		x := a.xOf(t.value)
		fmt.Fprintf(&grid, "M%g %gV%g", x, plotTop, plotFoot)
		fmt.Fprintf(&axes, "M%g %gv%d", x, plotFoot, mark)
		d.Texts = append(d.Texts, text{X: x, Y: plotFoot + 19, Anchor: "middle", Words: t.label})
	}
	for _, t := range a.y.ticks() {
		y := a.yOf(t.value)
		fmt.Fprintf(&grid, "M%g %gH%g", a.left, y, plotRight)
		fmt.Fprintf(&axes, "M%g %gh-%d", a.left, y, mark)
		// Digits stand on their Y and are 8 or 9 units high: 4 units below the tick, their middle is beside it.
		d.Texts = append(d.Texts, text{X: a.left - 7, Y: y + 4, Anchor: "end", Words: t.label})
	}
	d.Grid = grid.String()
	d.Axes = axes.String()
	d.Texts = append(d.Texts,
		text{X: round((a.left + plotRight) / 2), Y: svgHeight - 4, Anchor: "middle", Words: a.x.title()},
		text{X: 4, Y: 13, Anchor: "start", Words: a.y.title()})
}

// An area is the place between the axes.
type area struct {
	x, y scale
	left float64
}

func (a area) xOf(v float64) float64 { return round(a.left + a.x.position(v)*(plotRight-a.left)) }

func (a area) yOf(v float64) float64 { return round(plotFoot - a.y.position(v)*(plotFoot-plotTop)) }

func (a area) spotOf(p Point) spot { return spot{X: a.xOf(p.X), Y: a.yOf(p.Y), Label: p.Label} }

// round returns a coordinate with one decimal, a tenth of a pixel or so.
func round(v float64) float64 { return math.Round(v*10) / 10 }

// curveOf returns how a series, which has points, is drawn.
func (a area) curveOf(s Series, classes string) curve {
	const maxDots = 50 // more of them would hide a line
	c := curve{Classes: classes}
	var line strings.Builder
	hasLine := s.Style == Line || s.Style == Dashed || s.Style == Step
	hasDots := true
	switch s.Style {
	case Line:
		hasDots = len(s.Points) <= maxDots
	case Dashed:
		hasDots = len(s.Points) == 1
	case Step:
		hasDots = false
		fmt.Fprintf(&line, "M%g %g", a.xOf(s.Points[0].X), plotFoot)
	}
	for i, p := range s.Points {
		at := a.spotOf(p)
		switch {
		case s.Style == Step:
			fmt.Fprintf(&line, "H%gV%g", at.X, at.Y)
		case i == 0:
			fmt.Fprintf(&line, "M%g %g", at.X, at.Y)
		default:
			fmt.Fprintf(&line, "L%g %g", at.X, at.Y)
		}
		if hasDots {
			c.Dots = append(c.Dots, at)
		}
	}
	if hasLine {
		c.Line = line.String()
	}
	return c
}
