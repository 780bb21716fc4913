package plot

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/llm-prober/prober/internal/format"
)

//go:embed page.html
var pageText string

// HTML draws a page as one HTML document, without a script and without anything from
// elsewhere: two charts side by side, on a phone one.
func HTML(w io.Writer, p Page) error {
	look := looksOf()
	funcs := template.FuncMap{"clean": format.Clean, "look": look}
	page := template.Must(template.New("page").Funcs(funcs).Parse(pageText))
	var cards []map[string]any
	for _, c := range p.Charts {
		svg, spots, err := c.draw(look)
		if err != nil {
			return fmt.Errorf("draw %s: %w", c.Title, err)
		}
		cards = append(cards, map[string]any{"Chart": c, "SVG": template.HTML(svg), "Spots": spots}) //nolint:gosec // escaped
	}
	if err := page.Execute(w, map[string]any{"Page": p, "Cards": cards}); err != nil {
		return fmt.Errorf("write HTML: %w", err)
	}
	return nil
}

// looksOf gives series their looks, as classes of the style sheet: a colour for each target,
// in the order in which they come. After eight the colours come again, with other dashes.
func looksOf() func(Series) string {
	numbers := map[string]int{}
	return func(s Series) string {
		n, ok := numbers[s.Target]
		if !ok {
			n = len(numbers)
			numbers[s.Target] = n
		}
		return fmt.Sprintf("c%d again%d %s", n%8, n/8%3, cmp.Or(s.Style, Dots))
	}
}
