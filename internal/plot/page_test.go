package plot

import (
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden files")

// golden compares a text with a file in testdata, or writes it with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// drawn is what a page is as SVG and as HTML.
func drawn(t testing.TB, p Page) (svg, html string) {
	t.Helper()
	var a, b strings.Builder
	if err := errors.Join(SVG(&a, p), HTML(&b, p)); err != nil {
		t.Fatal(err)
	}
	return a.String(), b.String()
}

// small is a page with a distribution, a ladder, one point, none, and texts that need
// care.
func small() Page {
	return Page{
		Title: "production-stack & ray-serve",
		Notes: []string{"Ten rounds at 0.1 QPS.", "Too few samples for P99: \"<10\"."},
		Charts: []Chart{
			{
				Title: "TTFT", X: Axis{Label: "time to first token", Unit: Second}, Y: Axis{Label: "share of requests", Unit: Percent},
				Series: []Series{
					{"production-stack", Step, []Point{{X: 0.792}, {0.792, 0.5, "round 1: 792 ms"}, {0.8, 1, "round 2: 800 ms"}}},
					{"ray-serve", Step, []Point{{X: 0.82}, {0.82, 0.5, ""}, {0.826, 1, ""}}},
				},
			},
			{
				Title: "Throughput", X: Axis{Label: "requests at once", Unit: Number, Log: true}, Y: Axis{Label: "output tokens a second"},
				Series: []Series{
					{"ray-serve", Both, []Point{{1, 60, ""}, {8, 400, ""}, {64, 1900, ""}}},
					{"<b>\x00\u202enew</b>", Line, []Point{{1, 90, ""}, {0, 90, ""}, {8, math.NaN(), ""}, {64, 2500, ""}}},
					{strings.Repeat("a rather long name ", 5), Dots, nil},
				},
			},
			{
				Title: "E2EL over time", X: Axis{Label: "since the start", Unit: Second}, Y: Axis{Label: "E2EL", Unit: Second},
				Series: []Series{{"ray-serve", Line, []Point{{30, 12.5, ""}}}},
			},
			{Title: "TPOT", X: Axis{Label: "time per output token", Unit: Second}, Y: Axis{Label: "share of requests", Unit: Percent}},
		},
	}
}

func TestGolden(t *testing.T) {
	svg, html := drawn(t, small())
	golden(t, "small.svg", svg)
	golden(t, "small.html", html)
}

// elements counts the elements of well-formed XML, and gathers its texts.
func elements(t testing.TB, svg string) (count map[string]int, texts []string) {
	t.Helper()
	count = map[string]int{}
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return count, texts
		}
		if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			count[token.Name.Local]++
		case xml.CharData:
			texts = append(texts, string(token))
		}
	}
}

// charts are the svg elements of a page.
func charts(html string) string {
	found := regexp.MustCompile(`(?s)(<svg class="chart".*?</svg>\n)</section>`).FindAllStringSubmatch(html, -1)
	all := "<all>"
	for _, f := range found {
		all += f[1]
	}
	return all + "</all>"
}

func TestNothingFromOutside(t *testing.T) {
	svg, html := drawn(t, small())
	svg = strings.Replace(svg, `xmlns="http://www.w3.org/2000/svg"`, "", 1)
	for name, text := range map[string]string{"SVG": svg, "HTML": html} {
		for _, word := range []string{"http:", "https:", "//", "url(", "@import", "href", "src=", "<script", "<link", "<image", "<use", "NaN", "Inf", "%!"} {
			if strings.Contains(text, word) {
				t.Errorf("%s holds %q", name, word)
			}
		}
	}
	if want := `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`; !strings.Contains(html, want) {
		t.Errorf("HTML does not hold %s", want)
	}
}

func TestEqualNamesHaveTheSameLook(t *testing.T) {
	svg, _ := drawn(t, small())
	for name, want := range map[string]look{"production-stack": {0, 0}, "ray-serve": {1, 1}} {
		found := regexp.MustCompile(`<g class="(c\d m\d)">.*</g>\n<text class="name"[^>]*>`+name+`<`).FindAllStringSubmatch(svg, -1)
		for _, f := range found {
			if f[1] != want.class() {
				t.Errorf("%s has look %s in a legend, want %s", name, f[1], want.class())
			}
		}
		if len(found) == 0 {
			t.Errorf("%s is in no legend", name)
		}
	}
}

func TestLegendOnlyOfSeveralNames(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  int
	}{{nil, 0}, {[]string{"a"}, 0}, {[]string{"a", "a"}, 0}, {[]string{"a", "b", "a"}, 2}, {[]string{"", "b"}, 2}} {
		var chart Chart
		for _, name := range c.names {
			chart.Series = append(chart.Series, Series{Name: name, Points: []Point{{1, 1, ""}}})
		}
		svg, _ := drawn(t, Page{Charts: []Chart{chart}})
		if got := strings.Count(svg, `<text class="name"`); got != c.want {
			t.Errorf("the legend of %q has %d names, want %d", c.names, got, c.want)
		}
	}
}

func TestLongNamesAreCutAndWhole(t *testing.T) {
	long := strings.TrimSpace(strings.Repeat("very long name ", 20))
	series := []Series{{Name: long, Points: []Point{{1, 1, ""}}}, {Name: "short"}}
	svg, _ := drawn(t, Page{Charts: []Chart{{Title: long, X: Axis{Label: long}, Y: Axis{Label: long}, Series: series}}})
	if got := strings.Count(svg, "…<title>"+long+"</title>"); got != 4 {
		t.Errorf("%d texts are cut and whole for who points at them, want title, both axes and legend", got)
	}
}

func TestWhatIsDrawn(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		about  string
		style  Style
		log    bool
		points []Point
		want   string // classes and paths
	}{
		{"nothing", Line, false, nil, ""},
		{"nothing that has a place", Line, true, []Point{{0, 1, ""}, {1, -1, ""}, {nan, 1, ""}, {1, inf, ""}}, ""},
		{"one point is a dot in the middle", Line, true, []Point{{1, 1, ""}}, "dots M197.9 105h.01"},
		{"others leave it so", Step, true, []Point{{nan, 1, ""}, {1, 1, ""}, {1, 0, ""}}, "dots M197.9 105h.01"},
		{"dots", Dots, false, []Point{{0, 0, ""}, {1, 1, ""}}, "dots M0 210h.01M380.5 8.1h.01"},
		{"no style is dots", "", false, []Point{{0, 0, ""}, {1, 1, ""}}, "dots M0 210h.01M380.5 8.1h.01"},
		{"a line", Line, false, []Point{{0, 0, ""}, {1, 1, ""}}, "line M0 210L380.5 8.1"},
		{"a line with dots", Both, false, []Point{{0, 0, ""}, {1, 1, ""}}, "line M0 210L380.5 8.1 dots M0 210h.01M380.5 8.1h.01"},
		{"steps", Step, false, []Point{{0, 0, ""}, {1, 1, ""}}, "line M0 210H380.5V8.1"},
	} {
		axis := Axis{Log: c.log}
		l := layout(Chart{X: axis, Y: axis, Series: []Series{{Style: c.style, Points: c.points}}}, map[string]look{})
		var got []string
		for _, m := range regexp.MustCompile(`class="(line|dots)" d="([^"]*)"`).FindAllStringSubmatch(l.series[0].paint(), -1) {
			got = append(got, m[1]+" "+m[2])
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.about, diff)
		}
		svg := l.draw("")
		if empty := strings.Contains(svg, ">no data<"); empty != (c.want == "") {
			t.Errorf("%s: says no data: %v", c.about, empty)
		}
	}
}

func TestBigSeriesAreSmall(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	var noise, cloud []Point
	for i := range 20_000 {
		noise = append(noise, Point{float64(i), math.Exp(r.NormFloat64()), ""})
		cloud = append(cloud, Point{r.Float64(), r.Float64(), ""})
	}
	for _, c := range []struct {
		about  string
		style  Style
		points []Point
		limit  int // bytes
	}{
		{"a line of noise", Line, noise, 80_000},
		{"dots of noise", Dots, noise, 200_000},
		{"a cloud", Dots, cloud, 300_000},
	} {
		svg, _ := drawn(t, Page{Charts: []Chart{{Series: []Series{{"a", c.style, c.points}}}}})
		if len(svg) > c.limit {
			t.Errorf("%s of 20,000 points takes %d bytes, want at most %d", c.about, len(svg), c.limit)
		}
	}
}

// anyPage is a page of random charts, with names made of those given.
func anyPage(r *rand.Rand, names ...string) Page {
	name := func() string { return names[r.IntN(len(names))] }
	axis := func() Axis {
		return Axis{name(), []Unit{Number, Second, Percent, Unit(name())}[r.IntN(4)], r.IntN(2) == 0}
	}
	odd := []float64{0, -1, 1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64, 1e30, -1e30, 1e-30}
	number := func() float64 {
		if r.IntN(3) == 0 {
			return odd[r.IntN(len(odd))]
		}
		return math.Exp(r.NormFloat64() * 5)
	}
	p := Page{Title: name(), Notes: []string{name(), name()}}
	for range r.IntN(4) {
		c := Chart{Title: name(), X: axis(), Y: axis()}
		for range r.IntN(10) {
			s := Series{Name: name(), Style: []Style{Dots, Line, Both, Step, Style(name())}[r.IntN(5)]}
			for range r.IntN(10) {
				s.Points = append(s.Points, Point{number(), number(), name()})
			}
			c.Series = append(c.Series, s)
		}
		p.Charts = append(p.Charts, c)
	}
	return p
}

// checkPage draws any page: well-formed, with the elements that we draw and no others, and
// with no number that is none.
func checkPage(t testing.TB, p Page) {
	t.Helper()
	svg, html := drawn(t, p)
	inSVG, _ := elements(t, svg)
	inHTML, _ := elements(t, charts(html))
	if want := 1; inSVG["style"] != want || inHTML["all"] != want {
		t.Fatalf("%d styles, %d pages", inSVG["style"], inHTML["all"])
	}
	if got, want := inHTML["desc"], len(p.Charts); got != want {
		t.Fatalf("%d charts in HTML, want %d", got, want)
	}
	known := map[string]bool{"svg": true, "title": true, "desc": true, "style": true, "rect": true, "text": true, "path": true, "g": true, "circle": true, "all": true}
	for _, count := range []map[string]int{inSVG, inHTML} {
		for name := range count {
			if !known[name] {
				t.Fatalf("an element %q came from a text:\n%s", name, svg)
			}
		}
	}
	if found := regexp.MustCompile(` (d|x|y|cx|cy|viewBox|width|height)="[^"]*(NaN|Inf|e)[^"]*"`).FindString(svg); found != "" {
		t.Fatalf("a place that is none: %s", found)
	}
}

func TestAnyPage(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 11))
	names := []string{"", "a", "b", "<script>alert(1)</script>", "]]>", "-->", "</svg>", `"'&<>`, "&amp;", "\x00\x01\x1b[31m", "\xff\xfe", "\ufffe", "\u202e", "東京", "{{.}}", "</style>", strings.Repeat("long ", 200)}
	for range 200 {
		checkPage(t, anyPage(r, names...))
	}
}

func FuzzNames(f *testing.F) {
	f.Add("a", "b", uint64(1))
	f.Add("</text><script>", "\x00&\"'", uint64(2))
	f.Add("]]>\xff", "\u202e\ufffe", uint64(3))
	f.Fuzz(func(t *testing.T, a, b string, seed uint64) {
		checkPage(t, anyPage(rand.New(rand.NewPCG(seed, 1)), a, b, "c"))
	})
}

func TestTextsArriveWhole(t *testing.T) {
	name := `a < b & "c" 'd'`
	svg, _ := drawn(t, Page{Title: name, Notes: []string{name}, Charts: []Chart{{Title: name, X: Axis{Label: name}, Y: Axis{Label: name}, Series: []Series{{Name: name}, {Name: "x", Points: []Point{{1, 1, name}}}}}}})
	_, texts := elements(t, svg)
	count := 0
	for _, text := range texts {
		if strings.Contains(text, name) {
			count++
		}
	}
	// Title and description of the page, its heading and note, of the chart the
	// heading, description, both axes, a name of the legend, and the point.
	if count != 10 {
		t.Errorf("the text arrives in %d places, want 10", count)
	}
}

// full is a writer without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("no room") }

func TestErrorOfTheWriter(t *testing.T) {
	if err := SVG(full{}, small()); err == nil || err.Error() != "write SVG: no room" {
		t.Errorf("SVG: %v", err)
	}
	if err := HTML(full{}, small()); err == nil || err.Error() != "write HTML: no room" {
		t.Errorf("HTML: %v", err)
	}
}
