package plot

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pageText returns the HTML of a page.
func pageText(t testing.TB, p Page) string {
	t.Helper()
	var b strings.Builder
	if err := HTML(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// ladder returns a page of two targets. Its second chart has only the second one, and its third has none.
func ladder() Page {
	return Page{
		Title:    "a & b",
		Verdicts: []string{"b is slower than a"}, Summary: "load  ok", Details: "medians",
		Warnings: []string{"few <10"}, Settings: []string{"prober 1.0"},
		Charts: []Chart{
			{Title: "TTFT", X: Axis{Label: "load", Log: true}, Y: Axis{Label: "TTFT", Unit: Second}, Series: []Series{
				{Target: "a", Style: Line, Points: []Point{
					{1, 1, "a, 1 at once"}, {8, 2, ""}, {0, 2, "has no place"}, {8, math.NaN(), ""},
				}},
				{Target: "b", Style: Line, Points: []Point{{1, 1, ""}, {8, 3, ""}}},
				{Target: "b", Name: "b, P99", Style: Dashed, Points: []Point{{1, 2, ""}, {8, 4, ""}}},
			}},
			{Title: "TPOT", Series: []Series{{Target: "b", Points: []Point{{1, 1, ""}}}}},
			{Title: "E2EL"},
		},
	}
}

// TestPage holds that a page has each of its texts once, escaped, and loads nothing; and that a target has the same
// colour in all charts.
func TestPage(t *testing.T) {
	html := pageText(t, ladder())
	for _, want := range []string{
		"<title>a &amp; b</title>", "<li>b is slower than a</li>", "load  ok</pre>", "medians</pre>",
		"<li>few &lt;10</li>", "<li>prober 1.0</li>",
		`<span class="c0 again0 line"><i></i><b>a</b></span>`, `<span class="c1 again0 line"><i></i><b>b</b></span>`,
		`<span class="c1 again0 dashed"><i></i><b>b, P99</b></span>`, "<title>a, 1 at once</title>",
		">load (log)</text>", ">TTFT (s)</text>", "<p>no data</p>",
		`content="default-src 'none'; style-src 'unsafe-inline'"`, "prefers-color-scheme: dark",
	} {
		if strings.Count(html, want) != 1 {
			t.Errorf("%d times %s, want it once", strings.Count(html, want), want)
		}
	}
	for _, word := range []string{"<script", "src=", "<link", "url(", "@import", "has no place", "NaN"} {
		if strings.Contains(html, word) {
			t.Errorf("the page holds %q", word)
		}
	}
	if !strings.Contains(html, `class="c1 again0 dots stroke fill"`) {
		t.Error("b does not have its colour in the second chart")
	}
}

// TestShapes holds what each style draws for two points: paths with so many ends, and dots.
func TestShapes(t *testing.T) {
	for style, want := range map[Style]string{
		"":     "dot dot",
		Hollow: "dot dot",
		Line:   "path of 2 dot dot",
		Dashed: "path of 2",
		Step:   "path of 4",
	} {
		chart := Chart{Series: []Series{{Style: style, Points: []Point{{0, 0, ""}, {1, 1, ""}}}}}
		drawn, err := chart.draw(func(Series) string { return "curve" })
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		svg := strings.ReplaceAll(string(drawn.SVG), "\n", " ")
		for _, m := range regexp.MustCompile(`<(path|circle) ([^>]*)class="curve`).FindAllStringSubmatch(svg, -1) {
			if m[1] == "circle" {
				got = append(got, "dot")
			} else {
				got = append(got, fmt.Sprintf("path of %d", strings.Count(m[2], "M ")+strings.Count(m[2], "L ")))
			}
		}
		if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", style, diff)
		}
	}
	if (Series{Style: Line, Points: make([]Point, 51)}).hasDots() {
		t.Error("dots hide a line of many points")
	}
}

// anyPage returns a page of random charts, with names made of those given.
func anyPage(r *rand.Rand, names ...string) Page {
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
	p := Page{
		Title: name(), Verdicts: []string{name()}, Summary: name(), Details: name(),
		Warnings: []string{name()}, Settings: []string{name()},
	}
	for range r.IntN(4) {
		c := Chart{Title: name(), X: axis(), Y: axis()}
		for range r.IntN(10) {
			s := Series{Target: name(), Name: name(), Style: []Style{Dots, Hollow, Line, Dashed, Step}[r.IntN(5)]}
			c.Y.Log = c.Y.Log && s.Style != Step // which begin at 0
			for range r.IntN(10) {
				s.Points = append(s.Points, Point{number(), number(), name()})
			}
			c.Series = append(c.Series, s)
		}
		p.Charts = append(p.Charts, c)
	}
	return p
}

// FuzzNames holds that the charts of any page are well-formed XML, and that no text becomes an element.
func FuzzNames(f *testing.F) {
	names := []string{
		"", "a", "b", "<script>alert(1)</script>", "]]>", "-->", "</svg>", `"'&<>`, "&amp;", "\x00\x01\x1b[31m",
		"\xff\xfe", "\u202e", "東京", "{{.}}", "</style><style>",
	}
	for seed := range 200 {
		f.Add(names[seed%len(names)], names[seed/2%len(names)], uint64(seed))
	}
	f.Fuzz(func(t *testing.T, a, b string, seed uint64) {
		html := pageText(t, anyPage(rand.New(rand.NewPCG(seed, 1)), a, b, "c"))
		for _, svg := range regexp.MustCompile(`(?s)<svg .*?</svg>`).FindAllString(html, -1) {
			d := xml.NewDecoder(strings.NewReader(svg))
			for {
				token, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("not well-formed: %v\n%s", err, svg)
				}
				e, ok := token.(xml.StartElement)
				if ok && !strings.Contains(" svg path text g circle title ", " "+e.Name.Local+" ") {
					t.Fatalf("an element %q came from a text:\n%s", e.Name.Local, svg)
				}
			}
		}
		if strings.Count(html, "<script") > 0 || strings.Count(html, "<style>") != 1 {
			t.Fatalf("a text is an element:\n%s", html)
		}
	})
}
