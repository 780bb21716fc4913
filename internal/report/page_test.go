package report

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/plot"
	"github.com/llm-prober/prober/internal/probe"
)

// outline is a page in words: each chart, its series and their number of points.
func outline(p plot.Page) []string {
	var list []string
	for _, c := range p.Charts {
		words := c.Title + ":"
		for _, s := range c.Series {
			words += " " + s.Name + " " + string(s.Style) + " " + format.Grouped(len(s.Points)) + ";"
		}
		list = append(list, words)
	}
	return list
}

func TestRunPage(t *testing.T) {
	samples := slices.Concat(answers("a", 10, 0.8, 0.003, 0.01, 1), answers("b", 10, 0.8, 0.007, 0.01, 2))
	samples[3] = failure("a", 3, probe.Stalled)
	samples[4].Outcome = probe.Canceled
	samples[15].TTFT, samples[15].ITL = Seconds{}, nil

	page := RunPage("title", []string{"note"}, samples)

	want := []string{
		"TTFT distribution (CDF): a step 8; b step 9;",
		"TTFT over time: a dots 8; b dots 9;",
		"TPOT distribution (CDF): a step 8; b step 10;",
		"TPOT over time: a dots 8; b dots 10;",
		"ITL distribution (CDF): a step 500; b step 495;",
		"ITL over time: a dots 8; b dots 9;",
		"E2EL distribution (CDF): a step 8; b step 10;",
		"E2EL over time: a dots 8; b dots 10; failed dots 1;",
	}
	got := outline(page)
	got[4] = requireThinned(t, page.Charts[4], 792, 891)
	want[4] = "thinned, from the shortest to the longest"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	failed := page.Charts[7].Series[2].Points
	if diff := cmp.Diff([]plot.Point{{X: 30, Y: 1, Label: "a, round 3: stalled after 1.00 s"}}, failed); diff != "" {
		t.Error(diff)
	}
	if first := page.Charts[1].Series[0].Points[0]; first.X != 0 || !strings.HasPrefix(first.Label, "a, round 0: ") {
		t.Errorf("first point %+v", first)
	}
	slices.Reverse(samples[:10])
	if diff := cmp.Diff(page, RunPage("title", []string{"note"}, samples)); diff != "" {
		t.Errorf("the order of samples matters:\n%s", diff)
	}
}

// requireThinned checks distributions of so many values that are thinned.
func requireThinned(t *testing.T, c plot.Chart, counts ...int) string {
	t.Helper()
	for i, s := range c.Series {
		n := len(s.Points)
		if n > most+most/50 || n < most/2 || s.Points[n-1].Y != 1 || math.Abs(s.Points[0].Y*float64(counts[i])-1) > 1e-9 {
			t.Errorf("%s: %d points, shares %g to %g of %d values", s.Name, n, s.Points[0].Y, s.Points[n-1].Y, counts[i])
		}
		if !slices.IsSortedFunc(s.Points, func(a, b plot.Point) int {
			if a.X > b.X || a.Y >= b.Y {
				return 1
			}
			return -1
		}) {
			t.Errorf("%s falls", s.Name)
		}
	}
	return "thinned, from the shortest to the longest"
}

func TestThinningKeepsTails(t *testing.T) {
	for _, n := range []int{1, 2, 499, 500, 501, 1000, 12345, 400000} {
		list := ranks(n)
		if len(list) > most+2 || len(list) < min(n, most/2) || list[0] != 0 || list[len(list)-1] != n-1 {
			t.Fatalf("%d of %d: %d to %d", len(list), n, list[0], list[len(list)-1])
		}
		for i := range min(n, 5) {
			if !slices.Contains(list, i) || !slices.Contains(list, n-1-i) {
				t.Errorf("rank %d of %d is not drawn on both sides", i, n)
			}
		}
		for i := 1; i < len(list); i++ {
			if list[i]-list[i-1] > max(1, n/(most/2)+1) {
				t.Errorf("of %d nothing between ranks %d and %d", n, list[i-1], list[i])
			}
		}
	}
	if got := ranks(0); len(got) != 0 {
		t.Error(got)
	}
}

func TestThinningKeepsWhatStandsOut(t *testing.T) {
	var points []plot.Point
	for i := range 10000 {
		points = append(points, plot.Point{X: float64(i), Y: 1 + math.Sin(float64(i))/10})
	}
	points[1234].Y, points[1235].Y, points[9999].Y = 9, 0.1, 7
	kept := thin(points)
	if len(kept) > most {
		t.Errorf("%d points", len(kept))
	}
	for _, i := range []int{1234, 1235, 9999} {
		if !slices.Contains(kept, points[i]) {
			t.Errorf("%+v is gone", points[i])
		}
	}
	if !slices.IsSortedFunc(kept, func(a, b plot.Point) int { return int(a.X - b.X) }) {
		t.Error("out of order")
	}
}

// rung is a step of a ladder.
func rung(target string, prompt, atOnce, failures int) Summary {
	samples := answers(target, 20, 0.1*float64(atOnce), 0.01, 0.01, uint64(atOnce))
	for i := range failures {
		samples = append(samples, failure(target, i, probe.Timeout))
	}
	s := Summarize(samples)
	s.AtOnce, s.PromptTokens = atOnce, prompt
	return s
}

func TestLadderPage(t *testing.T) {
	steps := []Summary{rung("a", 80, 4, 0), rung("a", 80, 1, 0), rung("b", 80, 1, 0), rung("b", 80, 4, 20), rung("a", 10000, 1, 0)}
	steps[0].Load = "4 at once"

	page := LadderPage("title", nil, steps)

	want := []string{
		"Throughput: a, 80 tokens both 2; b, 80 tokens both 2; a, 10,000 tokens both 1;",
		"TTFT: a, 80 tokens, median both 2; b, 80 tokens, median both 2; a, 10,000 tokens, median both 1;" +
			" a, 80 tokens, P99 line 2; b, 80 tokens, P99 line 2; a, 10,000 tokens, P99 line 1;",
		"TPOT: a, 80 tokens both 2; b, 80 tokens both 2; a, 10,000 tokens both 1;",
		"Throughput and latency: a, 80 tokens both 2; b, 80 tokens both 2; a, 10,000 tokens both 1;",
		"Failed requests: a, 80 tokens both 2; b, 80 tokens both 2; a, 10,000 tokens both 1;",
	}
	if diff := cmp.Diff(want, outline(page)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	first, failed := page.Charts[0].Series[0].Points, page.Charts[4].Series[1].Points
	if first[0].X != 1 || first[1].X != 4 || first[0].Label != "a, 80 tokens, 1 at once" || first[1].Label != "a, 80 tokens, 4 at once" {
		t.Errorf("%+v is not by load", first)
	}
	if first[1].Y != steps[0].Throughput().Output {
		t.Errorf("%g tokens/s, want %g", first[1].Y, steps[0].Throughput().Output)
	}
	if failed[0].Y != 0 || failed[1].Y != 0.5 {
		t.Errorf("%+v failed", failed)
	}
	if !page.Charts[0].X.Log || !page.Charts[1].Y.Log || page.Charts[2].Y.Log {
		t.Error("loads and TTFT are not logarithmic")
	}
}

func TestLaddersOfRatesAndWithoutAnswers(t *testing.T) {
	slow, fast := rung("a", 0, 0, 0), rung("a", 0, 0, 0)
	fast.Duration /= 2
	dead := Summarize([]Sample{failure("b", 0, probe.Connect)})
	page := LadderPage("title", nil, []Summary{slow, fast, dead})
	want := []string{
		"Throughput: a both 2; b both 1;", "TTFT: a, median both 2; a, P99 line 2;", "TPOT: a both 2;", "Throughput and latency: a both 2;",
		"Failed requests: a both 2; b both 1;",
	}
	if diff := cmp.Diff(want, outline(page)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if x := page.Charts[0].X; x.Log || x.Label != "requests/s" {
		t.Errorf("%+v", x)
	}
	if got := outline(LadderPage("title", nil, nil)); got != nil {
		t.Errorf("%v", got)
	}
}
