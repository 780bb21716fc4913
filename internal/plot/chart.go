package plot

import (
	"html/template"
	"slices"
	"strings"

	"github.com/go-analyze/charts/chartdraw"
	"github.com/go-analyze/charts/chartdraw/drawing"
)

// The measures of a chart, in half pixels, because the library takes only whole numbers. page.html has the colours.
const (
	chartWidth  = 960
	chartHeight = 500
	fontSize    = 26
)

// A picture is a drawn chart.
type picture struct {
	SVG   template.HTML // without its end tag: the template adds Spots
	Spots []Point       // those with a label; X and Y are their places in the SVG
}

// draw draws c, without an SVG if it has no points. classesOf returns the classes of a series in the style sheet.
func (c Chart) draw(classesOf func(Series) string) (drawn picture, err error) {
	curves, labelled := c.curves(classesOf)
	if curves == nil {
		return drawn, nil
	}
	var xs, ys []float64
	var series []chartdraw.Series
	for _, curve := range curves {
		xs = append(xs, curve.XValues...)
		ys = append(ys, curve.YValues...)
		series = append(series, curve)
	}
	x, y := scaleOf(c.X, xs), scaleOf(c.Y, ys)
	chart := emptyChart(x, y)
	chart.Series = series
	// The library calls this when it has placed the axes.
	titleAndSpots := func(r chartdraw.Renderer, box chartdraw.Box, _ chartdraw.Style) {
		chartdraw.Draw.Text(r, y.title(), 12, fontSize, axisStyle())
		for _, p := range labelled {
			p.X = float64(box.Left + x.Translate(p.X))
			p.Y = float64(box.Bottom - y.Translate(p.Y))
			drawn.Spots = append(drawn.Spots, p)
		}
	}
	chart.Elements = []chartdraw.Renderable{titleAndSpots}
	var text strings.Builder
	err = chart.Render(chartdraw.SVG, &text)
	drawn.SVG = template.HTML(strings.TrimSuffix(text.String(), "</svg>")) //nolint:gosec // escaped
	return drawn, err
}

// curves returns the series of c, without points that have no place on its axes and without series that have no other
// points. It also returns the points that have a label.
func (c Chart) curves(classesOf func(Series) string) (curves []chartdraw.ContinuousSeries, labelled []Point) {
	for _, s := range c.Series {
		var placed []Point
		for _, p := range s.Points {
			if !c.X.hasPlace(p.X) || !c.Y.hasPlace(p.Y) {
				continue
			}
			placed = append(placed, p)
			if p.Label != "" {
				labelled = append(labelled, p)
			}
		}
		if placed != nil {
			s.Points = placed
			curves = append(curves, curveOf(s, classesOf(s)))
		}
	}
	return curves, labelled
}

// emptyChart returns a chart with axes of these scales.
func emptyChart(x, y *scale) chartdraw.Chart {
	padding := chartdraw.Box{Top: 2 * fontSize, Left: 12, Right: 20, Bottom: 12, IsSet: true}
	ground := chartdraw.Style{ClassName: "ground", Padding: padding}
	axis := axisStyle()
	return chartdraw.Chart{
		Width: chartWidth, Height: chartHeight, DPI: 72, Background: ground, Canvas: ground,
		XAxis: chartdraw.XAxis{Name: x.title(), NameStyle: axis, Style: axis, Range: x, GridLines: gridLines(x)},
		// The library has its first Y axis on the right, so ours is the second.
		YAxis:          chartdraw.YAxis{Style: chartdraw.Hidden(), Range: &chartdraw.ContinuousRange{Max: 1}},
		YAxisSecondary: chartdraw.YAxis{Style: axis, Range: y, GridLines: gridLines(y)},
	}
}

// axisStyle returns the style of axes and their titles.
func axisStyle() chartdraw.Style {
	return chartdraw.Style{ClassName: "axis", FontStyle: chartdraw.FontStyle{FontSize: fontSize}}
}

// gridLines returns a line at each tick.
func gridLines(s *scale) (lines []chartdraw.GridLine) {
	style := chartdraw.Style{StrokeColor: drawing.Color{R: 128, G: 128, B: 128, A: 60}, StrokeWidth: 1.5}
	for _, t := range s.GetTicks(nil) {
		lines = append(lines, chartdraw.GridLine{Value: t.Value, Style: style})
	}
	return lines
}

// curveOf returns a series, which has points, as the library draws it.
func curveOf(s Series, classes string) chartdraw.ContinuousSeries {
	curve := chartdraw.ContinuousSeries{YAxis: chartdraw.YAxisSecondary}
	add := func(x, y float64) {
		curve.XValues = append(curve.XValues, x)
		curve.YValues = append(curve.YValues, y)
	}
	height := 0.0 // of the previous step
	for _, p := range s.Points {
		if s.Style == Step {
			add(p.X, height)
			height = p.Y
		}
		add(p.X, p.Y)
	}
	curve.Style = chartdraw.Style{ClassName: classes, StrokeWidth: chartdraw.Disabled}
	if s.hasLine() {
		curve.Style.StrokeWidth = 1
	}
	if s.hasDots() {
		curve.Style.DotWidth = 6
	}
	return curve
}

// hasLine reports whether a line joins the points of s.
func (s Series) hasLine() bool { return slices.Contains([]Style{Line, Dashed, Step}, s.Style) }

// hasDots reports whether each point of s is a dot.
func (s Series) hasDots() bool {
	const maxDots = 50 // more of them would hide a line
	switch s.Style {
	case Step:
		return false
	case Dashed:
		return len(s.Points) == 1
	case Line:
		return len(s.Points) <= maxDots
	}
	return true
}
