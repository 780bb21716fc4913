package plot

import (
	"html/template"
	"slices"
	"strings"

	"github.com/go-analyze/charts/chartdraw"
	"github.com/go-analyze/charts/chartdraw/drawing"
)

// The measures of a chart, in half pixels, because the library has whole numbers only. Colours are in the style sheet.
const (
	chartWidth  = 960
	chartHeight = 500
	fontSize    = 26
)

// A picture is a chart as SVG without its end tag, and where in it the points are that have a label.
type picture struct {
	SVG   template.HTML
	Spots []Point // X and Y are places in the SVG
}

// draw draws c. classesOf returns the classes of a series in the style sheet. A chart without points has no SVG.
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
	// The library calls this when it has decided where the axes are.
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

// curves returns the series of c that have points with a place on its axes, and those of these points that have a
// label.
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
	const maxDots = 50 // of more points of a line, dots would hide it
	curve := chartdraw.ContinuousSeries{YAxis: chartdraw.YAxisSecondary}
	add := func(x, y float64) {
		curve.XValues = append(curve.XValues, x)
		curve.YValues = append(curve.YValues, y)
	}
	height := 0.0 // of the step before
	for _, p := range s.Points {
		if s.Style == Step {
			add(p.X, height)
			height = p.Y
		}
		add(p.X, p.Y)
	}
	curve.Style = chartdraw.Style{ClassName: classes, StrokeWidth: 1, DotWidth: 6}
	several, crowded := len(s.Points) > 1, len(s.Points) > maxDots
	if s.Style == Step || s.Style == Dashed && several || s.Style == Line && crowded {
		curve.Style.DotWidth = 0
	}
	if !slices.Contains([]Style{Line, Dashed, Step}, s.Style) {
		curve.Style.StrokeWidth = chartdraw.Disabled
	}
	return curve
}
