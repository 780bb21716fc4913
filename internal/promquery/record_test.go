package promquery

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// present is a series that has data in all windows of six hours.
func present(labels ...string) map[string]any {
	return stream(midnight.Add(15*time.Minute), 15*time.Minute, slices.Repeat([]string{"1"}, 24), labels...)
}

// stored is a Prometheus with 40 requests of target a, 4 of which failed, in native histograms of TTFT and classic ones
// of E2EL.
func stored() *fake {
	return &fake{answers: []answer{
		{"group last_over_time target_info", []map[string]any{point(1, "url=http://a:8000")}},
		{"present_over_time", []map[string]any{present()}},
		{"histogram_quantile(0.5, ttft", []map[string]any{point(0.2)}},
		{"histogram_quantile(0.99, ttft", []map[string]any{point(0.5)}},
		{"histogram_quantile(0.5, e2el", []map[string]any{point(0.6)}},
		{"histogram_quantile(0.99, e2el", []map[string]any{point(1)}},
		{"histogram_quantile", nil},
		{"histogram_avg ttft", []map[string]any{point(0.25)}},
		{"ttft_seconds{", []map[string]any{native()}},
		{"ttft_seconds_bucket", []map[string]any{point(60, "le=+Inf")}}, // the native form is taken
		{"e2el_seconds_bucket le", []map[string]any{point(40, "le=+Inf"), point(10, "le=0.5"), point(39, "le=1")}},
		{"e2el_seconds_sum / e2el_seconds_count", []map[string]any{point(0.65)}},
		{"probes_total", []map[string]any{point(40.2, "outcome=ok"), point(3.9, "outcome=timeout"), point(0, "outcome=dns")}},
		{"skipped_total", []map[string]any{point(2, "reason=late")}},
		{"tainted_total", []map[string]any{point(7, "reason=late")}},
		{"tokens_total", []map[string]any{point(4000, "kind=prompt"), point(400, "kind=output"), point(99, "kind=cached")}},
	}}
}

func read(t *testing.T, f *fake, targets []string, match ...string) []record {
	t.Helper()
	got, err := reader{f.client(t), targets, match, hours(6)}.records(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestRecords(t *testing.T) {
	f := stored()
	got := read(t, f, []string{"a"}, `job="prober"`)
	if len(got) != 1 {
		t.Fatalf("%+v", got)
	}
	s := got[0].summary
	if s.Target != "a" || s.URL != "http://a:8000" || s.Model != "m" || s.Outcomes[probe.OK] != 40 || s.Outcomes[probe.Timeout] != 4 || s.Skipped[probe.SkipLate] != 2 || s.Input != 4000 || s.Output != 400 {
		t.Errorf("%+v", s)
	}
	if s.Start != midnight || s.Duration != 6*time.Hour || s.TTFT.Count != 40 || s.TTFT.Mean != 0.25 || s.E2EL.Count != 40 || s.E2EL.Mean != 0.65 || s.ITL.Count != 0 {
		t.Errorf("%+v", s)
	}
	// Of what is above the last finite bound Prometheus tells that bound.
	const want = "[{0.5 0.2 0.125 0.25} {0.99 0.5 0.25 0.5}] [{0.5 0.6 0.5 1} {0.99 1 1 +Inf}]"
	if got := fmt.Sprint(s.TTFT.Quantiles, s.E2EL.Quantiles); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	said(t, s, "E2EL from classic buckets", "7 of the 44 requests were read too late")
	const ttft = `sum by (target, model, prompt) (increase(llm_probe_ttft_seconds{target="a",job="prober"}[21600000ms]))`
	const classic = `sum by (target, model, prompt, le) (increase(llm_probe_e2el_seconds_bucket{target="a",job="prober"}[21600000ms]))`
	for _, want := range []string{ttft, "histogram_quantile(0.5, " + ttft + ")", classic, "histogram_quantile(0.5, " + classic + ")"} {
		if !slices.Contains(f.asked, want) {
			t.Errorf("not asked: %s", want)
		}
	}
}

// said checks the warnings of a summary by their beginnings.
func said(t *testing.T, s report.Summary, want ...string) {
	t.Helper()
	if !slices.EqualFunc(s.Warnings, want, strings.HasPrefix) {
		t.Errorf("%s: warnings\n%s\nwant\n%s", s.Target, strings.Join(s.Warnings, "\n"), strings.Join(want, "\n"))
	}
}

// TestModels checks that several models of a target are told apart.
func TestModels(t *testing.T) {
	counted := func(n float64, outcome, model string) map[string]any {
		return point(n, "outcome="+outcome, "model="+model)
	}
	for want, stored := range map[string][]map[string]any{
		"a (model m, prompt cold) 40+0, a (model unknown, prompt cold) 0+4": {counted(40, "ok", "m"), counted(4, "timeout", "unknown")},
		"a 0+4":  {counted(4, "timeout", "unknown")},
		"a 40+0": {counted(40, "ok", "m"), counted(0, "ok", "idle")},
	} {
		var got []string
		for _, r := range read(t, &fake{answers: []answer{{"probes_total sum", stored}}}, nil) {
			got = append(got, fmt.Sprintf("%s %d+%d", r.summary.Target, r.summary.Succeeded(), r.summary.Failed()))
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s, want %s", text, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	windows := func(values ...string) []map[string]any {
		return []map[string]any{stream(midnight.Add(15*time.Minute), 15*time.Minute, values)}
	}
	one := slices.Repeat([]string{"1"}, 24)
	for name, test := range map[string]struct {
		present []map[string]any
		want    []string
	}{
		"all well":         {windows(one...), nil},
		"two ways":         {windows(slices.Repeat([]string{"2"}, 24)...), []string{"counts are the sum of 2 sources (jobs, instances): "}},
		"another instance": {windows(slices.Concat(one[:12], []string{"2"}, one[13:])...), nil},
		"a hole":           {windows(one[:13]...), []string{"there is no data for 2h45m of the range's 6h"}},
	} {
		t.Log(name)
		f := &fake{answers: []answer{{"present_over_time", test.present}, {"probes_total", []map[string]any{point(0, "outcome=ok")}}}}
		said(t, read(t, f, nil)[0].summary, test.want...)
	}
}

func TestAbsent(t *testing.T) {
	for _, test := range []struct {
		stored []answer
		want   string
	}{
		{[]answer{{`probes_total{target="b"`, nil}, {"probes_total", []map[string]any{point(1, "outcome=ok")}}}, "in this range there is data of a"},
		{nil, "check that this Prometheus scrapes a prober"},
	} {
		const looked = `(looked for llm_probe_probes_total{target="b",prompt="cold"}); `
		_, err := reader{(&fake{answers: test.stored}).client(t), []string{"b"}, []string{`prompt="cold"`}, hours(6)}.records(t.Context())
		for _, want := range []string{"no data of target b from 2026-11-01 00:00:00 UTC to 2026-11-01 06:00:00 UTC in Prometheus at http://", looked, test.want} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v\nhas no %q", err, want)
			}
		}
	}
}
