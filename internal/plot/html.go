package plot

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/llm-prober/prober/internal/format"
)

//go:embed page.html
var pageText string

// HTML draws a page as one HTML document, without a script and without anything from
// elsewhere: two charts side by side, on a phone one. The error is that of w.
func HTML(w io.Writer, p Page) error {
	page, err := template.New("page").Parse(pageText)
	if err != nil {
		return fmt.Errorf("parse page: %w", err)
	}
	if err := page.Execute(w, viewOf(p)); err != nil {
		return fmt.Errorf("write HTML: %w", err)
	}
	return nil
}

// A view is what the template shows. Its texts are clean.
type view struct {
	Title string
	Notes []string
	Style template.CSS
	Cards []card
}

// A card is one chart.
type card struct {
	Title string
	Chart template.HTML // drawn by us, with all texts of others escaped
}

func viewOf(p Page) view {
	v := view{Title: format.Clean(p.Title), Style: template.CSS(colours() + chartStyle)}
	for _, note := range p.Notes {
		if note = format.Clean(note); note != "" {
			v.Notes = append(v.Notes, note)
		}
	}
	looks := looksOf(p)
	for _, c := range p.Charts {
		l := layout(c, looks)
		v.Cards = append(v.Cards, card{format.Clean(c.Title), template.HTML(l.draw(""))})
	}
	return v
}
