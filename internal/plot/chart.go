package plot

import (
	"html/template"
	"slices"
	"strings"

	"github.com/go-analyze/charts/chartdraw"
	"github.com/go-analyze/charts/chartdraw/drawing"
)

// The measures of a chart, in half pixels, because the library knows whole ones only. Colours are in the style sheet.
const (
	chartWidth  = 960
	chartHeight = 500
	fontSize    = 26
	crowd       = 50 // points of a line that hide it
)

// A picture is a chart as SVG without its end, and where in it the points are that have something to say.
type picture struct {
	SVG   template.HTML
	Spots []Point
}

func (c Chart) draw(look func(Series) string) (drawn picture, err error) {
	var labelled []Point
	var xs, ys []float64
	var curves []chartdraw.Series
	for _, s := range c.Series {
		var placed []Point
		for _, p := range s.Points {
			if !c.X.placed(p.X) || !c.Y.placed(p.Y) {
				continue
			}
			placed = append(placed, p)
			if p.Label != "" {
				labelled = append(labelled, p)
			}
		}
		if s.Points = placed; placed != nil {
			d := curveOf(s, look(s))
			curves, xs, ys = append(curves, d), append(xs, d.XValues...), append(ys, d.YValues...)
		}
	}
	if curves == nil {
		return drawn, nil
	}
	x, y := scaleOf(c.X, xs), scaleOf(c.Y, ys)
	axis := chartdraw.Style{ClassName: "axis", FontStyle: chartdraw.FontStyle{FontSize: fontSize}}
	padding := chartdraw.Box{Top: 2 * fontSize, Left: 12, Right: 20, Bottom: 12, IsSet: true}
	ground := chartdraw.Style{ClassName: "ground", Padding: padding}
	chart := chartdraw.Chart{
		Width: chartWidth, Height: chartHeight, DPI: 72, Series: curves, Background: ground, Canvas: ground,
		XAxis: chartdraw.XAxis{Name: x.title(), NameStyle: axis, Style: axis, Range: x, GridLines: grid(x)},
		// The library has its first axis on the right.
		YAxis:          chartdraw.YAxis{Style: chartdraw.Hidden(), Range: &chartdraw.ContinuousRange{Max: 1}},
		YAxisSecondary: chartdraw.YAxis{Style: axis, Range: y, GridLines: grid(y)},
		Elements: []chartdraw.Renderable{func(r chartdraw.Renderer, box chartdraw.Box, _ chartdraw.Style) {
			chartdraw.Draw.Text(r, y.title(), 12, fontSize, axis)
			for _, p := range labelled {
				p.X, p.Y = float64(box.Left+x.Translate(p.X)), float64(box.Bottom-y.Translate(p.Y))
				drawn.Spots = append(drawn.Spots, p)
			}
		}},
	}
	var text strings.Builder
	err = chart.Render(chartdraw.SVG, &text)
	drawn.SVG = template.HTML(strings.TrimSuffix(text.String(), "</svg>")) //nolint:gosec // escaped
	return drawn, err
}

func grid(s *scale) (lines []chartdraw.GridLine) {
	style := chartdraw.Style{StrokeColor: drawing.Color{R: 128, G: 128, B: 128, A: 60}, StrokeWidth: 1.5}
	for _, t := range s.GetTicks(nil) {
		lines = append(lines, chartdraw.GridLine{Value: t.Value, Style: style})
	}
	return lines
}

func curveOf(s Series, class string) chartdraw.ContinuousSeries {
	d := chartdraw.ContinuousSeries{YAxis: chartdraw.YAxisSecondary}
	height := 0.0
	for _, p := range s.Points {
		if s.Style == Step {
			d.XValues, d.YValues = append(d.XValues, p.X), append(d.YValues, height)
			height = p.Y
		}
		d.XValues, d.YValues = append(d.XValues, p.X), append(d.YValues, p.Y)
	}
	d.Style = chartdraw.Style{ClassName: class, StrokeWidth: 1, DotWidth: 6}
	if s.Style == Step || s.Style == Dashed && len(s.Points) > 1 || s.Style == Line && len(s.Points) > crowd {
		d.Style.DotWidth = 0
	}
	if !slices.Contains([]Style{Line, Dashed, Step}, s.Style) {
		d.Style.StrokeWidth = chartdraw.Disabled
	}
	return d
}
