package plot

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

// The measures of a chart, in its own units: at the size in which it is meant to be
// seen, pixels. Texts have room for letters of fontSize, though most pages set them
// smaller.
const (
	chartWidth = 440.0
	plotHeight = 210.0
	plotTop    = 26.0 // above it: the label of the y axis
	edge       = 14.0 // beside the plot, on the right
	under      = 44.0 // below it: the ticks and the label of the x axis
	rowHeight  = 19.0 // of the legend
	swatch     = 32.0 // of the legend, before a name
	between    = 14.0 // names of the legend, and labels of ticks
	fontSize   = 13.0
	margin     = 6.0 // around the plot, where a mark at its edge has room
)

// A chart is where all of a [Chart] is drawn.
type chart struct {
	Chart
	empty          bool
	xTicks, yTicks []tick
	x, y           scale
	left, width    float64 // of the plot
	height         float64 // of all
	series         []plotted
	legend         []entry
}

// A plotted series has its points in their places.
type plotted struct {
	Series
	look  look
	spots []spot // of the points that have a place, from the top left of the plot
}

// layout finds the places of all that a chart has.
func layout(c Chart, looks map[string]look) chart {
	l := chart{Chart: c}
	x, y := c.reach()
	l.empty = x.none()
	l.left = edge
	if !l.empty {
		l.x, l.y = c.X.scale(x.low, x.high), c.Y.scale(y.low, y.high)
		l.xTicks, l.yTicks = c.X.ticks(l.x, x.binary), c.Y.ticks(l.y, y.binary)
		for _, t := range l.yTicks {
			l.left = max(l.left, width(t.text, fontSize)+10)
		}
	}
	l.width = chartWidth - l.left - edge
	for _, s := range c.Series {
		l.series = append(l.series, plotted{s, looks[s.Name], l.spots(s.Points)})
	}
	var rows int
	l.legend, rows = legendOf(l.series)
	l.height = plotTop + plotHeight + under + float64(rows)*rowHeight
	return l
}

// A reach is how far values go. The zero value has seen none.
type reach struct {
	low, high float64
	seen      bool
	binary    bool // all are powers of two, from 1 upwards
}

func (r *reach) add(v float64) {
	fraction, _ := math.Frexp(v)
	if !r.seen {
		*r = reach{v, v, true, v >= 1 && fraction == 0.5}
		return
	}
	r.low, r.high = min(r.low, v), max(r.high, v)
	r.binary = r.binary && v >= 1 && fraction == 0.5
}

func (r *reach) none() bool { return !r.seen }

// reach is that of the points that have a place on both axes.
func (c Chart) reach() (x, y *reach) {
	x, y = &reach{}, &reach{}
	for _, s := range c.Series {
		for _, p := range s.Points {
			if c.X.placed(p.X) && c.Y.placed(p.Y) {
				x.add(p.X)
				y.add(p.Y)
			}
		}
	}
	return x, y
}

// spots are the places of the points that have one, in their order.
func (l *chart) spots(points []Point) []spot {
	var spots []spot
	for i, p := range points {
		if l.X.placed(p.X) && l.Y.placed(p.Y) {
			spots = append(spots, spot{l.x.at(p.X) * l.width, (1 - l.y.at(p.Y)) * plotHeight, i})
		}
	}
	return spots
}

// draw writes the chart as an svg element. Its attributes begin with those given: where
// it stands, if it stands in another.
func (l *chart) draw(attributes string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg%s class="chart" viewBox="0 0 %s" role="img" aria-label="%s">`+"\n",
		attributes, place(chartWidth, l.height), escape(l.Title))
	fmt.Fprintf(&b, "<desc>%s</desc>\n", html.EscapeString(l.describe()))
	l.axes(&b)
	l.plot(&b)
	l.names(&b)
	b.WriteString("</svg>\n")
	return b.String()
}

// axes draws the grid, the ticks and what the axes mean.
func (l *chart) axes(b *strings.Builder) {
	bottom, grid := plotTop+plotHeight, strings.Builder{}
	for _, t := range l.yTicks {
		y := bottom - l.y.at(t.value)*plotHeight
		fmt.Fprintf(&grid, "M%sh%s", place(l.left, y), coordinate(l.width))
		text(b, "end", l.left-6, y+4, t.text, t.text)
	}
	for _, t := range l.xTicks {
		fmt.Fprintf(&grid, "M%sv%s", place(l.left+l.x.at(t.value)*l.width, plotTop), coordinate(plotHeight))
	}
	for _, s := range l.xLabels() {
		text(b, "middle", s.at, bottom+17, s.text, s.text)
	}
	if grid.Len() > 0 {
		fmt.Fprintf(b, `<path class="grid" d="%s"/>`+"\n", grid.String())
	}
	fmt.Fprintf(b, `<path class="axis" d="M%sv%sh%s"/>`+"\n", place(l.left, plotTop), coordinate(plotHeight), coordinate(l.width))
	l.label(b, "", 0, plotTop-11, chartWidth, l.Y.Label)
	l.label(b, "middle", l.left+l.width/2, bottom+36, l.width, l.X.Label)
	if l.empty {
		text(b, "middle none", l.left+l.width/2, plotTop+plotHeight/2, "no data", "no data")
	}
}

// label writes what an axis means, cut to a width.
func (l *chart) label(b *strings.Builder, class string, x, y, limit float64, s string) {
	s = format.Clean(s)
	text(b, class, x, y, cut(s, fontSize, limit), s)
}

// An xLabel is a text below the x axis.
type xLabel struct {
	at   float64 // its middle
	text string
}

// xLabels are the texts of the ticks: all, or every second, third … where they would
// touch. What would leave the chart is moved inwards.
func (l *chart) xLabels() []xLabel {
	for each := 1; ; each++ {
		var list []xLabel
		free, end := true, -between
		for i := 0; i < len(l.xTicks); i += each {
			t := l.xTicks[i]
			half := width(t.text, fontSize) / 2
			at := max(half, min(l.left+l.x.at(t.value)*l.width, chartWidth-half))
			free = free && at-half >= end+between/2
			list, end = append(list, xLabel{at, t.text}), at+half
		}
		if free || len(list) < 2 {
			return list
		}
	}
}

// plot draws the series, and above all of them what can be pointed at. The svg element
// around them cuts off what is outside.
func (l *chart) plot(b *strings.Builder) {
	if l.empty {
		return
	}
	fmt.Fprintf(b, `<svg x="%s" y="%s" width="%s" height="%s" viewBox="%s %s">`+"\n",
		coordinate(l.left-margin), coordinate(plotTop-margin), coordinate(l.width+2*margin), coordinate(plotHeight+2*margin),
		place(-margin, -margin), place(l.width+2*margin, plotHeight+2*margin))
	for _, s := range l.series {
		b.WriteString(s.paint())
	}
	b.WriteString(`<g class="points">` + "\n")
	for _, s := range l.series {
		b.WriteString(s.points(l.X.Unit, l.Y.Unit))
	}
	b.WriteString("</g>\n</svg>\n")
}

// describe says in words what the chart shows, for who does not see it. It is clean.
func (l *chart) describe() string {
	sentences := []string{format.Clean(l.Y.Label) + " against " + format.Clean(l.X.Label) + "."}
	missing := 0
	for _, s := range l.series {
		missing += len(s.Points) - len(s.spots)
		sentences = append(sentences, s.describe(l.X.Unit))
	}
	if missing > 0 {
		sentences = append(sentences, "Left out, since they have no place on the axes: "+points(missing)+".")
	}
	return strings.Join(sentences, " ")
}

// describe says how many points there are, and from where to where.
func (s plotted) describe(x Unit) string {
	words := cut(s.called(), 1, 40) + ": " + points(len(s.spots))
	if len(s.spots) > 0 {
		low, high := s.span()
		words += ", x from " + value(x, low) + " to " + value(x, high)
	}
	return words + "."
}

func points(n int) string {
	if n == 1 {
		return "1 point"
	}
	return fmt.Sprintf("%d points", n)
}

// span is the least and the largest X of its spots; zeros if it has none.
func (s plotted) span() (low, high float64) {
	for i, p := range s.spots {
		x := s.Points[p.index].X
		if i == 0 {
			low, high = x, x
		}
		low, high = min(low, x), max(high, x)
	}
	return low, high
}

// text writes a text, and where it is shorter than the whole, the whole for who points
// at it. Both are clean.
func text(b *strings.Builder, class string, x, y float64, shown, whole string) {
	if shown == "" {
		return
	}
	if class != "" {
		class = fmt.Sprintf(` class="%s"`, class)
	}
	fmt.Fprintf(b, `<text%s x="%s" y="%s">%s`, class, coordinate(x), coordinate(y), html.EscapeString(shown))
	if shown != whole {
		fmt.Fprintf(b, "<title>%s</title>", html.EscapeString(whole))
	}
	b.WriteString("</text>\n")
}
