package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/plot"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/testing/golden"
)

// outline returns charts in words: each with its axes, and with its series and their first and last point.
func outline(charts []plot.Chart) string {
	var text strings.Builder
	for _, c := range charts {
		fmt.Fprintf(&text, "%s\n  x %+v\n  y %+v\n", c.Title, c.X, c.Y)
		for _, s := range c.Series {
			fmt.Fprintf(&text, "  %s: %d %s\n", cmp.Or(s.Name, s.Target), len(s.Points), cmp.Or(s.Style, plot.Dots))
			for _, p := range []plot.Point{s.Points[0], s.Points[len(s.Points)-1]} {
				fmt.Fprintf(&text, "    %.12g, %.4g %s\n", p.X, p.Y, p.Label)
			}
		}
	}
	return text.String()
}

// TestRunCharts holds the charts of two targets. Some requests failed, were canceled or lack values, and their order
// does not matter.
func TestRunCharts(t *testing.T) {
	samples := slices.Concat(answers("a", 10, 0.8, 0.003, 0.01, 1), answers("b", 10, 0.8, 0.007, 0.01, 2))
	samples[3] = failure("a", 3, probe.Stalled)
	samples[4].Outcome = probe.Canceled
	samples[15].Latencies.TTFT, samples[15].Latencies.ITL, samples[15].TokenITLs = noValue, noValue, nil
	slices.Reverse(samples)
	golden.Equal(t, "testdata/charts_run.txt", outline(RunCharts(stepsOf([]string{"a", "b", "none"}, samples))))
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

// TestLadderCharts holds the charts of a ladder whose steps come in any order, and of steps at a rate, one of which has
// no answer.
func TestLadderCharts(t *testing.T) {
	steps := []Summary{
		rung("a", 80, 4, 0), rung("a", 80, 1, 0), rung("b", 80, 1, 0), rung("b", 80, 4, 20), rung("a", 10000, 1, 0),
	}
	steps[0].Load = "4 at once"
	golden.Equal(t, "testdata/charts_ladder.txt", outline(LadderCharts(steps)))
	rates := []Summary{rung("a", 0, 0, 0), Summarize([]Sample{failure("b", 0, probe.Connect)})}
	golden.Equal(t, "testdata/charts_rates.txt", outline(LadderCharts(rates)))
}

// TestPage holds the texts of a page. The verdicts of many comparisons stand in its details only.
func TestPage(t *testing.T) {
	d := document()
	d.Version, d.Settings = "1.0", map[string]string{"qps": "2", "prompt_tokens": "80"}
	d.Summaries[0].URL, d.Summaries[0].Model = "http://a", "llama"
	d.Summaries[1].Warnings = nil // those have control characters, which plot leaves out
	page := pageOf("title", d)
	parts := slices.Concat(
		[]string{page.Title, "", "Verdicts:"}, page.Verdicts,
		[]string{"", "Summary:", page.Summary, "Details:", page.Details, "Warnings:"}, page.Warnings,
		[]string{"", "Settings:"}, page.Settings,
	)
	golden.Equal(t, "testdata/page.txt", strings.Join(parts, "\n")+"\n")

	d.Comparisons = slices.Repeat(d.Comparisons[:1], 4)
	page = pageOf("", d)
	if page.Verdicts != nil || strings.Count(page.Details, "95% confidence") != 4 {
		t.Errorf("verdicts %q of four comparisons with details\n%s", page.Verdicts, page.Details)
	}
}

// TestPageHTML holds that a page has each of its texts once, escaped, and loads nothing.
func TestPageHTML(t *testing.T) {
	d := Document{
		Source:    "<bench>",
		Warnings:  []string{"few <10\x1b"},
		Summaries: []Summary{{Target: "a & b", Load: "1 at once"}},
	}
	charts := []plot.Chart{{Title: "TTFT", Series: []plot.Series{{Target: "a", Points: []plot.Point{{X: 1, Y: 1}}}}}}
	var text strings.Builder
	if err := writePage(&text, "a & b", d, charts); err != nil {
		t.Fatal(err)
	}
	html := text.String()
	for _, want := range []string{
		"<title>a &amp; b</title>", "<h1>a &amp; b</h1>", "<li>few &lt;10</li>", "<li>&lt;bench&gt;, prober unknown",
		"1 at once", "<svg ", ".legend {", `content="default-src 'none'; style-src 'unsafe-inline'"`,
	} {
		if strings.Count(html, want) != 1 {
			t.Errorf("%d times %s, want it once", strings.Count(html, want), want)
		}
	}
	for _, word := range []string{"<script", "src=", "<link", "url(", "@import"} {
		if strings.Contains(html, word) {
			t.Errorf("the page holds %q", word)
		}
	}
}
