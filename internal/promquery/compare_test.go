package promquery

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/report"
)

// sides returns a Prometheus with targets a and b, which have a mean in each of 20 periods of 18 minutes; b is 5%
// slower, and has none in the first two periods.
func sides() *fake {
	means := func(step time.Duration, from, to int, scale float64, target string) sample {
		var values [][]any
		for i := from; i < to; i++ {
			end := midnight.Add(time.Duration(i+1) * step)
			mean := 0.1 * scale * (1 + 0.01*float64(i%7))
			values = append(values, []any{end.Unix(), fmt.Sprint(mean)})
		}
		return sample{"metric": point(0, "target="+target)["metric"], "values": values}
	}
	return &fake{warnings: []string{"store 10.0.0.1 is\x1b[2J down"}, answers: []answer{
		{"histogram_avg ttft [1080000ms]", []sample{
			means(18*time.Minute, 0, 20, 1, "a"), means(18*time.Minute, 2, 20, 1.05, "b"),
		}},
		{"histogram_avg ttft [300000ms]", []sample{means(5*time.Minute, 0, 72, 1, "a")}},
		{"histogram_quantile(0.5, ttft", []sample{point(0.1), point(0.2, "target=b")}},
		{"histogram_quantile", nil},
		{"ttft_seconds_bucket", []sample{native(), native("target=b")}},
		{"over_time", nil},
		{"probes_total", []sample{point(400, "outcome=ok"), point(400, "target=b", "outcome=ok")}},
	}}
}

func TestCompare(t *testing.T) {
	q, err := run(t, sides(), Request{Targets: []string{"a"}, Versus: "b"})
	if err != nil {
		t.Fatal(err)
	}
	d := q.Document
	c := d.Comparisons[0]
	if c.A != "a" || c.B != "b" || c.Pair != "period of 18m" || len(c.Lines) != 1 || !slices.Equal(c.Warnings, []string{
		"2 of 20 periods have no sample on one side, and are left out",
	}) || !slices.Equal(d.Warnings, []string{"Prometheus says: store 10.0.0.1 is down"}) {
		t.Fatalf("%+v", d)
	}
	// The columns are what is compared, means of periods, and not the medians of the whole ranges, 0.1 and 0.2.
	l := c.Lines[0]
	if l.Metric != "TTFT" || !l.Shown || l.Pairs != 18 || c.Columns != report.PeriodMeans {
		t.Errorf("%s: %+v", c.Columns, l)
	}
	for want, got := range map[float64]report.Number{1.05: l.Ratio.Center, 0.103: l.A, 0.103 * 1.05: l.B,
		0.103 * 0.05: l.Difference.Center} {
		if math.Abs(float64(got)-want) > 1e-9 {
			t.Errorf("%g, want %g", got, want)
		}
	}
}

// TestCompareRanges checks a target against itself, earlier, of which there is too little: too few requests, or too
// short a time.
func TestCompareRanges(t *testing.T) {
	const needed = "too little data to compare: 8 periods of at least 5m and 10 requests are " +
		"needed; both have 7 of them in "
	for to, test := range map[string]struct {
		requests float64
		has      string
	}{
		"06:00:00": {79, "6h with 79 successful requests"},
		"00:39:00": {400, "39m with 400 successful requests"},
	} {
		f := &fake{answers: []answer{{"probes_total sum", []sample{point(test.requests, "outcome=ok")}}}}
		q, err := run(t, f, Request{Targets: []string{"a"}, To: "2026-11-01T" + to + "Z", Versus: "1d"})
		if err != nil {
			t.Fatal(err)
		}
		c := q.Document.Comparisons[0]
		if c.A != "a, from 2026-10-31 00:00:00 UTC to 2026-10-31 "+to+" UTC" || // the earlier
			c.B != "a, from 2026-11-01 00:00:00 UTC to 2026-11-01 "+to+" UTC" || len(c.Lines) > 0 {
			t.Errorf("%+v", c)
		}
		if !slices.Equal(c.Warnings, []string{needed + test.has}) {
			t.Errorf("%q", c.Warnings)
		}
	}
}
