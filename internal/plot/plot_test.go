package plot

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// figures returns charts as HTML.
func figures(t testing.TB, charts ...Chart) string {
	t.Helper()
	html, err := Figures(charts)
	if err != nil {
		t.Fatal(err)
	}
	return string(html)
}

// TestFigures holds that each text stands once, escaped, that nothing is loaded, and that a target has the same colour
// in all charts, even if it is missing in the first ones.
func TestFigures(t *testing.T) {
	html := figures(t,
		Chart{
			Title: "TTFT & more", X: Axis{Label: "load", Log: true}, Y: Axis{Label: "TTFT", Unit: Second},
			Series: []Series{
				{Target: "a", Style: Line, Points: []Point{
					{1, 1, "a, 1 at once"}, {8, 2, ""}, {0, 2, "has no place"}, {8, math.NaN(), ""},
				}},
				{Target: "b", Style: Line, Points: []Point{{1, 1, ""}, {8, 3, ""}}},
				{Target: "b", Name: "b, P99", Style: Dashed, Points: []Point{{1, 2, ""}, {8, 4, ""}}},
			},
		},
		Chart{Title: "TPOT", Series: []Series{{Target: "b", Points: []Point{{1, 1, ""}}}}},
		Chart{Title: "E2EL"},
	)
	for _, want := range []string{
		"<h2>TTFT &amp; more</h2>",
		`<span class="c0 again0 line"><i></i><b>a</b></span>`, `<span class="c1 again0 line"><i></i><b>b</b></span>`,
		`<span class="c1 again0 dashed"><i></i><b>b, P99</b></span>`, "<title>a, 1 at once</title>",
		">load (log)</text>", ">TTFT (s)</text>", "<p>no data</p>",
		`<g class="c1 again0 dots">`, // b in the second chart
	} {
		if strings.Count(html, want) != 1 {
			t.Errorf("%d times %s, want it once", strings.Count(html, want), want)
		}
	}
	html += string(StyleSheet())
	for _, word := range []string{"<script", "src=", "<link", "url(", "@import", "has no place", "NaN"} {
		if strings.Contains(html, word) {
			t.Errorf("the charts hold %q", word)
		}
	}
}

// TestColoursComeAgainWithOtherDashes holds the classes of more targets than there are colours.
func TestColoursComeAgainWithOtherDashes(t *testing.T) {
	var targets targetColours
	for i, want := range map[int]string{
		0: "c0 again0 dots", 7: "c7 again0 dots", 9: "c1 again1 dots", 17: "c1 again2 dots",
	} {
		for len(targets) < i {
			targets = append(targets, strings.Repeat("x", len(targets)))
		}
		if got := targets.classesOf(Series{Target: strings.Repeat("x", i)}); got != want {
			t.Errorf("target %d: %q, want %q", i, got, want)
		}
	}
}

// TestDrawing holds where points are on linear axes from 0 to 1, and what each style draws.
func TestDrawing(t *testing.T) {
	// "0%" to "100%" have four characters: the X axis begins at 12 + 3·8.
	const line = "M36 208L470 28"
	dots := []spot{{X: 36, Y: 208}, {X: 470, Y: 28}}
	for style, want := range map[Style]curve{
		"":     {Classes: "c0 again0 dots", Dots: dots},
		Hollow: {Classes: "c0 again0 hollow", Dots: dots},
		Line:   {Classes: "c0 again0 line", Line: line, Dots: dots},
		Dashed: {Classes: "c0 again0 dashed", Line: line},
		Step:   {Classes: "c0 again0 step", Line: "M36 208H36V208H470V28"},
	} {
		share := Axis{Unit: Share}
		series := Series{Style: style, Points: []Point{{0, 0, ""}, {1, 1, ""}}}
		got := draw(Chart{X: share, Y: share, Series: []Series{series}}, &targetColours{})
		if diff := cmp.Diff([]curve{want}, got.Curves); diff != "" {
			t.Errorf("%q (-want +got):\n%s", style, diff)
		}
	}
}

// TestDots holds that dots do not hide a line of many points, and that a single point of a dashed line is seen.
func TestDots(t *testing.T) {
	for _, c := range []struct {
		style        Style
		points, want int
	}{{Line, 50, 50}, {Line, 51, 0}, {Dashed, 1, 1}, {Dots, 51, 51}} {
		series := Series{Style: c.style, Points: make([]Point, c.points)}
		got := draw(Chart{Series: []Series{series}}, &targetColours{})
		if len(got.Curves[0].Dots) != c.want {
			t.Errorf("%s of %d points has %d dots, want %d", c.style, c.points, len(got.Curves[0].Dots), c.want)
		}
	}
}

// anyCharts returns random charts, with names made of those given.
func anyCharts(r *rand.Rand, names ...string) []Chart {
	name := func() string { return names[r.IntN(len(names))] }
	axis := func() Axis {
		return Axis{name(), []Unit{"", Second, Share, Time}[r.IntN(4)], r.IntN(2) == 0, r.IntN(4) == 0}
	}
	odd := []float64{
		0, -1, 1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64,
		1e30, -1e30, 1e-30,
	}
	number := func() float64 {
		if r.IntN(3) == 0 {
			return odd[r.IntN(len(odd))]
		}
		return math.Exp(r.NormFloat64() * 5)
	}
	var charts []Chart
	for range r.IntN(4) {
		c := Chart{Title: name(), X: axis(), Y: axis()}
		for range r.IntN(10) {
			s := Series{Target: name(), Name: name(), Style: []Style{Dots, Hollow, Line, Dashed, Step}[r.IntN(5)]}
			for range r.IntN(10) {
				s.Points = append(s.Points, Point{number(), number(), name()})
			}
			c.Series = append(c.Series, s)
		}
		charts = append(charts, c)
	}
	return charts
}

// FuzzNames holds that any charts are well-formed, that no text becomes an element, and that all coordinates are
// numbers.
func FuzzNames(f *testing.F) {
	names := []string{
		"", "a", "b", "<script>alert(1)</script>", "]]>", "-->", "</svg>", `"'&<>`, "&amp;", "\x00\x01\x1b[31m",
		"\xff\xfe", "\u202e", "東京", "{{.}}", "</style><style>",
	}
	for seed := range 200 {
		f.Add(names[seed%len(names)], names[seed/2%len(names)], uint64(seed))
	}
	const elements = " section h2 p span i b svg path text g circle title "
	f.Fuzz(func(t *testing.T, a, b string, seed uint64) {
		html := figures(t, anyCharts(rand.New(rand.NewPCG(seed, 1)), a, b, "c")...)
		d := xml.NewDecoder(strings.NewReader(html))
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("not well-formed: %v\n%s", err, html)
			}
			e, ok := token.(xml.StartElement)
			if !ok {
				continue
			}
			if !strings.Contains(elements, " "+e.Name.Local+" ") {
				t.Fatalf("an element %q came from a text:\n%s", e.Name.Local, html)
			}
			for _, attribute := range e.Attr {
				isCoordinate := strings.Contains(" d x y cx cy ", " "+attribute.Name.Local+" ")
				if isCoordinate && strings.ContainsAny(attribute.Value, "NI") {
					t.Fatalf("%s=%q is no coordinate", attribute.Name.Local, attribute.Value)
				}
			}
		}
	})
}
