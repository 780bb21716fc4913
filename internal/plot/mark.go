package plot

import (
	"fmt"
	"html"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

// The grids on which points are thinned out, in units of the drawing: a line to what a
// pixel of a sharp screen shows, dots to a part of their own size, and what can be
// pointed at to the size of a pointer.
const (
	lineCell      = 0.5
	dotCell       = 1
	manyMarksCell = 2
	pointCell     = 8
)

// markSize is how far a mark reaches from its middle.
const markSize = 2.8

// From so many marks on, those of a series are small, and on a wider grid.
const manyMarks = 400

// markOf is the shape of a dot as a path from its middle, r from there to its edge; a
// class of the style sheet says how it is painted. (A line of no length with round or
// square ends is the shortest way to a dot; .01, since some browsers leave out what
// is 0.)
func markOf(shape int, r float64) string {
	n := func(v float64) string { return coordinate(v * r) }
	switch shape {
	case 1: // a triangle
		return "m0 " + n(-1.2) + "l" + n(1.1) + " " + n(2) + "h" + n(-2.2) + "z"
	case 3: // a plus
		return "m" + n(-1.1) + " 0h" + n(2.2) + "m" + n(-1.1) + " " + n(-1.1) + "v" + n(2.2)
	case 4: // a diamond
		return "m0 " + n(-1.3) + "l" + n(1.1) + " " + n(1.3) + " " + n(-1.1) + " " + n(1.3) + " " + n(-1.1) + " " + n(-1.3) + "z"
	case 5: // a cross
		return "m" + n(-0.9) + " " + n(-0.9) + "l" + n(1.8) + " " + n(1.8) + "m0 " + n(-1.8) + "l" + n(-1.8) + " " + n(1.8)
	case 6: // a triangle on its tip
		return "m0 " + n(1.2) + "l" + n(1.1) + " " + n(-2) + "h" + n(-2.2) + "z"
	case 7: // a bar
		return "m" + n(-1.1) + " 0h" + n(2.2)
	}
	return "h.01" // a circle, a square
}

// paint draws the spots of a series.
func (s plotted) paint() string {
	if len(s.spots) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<g class="%s">`, s.look.class())
	if path := s.line(); path != "" {
		fmt.Fprintf(&b, `<path class="line" d="%s"/>`, path)
	}
	if path, class := s.dots(); path != "" {
		fmt.Fprintf(&b, `<path class="%s" d="%s"/>`, class, path)
	}
	b.WriteString("</g>\n")
	return b.String()
}

// joined reports whether the style joins spots.
func (s plotted) joined() bool { return s.Style == Line || s.Style == Both || s.Style == Step }

// dotted reports whether spots have marks: one that has nothing to be joined with does
// in any style.
func (s plotted) dotted() bool {
	return s.Style != Line && s.Style != Step || len(s.spots) == 1
}

// line is the path that joins the spots; empty where the style does not.
func (s plotted) line() string {
	if !s.joined() || len(s.spots) < 2 {
		return ""
	}
	var b strings.Builder
	for i, p := range thinLine(s.spots, lineCell) {
		switch {
		case i == 0:
			b.WriteString("M" + place(p.x, p.y))
		case s.Style == Step:
			b.WriteString("H" + coordinate(p.x) + "V" + coordinate(p.y))
		default:
			b.WriteString("L" + place(p.x, p.y))
		}
	}
	return b.String()
}

// dots is the path of the marks, and its classes; empty where the style has none.
func (s plotted) dots() (path, class string) {
	if !s.dotted() {
		return "", ""
	}
	spots, class, r := thinDots(s.spots, dotCell), "dots", markSize
	if len(spots) > manyMarks {
		spots, class, r = thinDots(s.spots, manyMarksCell), "dots small", markSize*0.6
	}
	var b strings.Builder
	for _, p := range spots {
		b.WriteString("M" + place(p.x, p.y) + markOf(s.look.shape, r))
	}
	return b.String(), class
}

// points are invisible circles that tell what is below them.
func (s plotted) points(x, y Unit) string {
	var b strings.Builder
	for _, p := range thinDots(s.spots, pointCell) {
		fmt.Fprintf(&b, `<circle cx="%s" cy="%s" r="4.5"><title>%s</title></circle>`+"\n",
			coordinate(p.x), coordinate(p.y), html.EscapeString(s.words(s.Points[p.index], x, y)))
	}
	return b.String()
}

// words tell a point. They are clean.
func (s plotted) words(p Point, x, y Unit) string {
	label := format.Clean(p.Label)
	if label == "" {
		label = value(x, p.X) + ", " + value(y, p.Y)
	}
	return cut(s.called(), 1, 40) + ": " + label
}

// called is the clean name of a series.
func (s plotted) called() string {
	if name := format.Clean(s.Name); name != "" {
		return name
	}
	return "unnamed"
}

// place is a pair of coordinates.
func place(x, y float64) string { return coordinate(x) + " " + coordinate(y) }

// coordinate has at most one digit after the point.
func coordinate(v float64) string {
	text := strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	if text == "-0" {
		return "0"
	}
	return text
}
