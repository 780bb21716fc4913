package plot

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"github.com/llm-prober/prober/internal/format"
)

//go:embed page.html
var pageText string

// HTML draws a page as one HTML document. The looks of series are classes of the style sheet: a colour for each target. After
// eight the colours come again, with other dashes.
func HTML(w io.Writer, p Page) error {
	var targets []string
	look := func(s Series) string {
		n := slices.Index(targets, s.Target)
		if n < 0 {
			n, targets = len(targets), append(targets, s.Target)
		}
		return fmt.Sprintf("c%d again%d %s", n%8, n/8%3, cmp.Or(s.Style, Dots))
	}
	draw := func(c Chart) (picture, error) { return c.draw(look) }
	funcs := template.FuncMap{"clean": format.Clean, "look": look, "draw": draw}
	page := template.Must(template.New("page").Funcs(funcs).Parse(pageText))
	if err := page.Execute(w, p); err != nil {
		return fmt.Errorf("write HTML: %w", err)
	}
	return nil
}
