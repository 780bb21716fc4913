package report

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/stats"
	"github.com/llm-prober/prober/internal/testing/golden"
)

// line returns the line of a comparison in which B takes low to high times as long as A.
func line(metric string, a, low, high stats.Number) Line {
	middle := stats.Number(math.Sqrt(float64(low * high)))
	return Line{Metric: metric, Difference: stats.Difference{
		Pairs: 10, Needed: 8, A: a, B: a * middle, Shown: low > 1 || high < 1,
		Seconds: stats.Interval{Median: a*middle - a, Low: a*low - a, High: a*high - a},
		Ratio:   stats.Interval{Median: middle, Low: low, High: high},
	}}
}

func TestVerdict(t *testing.T) {
	few := line("TTFT", 0.8, 1, 1)
	few.Pairs, few.Seconds.Low, few.Seconds.High = 5, stats.Number(math.Inf(-1)), stats.Number(math.Inf(1))
	few.Ratio.Low, few.Ratio.High = stats.Number(math.NaN()), stats.Number(math.NaN())
	for _, test := range []struct {
		l    Line
		want string
	}{
		{line("E2EL", 1, 2.3, 2.9), "B is 2.3 to 2.9 times slower than A"},
		{line("E2EL", 1, 1/2.9, 1/2.3), "B is 2.3 to 2.9 times faster than A"},
		{line("E2EL", 1, 12.4, 15.1), "B is 12 to 15 times slower than A"},
		{line("E2EL", 1, 1.04, 2.9), "B is 1.04 to 2.9 times slower than A"},
		{line("E2EL", 1, 2.601, 2.602), "B is 2.6 times slower than A"},
		{line("TTFT", 0.8, 1.031, 1.035), "B is 3.1% to 3.5% slower than A"},
		{line("TTFT", 0.8, 0.965, 0.969), "B is 3.1% to 3.5% faster than A"},
		{line("TTFT", 0.8, 1.00001, 1.00002), "B is under 0.01% slower than A"},
		{line("TTFT", 0.8, 0.996, 1.006), "no difference shown at n=10 (B is between 0.4% faster and 0.6% slower than A)"},
		{line("TTFT", 0.8, 0.5, 3),
			"no difference shown at n=10 (B is between 2.0 times faster and 3.0 times slower than A)"},
		{few, "inconclusive: n=5 is too few, 8 are needed"},
		{line("TPOT", 0.0028, 2.5, 2.77), "B is 2.5 to 2.8 times slower than A; A decodes 357 tokens/s, B 136"},
	} {
		if diff := cmp.Diff(test.want, Comparison{Pair: "round"}.verdict(test.l, "A", "B")); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// TestVerdictOfRanges holds that two ranges of time differ, and that neither is said to be slower.
func TestVerdictOfRanges(t *testing.T) {
	c := Comparison{Pair: "period of 1h0m0s", Apart: Ranges}
	alike := line("TTFT", 0.8, 0.98, 1.06)
	alike.HiddenByCorrelation = true
	wide := line("TTFT", 0.8, 0.05, 40)
	for want, l := range map[string]Line{
		"these two ranges differ: B was 3.1% to 3.5% slower than A": line("TTFT", 0.8, 1.031, 1.035),
		"these two ranges differ: B was 3.1% to 3.5% faster than A": line("TTFT", 0.8, 0.965, 0.969),
		"no difference shown at n=10 (B is between 2.0% faster and 6.0% slower than A); " +
			"neighbouring periods of 1h0m0s may be too alike to tell, measure longer": alike,
		"no difference shown at n=10": wide,
	} {
		if diff := cmp.Diff(want, c.verdict(l, "A", "B")); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// comparison returns a comparison of two targets that answered some rounds, in which b is slower.
func comparison(a, b string, rounds int) Comparison {
	left, right := answers(a, rounds, 0.7961, 0.0028, 0.004, 1), answers(b, rounds, 0.8226, 0.00736, 0.004, 2)
	return compared(left, right)
}

// compared compares the samples of two targets.
func compared(left, right []Sample) Comparison {
	c := Comparison{A: left[0].Target, B: right[0].Target, Pair: "round", Load: "0.1 QPS"}
	return CompareSamples(c, left, right)
}

// TestComparisonTexts holds comparisons with names that fit into the table, that do not, and that are the same; with
// too few rounds; and without any.
func TestComparisonTexts(t *testing.T) {
	var texts []string
	for _, c := range []Comparison{
		comparison("vllm", "ray-serve", 10),
		comparison("production-stack", "ray-serve", 10),
		comparison("vllm", "vllm", 8),
		comparison("vllm", "ray-serve", 5),
		Compare(Comparison{A: "vllm", B: "ray-serve", Pair: "round"}, nil),
	} {
		texts = append(texts, c.Text(80))
	}
	golden.Equal(t, "testdata/comparisons.txt", strings.Join(texts, "\n\n"))
}
