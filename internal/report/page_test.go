package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/plot"
	"github.com/llm-prober/prober/internal/probe"
)

// outline returns charts in words: each with its series and their number of points.
func outline(charts []plot.Chart) []string {
	var list []string
	for _, c := range charts {
		words := c.Title + ":"
		for _, s := range c.Series {
			words += fmt.Sprintf(" %s %s %d;", cmp.Or(s.Name, s.Target), cmp.Or(s.Style, plot.Dots), len(s.Points))
		}
		list = append(list, words)
	}
	return list
}

func TestRunPage(t *testing.T) {
	samples := slices.Concat(answers("a", 10, 0.8, 0.003, 0.01, 1), answers("b", 10, 0.8, 0.007, 0.01, 2))
	samples[3] = failure("a", 3, probe.Stalled)
	samples[4].Outcome = probe.Canceled
	samples[15].TTFT, samples[15].ITL, samples[15].ITLs = noValue, noValue, nil

	slices.Reverse(samples) // their order does not matter
	charts := RunCharts(stepsOf([]string{"a", "b"}, samples))

	want := []string{
		"TTFT distribution (CDF): a step 8; b step 9;",
		"TTFT over time: a dots 8; b dots 9;",
		"TPOT distribution (CDF): a step 8; b step 10;",
		"TPOT over time: a dots 8; b dots 10;",
		"ITL distribution (CDF): a step 500; b step 500;",
		"ITL over time: a dots 8; b dots 9;",
		"E2EL distribution (CDF): a step 8; b step 10;",
		"E2EL over time: a dots 8; a, failed hollow 1; b dots 10;",
	}
	if diff := gocmp.Diff(want, outline(charts)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	first, failed := charts[1].Series[0].Points[0], charts[7].Series[1].Points
	stalled := []plot.Point{{X: first.X + 30, Y: 1, Label: "a, round 3: stalled after 1.00 s"}}
	if diff := gocmp.Diff(stalled, failed); diff != "" {
		t.Error(diff)
	}
	if last := charts[4].Series[0].Points[499]; last.Y != 1 {
		t.Errorf("a distribution ends at %+v", last)
	}
	if first.X != float64(noon().Unix()) || !strings.HasPrefix(first.Label, "a, round 0: ") {
		t.Errorf("first point %+v", first)
	}
}

func TestDownsamplingKeepsWhatStandsOut(t *testing.T) {
	var points []plot.Point
	for i := range 10000 {
		points = append(points, plot.Point{X: float64(i), Y: 1 + math.Sin(float64(i))/10})
	}
	points[1234].Y, points[1235].Y, points[9999].Y = 9, 0.1, 7
	kept := downsample(points)
	if len(kept) > maxPoints {
		t.Errorf("%d points", len(kept))
	}
	for _, i := range []int{1234, 1235, 9999} {
		if !slices.Contains(kept, points[i]) {
			t.Errorf("%+v is gone", points[i])
		}
	}
}

// rung returns a step of a ladder.
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
	steps := []Summary{
		rung("a", 80, 4, 0), rung("a", 80, 1, 0), rung("b", 80, 1, 0), rung("b", 80, 4, 20), rung("a", 10000, 1, 0),
	}
	steps[0].Load = "4 at once"

	charts := LadderCharts(steps)

	want := []string{
		"Throughput: a, 80 tokens line 2; b, 80 tokens line 2; a, 10,000 tokens line 1;",
		"TTFT: a, 80 tokens, median line 2; b, 80 tokens, median line 2; a, 10,000 tokens, median line 1;" +
			" a, 80 tokens, P99 dashed 2; b, 80 tokens, P99 dashed 2; a, 10,000 tokens, P99 dashed 1;",
		"TPOT: a, 80 tokens line 2; b, 80 tokens line 2; a, 10,000 tokens line 1;",
		"Throughput and latency: a, 80 tokens line 2; b, 80 tokens line 2; a, 10,000 tokens line 1;",
		"Failed requests: a, 80 tokens line 2; b, 80 tokens line 2; a, 10,000 tokens line 1;",
	}
	if diff := gocmp.Diff(want, outline(charts)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	first, failed := charts[0].Series[0].Points, charts[4].Series[1].Points
	byLoad := []plot.Point{
		{X: 1, Y: float64(steps[1].Throughput().Output), Label: "a, 80 tokens"},
		{X: 4, Y: float64(steps[0].Throughput().Output), Label: "a, 80 tokens, 4 at once"},
	}
	if diff := gocmp.Diff(byLoad, first); diff != "" {
		t.Errorf("throughput by load (-want +got):\n%s", diff)
	}
	if failed[0].Y != 0 || failed[1].Y != 0.5 {
		t.Errorf("%+v failed", failed)
	}
	if !charts[0].X.Log || !charts[1].Y.Log || charts[2].Y.Log {
		t.Error("loads and TTFT are not logarithmic")
	}
}

func TestLaddersOfRatesAndWithoutAnswers(t *testing.T) {
	charts := LadderCharts([]Summary{rung("a", 0, 0, 0), Summarize([]Sample{failure("b", 0, probe.Connect)})})
	want := []string{
		"Throughput: a line 1; b line 1;",
		"TTFT: a, median line 1; a, P99 dashed 1;",
		"TPOT: a line 1;",
		"Throughput and latency: a line 1;",
		"Failed requests: a line 1; b line 1;",
	}
	if diff := gocmp.Diff(want, outline(charts)); diff != "" || charts[0].X.Log || charts[0].X.Label != "requests/s" {
		t.Errorf("%+v, -want +got:\n%s", charts[0].X, diff)
	}
}

func TestPage(t *testing.T) {
	a, b := answers("a", 10, 0.8, 0.003, 0.01, 1), answers("b", 10, 0.8, 0.007, 0.01, 2)
	compared := Compare(Comparison{A: "a", B: "b"}, PairUp(a, b))
	d := Document{
		Source: "prober bench", Version: "1.0", Settings: map[string]string{"qps": "2", "prompt_tokens": "80"},
		Summaries: []Summary{Summarize(a), Summarize(b)}, Comparisons: []Comparison{compared},
		Warnings: []string{"the run was interrupted"},
	}
	d.Summaries[0].URL, d.Summaries[0].Model = "http://a", "llama"

	page := Page("title", d, RunCharts(stepsOf([]string{"a"}, a)))

	settings := []string{
		"prober bench, prober 1.0, from 0001-01-01 00:00:00 UTC", "a: http://a, model llama", "prompt_tokens: 80", "qps: 2",
	}
	if diff := gocmp.Diff(settings, page.Settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if page.Title != "title" || len(page.Charts) != 8 || !strings.Contains(page.Details, "95% confidence") {
		t.Errorf("%+v", page)
	}
	if lines := strings.Split(page.Summary, "\n"); len(lines) != 4 || !strings.HasPrefix(lines[2], "b ") {
		t.Errorf("summary:\n%s", page.Summary)
	}
	verdict := "TPOT: " + Verdict(compared.Lines[1], "a", "b")
	if !slices.Contains(page.Verdicts, verdict) || len(page.Verdicts) != 4 {
		t.Errorf("%q without %q", page.Verdicts, verdict)
	}
	want := []string{
		"the run was interrupted", "a: only 10 requests: quantiles from P75 on rest on fewer than ten samples",
		"b: only 10 requests: quantiles from P75 on rest on fewer than ten samples",
	}
	if diff := gocmp.Diff(want, page.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}

	d.Comparisons = slices.Repeat([]Comparison{compared}, 4)
	if page := Page("", d, nil); page.Verdicts != nil || strings.Count(page.Details, "95% confidence") != 4 {
		t.Errorf("a ladder: %q", page.Verdicts)
	}
}
