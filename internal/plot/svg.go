package plot

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/llm-prober/prober/internal/format"
)

//go:embed chart.css
var chartStyle string

// The measures of an SVG document, in pixels.
const (
	docEdge   = 20.0
	docGutter = 24.0
	docWidth  = 2*docEdge + 2*chartWidth + docGutter
	headRow   = 24.0 // of the title of a chart
)

// SVG draws a page as one SVG document: two charts side by side. The error is that of w.
func SVG(w io.Writer, p Page) error {
	var b strings.Builder
	y := heading(&b, p)
	looks := looksOf(p)
	for i := 0; i < len(p.Charts); i += 2 {
		y += row(&b, y, p.Charts[i:min(i+2, len(p.Charts))], looks)
	}
	_, err := fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]s" height="%[2]s" viewBox="0 0 %[1]s %[2]s" role="img" aria-label="%[3]s">
<title>%[3]s</title>
<desc>%[4]s</desc>
<style>
%[5]s%[6]s%[7]s</style>
<rect class="ground" width="100%%" height="100%%"/>
%[8]s</svg>
`, coordinate(docWidth), coordinate(y+docEdge), escape(p.Title), escape(strings.Join(p.Notes, " ")),
		colours(), chartStyle, docStyle, b.String())
	if err != nil {
		return fmt.Errorf("write SVG: %w", err)
	}
	return nil
}

// docStyle is what a document has beside its charts.
const docStyle = `text { font-family: system-ui, "Segoe UI", sans-serif; fill: var(--ink); }
.ground { fill: var(--ground); }
.page { font-size: 19px; font-weight: 600; }
.note { font-size: 13px; fill: var(--dim); }
.head { font-size: 15px; font-weight: 600; }
`

// heading writes the title and the notes of a page, and returns where it ends.
func heading(b *strings.Builder, p Page) (bottom float64) {
	const room = docWidth - 2*docEdge
	y := docEdge
	for _, line := range wrap(format.Clean(p.Title), 20.5, room) {
		y += 23
		text(b, "page", docEdge, y, line, line)
	}
	y += 4
	for _, note := range p.Notes {
		for _, line := range wrap(format.Clean(note), 13, room) {
			y += 18
			text(b, "note", docEdge, y, line, line)
		}
	}
	return y + 14
}

// row writes one or two charts side by side from a height downwards, and returns their
// own.
func row(b *strings.Builder, y float64, charts []Chart, looks map[string]look) (height float64) {
	for i, c := range charts {
		l, x := layout(c, looks), docEdge+float64(i)*(chartWidth+docGutter)
		title := format.Clean(c.Title)
		text(b, "head", x, y+16, cut(title, 16.5, chartWidth), title)
		b.WriteString(l.draw(fmt.Sprintf(` x="%s" y="%s" width="%s" height="%s"`,
			coordinate(x), coordinate(y+headRow), coordinate(chartWidth), coordinate(l.height))))
		height = max(height, headRow+l.height+docGutter)
	}
	return height
}
