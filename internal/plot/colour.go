package plot

import (
	"fmt"
)

// shapes is the number of dashes and of marks, and of colours.
const shapes = 8

// A colour is a variable of the style sheet, on light ground and on dark.
type colour struct{ name, light, dark string }

// palette are the colours of the series: near those of Okabe and Ito (Color Universal
// Design, 2008), moved until each has a contrast of at least 3:1 against its ground,
// and any two differ for those who see no red or no green as well; the first ones most.
func palette() [shapes]colour {
	return [shapes]colour{
		{"c0", "#065bd6", "#1980ff"}, // blue
		{"c1", "#f5450e", "#d96f00"}, // orange
		{"c2", "#1f9eab", "#0ee4c6"}, // teal
		{"c3", "#95307d", "#b4819f"}, // purple
		{"c4", "#1482f6", "#6dcaff"}, // sky
		{"c5", "#3b1334", "#ecfeb9"}, // plum, on dark ground cream
		{"c6", "#653d00", "#b35121"}, // brown
		{"c7", "#9a886b", "#e3c324"}, // sand, on dark ground yellow
	}
}

// grounds are the other colours: of the page, of the ground of charts, of texts, of
// texts beside, and of lines that only guide the eye.
func grounds() []colour {
	return []colour{
		{"page", "#f5f6f8", "#111418"},
		{"ground", "#ffffff", "#191d22"},
		{"ink", "#1b2128", "#dde3ea"},
		{"dim", "#505b67", "#a3aebb"},
		{"line", "#dfe3e8", "#323a43"},
	}
}

// colours is the part of the style sheet that sets them, and gives each series its own.
func colours() string {
	light, dark, classes := "", "", ""
	for _, c := range grounds() {
		light += fmt.Sprintf(" --%s: %s;", c.name, c.light)
		dark += fmt.Sprintf(" --%s: %s;", c.name, c.dark)
	}
	for _, c := range palette() {
		light += fmt.Sprintf(" --%s: %s;", c.name, c.light)
		dark += fmt.Sprintf(" --%s: %s;", c.name, c.dark)
		classes += fmt.Sprintf(".%[1]s { color: var(--%[1]s); }\n", c.name)
	}
	return ":root {" + light + " }\n@media (prefers-color-scheme: dark) { :root {" + dark + " } }\n" + classes
}

// A look is how a series is told from others: the indices of its colour, and of its
// dash and mark.
type look struct{ colour, shape int }

// looksOf gives each name of a page a look, in the order in which they come. Names
// after the eighth have a colour again, with other dashes and marks.
func looksOf(p Page) map[string]look {
	looks := map[string]look{}
	for _, c := range p.Charts {
		for _, s := range c.Series {
			if _, ok := looks[s.Name]; !ok {
				n := len(looks)
				looks[s.Name] = look{n % shapes, (n + n/shapes) % shapes}
			}
		}
	}
	return looks
}

// class is the look in the words of the style sheet.
func (l look) class() string { return fmt.Sprintf("c%d m%d", l.colour, l.shape) }
