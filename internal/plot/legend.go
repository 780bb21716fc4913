package plot

import (
	"fmt"
	"strings"
)

// An entry is a name in a legend.
type entry struct {
	series      plotted
	name, whole string  // as shown, and as it is; clean
	x           float64 // of its left end
	row         int
}

// legendOf places the names of the series in rows, each name once. There is none where
// there is but one name.
func legendOf(series []plotted) (list []entry, rows int) {
	const limit = chartWidth
	seen, x := map[string]bool{}, 0.0
	for _, s := range series {
		if seen[s.Name] {
			continue
		}
		seen[s.Name] = true
		e := entry{series: s}
		e.name, e.whole = named(s, limit-swatch)
		wide := swatch + width(e.name, fontSize)
		if x > 0 && x+wide > limit {
			x, rows = 0, rows+1
		}
		e.x, e.row = x, rows
		list, x = append(list, e), x+wide+between
	}
	if len(list) < 2 {
		return nil, 0
	}
	return list, rows + 1
}

// named is the name of a series, cut to a width, and the whole of it; with that there
// is nothing of it to see. Both are clean.
func named(s plotted, limit float64) (shown, whole string) {
	nothing := ""
	if len(s.spots) == 0 {
		nothing = " (no data)"
	}
	return cut(s.called(), fontSize, limit-width(nothing, fontSize)) + nothing, s.called() + nothing
}

// names draws the legend.
func (l *chart) names(b *strings.Builder) {
	top := plotTop + plotHeight + under
	for _, e := range l.legend {
		y := top + (float64(e.row)+0.5)*rowHeight
		fmt.Fprintf(b, `<g class="%s">`, e.series.look.class())
		if e.series.joined() {
			fmt.Fprintf(b, `<path class="line" d="M%sh26"/>`, place(e.x, y))
		}
		if e.series.dotted() {
			fmt.Fprintf(b, `<path class="dots" d="M%s%s"/>`, place(e.x+13, y), markOf(e.series.look.shape, markSize))
		}
		b.WriteString("</g>\n")
		text(b, "name", e.x+swatch, y+4, e.name, e.whole)
	}
}
