package promquery

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// TestRecords checks what is made of 44 requests of target a, 4 of which failed, in native histograms of TTFT and
// classic ones of E2EL.
func TestRecords(t *testing.T) {
	f := &fake{answers: []answer{
		{"count_over_time", []sample{point(500)}}, {"quantile_over_time", nil},
		{"histogram_quantile(0.5, ttft", []sample{point(0.2)}},
		{"histogram_quantile(0.99, ttft", []sample{point(0.5)}},
		{"histogram_quantile(0.5, e2el", []sample{point(0.6)}},
		{"histogram_quantile(0.99, e2el", []sample{point(1)}},
		{"histogram_quantile", nil},
		{"histogram_avg ttft", []sample{point(0.25)}},
		{"histogram_avg e2el_seconds_sum / e2el_seconds_count", []sample{point(0.65)}},
		{"ttft_seconds_bucket", []sample{native()}},
		{"e2el_seconds_bucket le", []sample{point(40, "le=+Inf"), point(10, "le=0.5"), point(39, "le=1")}},
		{"probes_total", []sample{point(40.2, "outcome=ok"), point(3.9, "outcome=timeout"), point(0, "outcome=dns")}},
		{"skipped_total", []sample{point(2, "reason=late")}},
		{"tainted_total", []sample{point(7, "reason=late")}},
		{"tokens_total", []sample{point(4000, "kind=prompt"), point(400, "kind=output"), point(99, "kind=cached")}},
	}}
	q, err := run(t, f, Request{Targets: []string{"a"}, Match: []string{"job=prober"}})
	if err != nil || len(q.Document.Summaries) != 1 {
		t.Fatalf("%+v, %v", q.Document, err)
	}
	s := q.Document.Summaries[0]
	if s.Target != "a" || s.Model != "m" || s.Input != 4000 || s.Output != 400 {
		t.Errorf("%+v", s)
	}
	if s.Outcomes[probe.OK] != 40 || s.Outcomes[probe.Timeout] != 4 || s.Skipped[probe.SkipLate] != 2 {
		t.Errorf("outcomes %v, skipped %v", s.Outcomes, s.Skipped)
	}
	if s.Start != midnight || s.Duration != 6*time.Hour {
		t.Errorf("%v from %v", s.Duration, s.Start)
	}
	if s.TTFT.Count != 40 || s.TTFT.Mean != 0.25 || s.E2EL.Count != 40 || s.E2EL.Mean != 0.65 || s.ITL.Count != 0 {
		t.Errorf("TTFT %+v, ITL %+v, E2EL %+v", s.TTFT, s.ITL, s.E2EL)
	}
	// For a quantile above the last finite bound, Prometheus returns that bound.
	const want = "[{0.5 0.2 0 0.25} {0.99 0.5 0.25 0.5}] [{0.5 0.6 0.5 1} {0.99 1 1 +Inf}]"
	if got := fmt.Sprint(s.TTFT.Quantiles, s.E2EL.Quantiles); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !slices.EqualFunc(s.Warnings, []string{"7 of the 44 requests were read too late"}, strings.HasPrefix) {
		t.Error(s.Warnings)
	}
	// The native form is taken if there is one.
	const selection = `{target="a",job="prober"}[21600000ms]`
	const either = `sum by (target, model, prompt) (increase(llm_probe_ttft_seconds` + selection + `))` +
		` or on (target, model, prompt) ` +
		`sum by (target, model, prompt, le) (increase(llm_probe_ttft_seconds_bucket` + selection + `))`
	for _, want := range []string{either, "histogram_quantile(0.5, " + either + ")"} {
		if !slices.Contains(f.asked, want) {
			t.Errorf("not asked: %s", want)
		}
	}
}

// TestModels checks that several models of a target are told apart.
func TestModels(t *testing.T) {
	const both = "a (model m, prompt cold) 40+0, a (model n, prompt cold) 0+4"
	counted := func(n float64, outcome, model string) sample { return point(n, "outcome="+outcome, "model="+model) }
	for want, stored := range map[string][]sample{
		both:     {counted(40, "ok", "m"), counted(4, "timeout", "n")},
		"a 0+4":  {counted(4, "timeout", "unknown")},
		"a 40+0": {counted(40, "ok", "m"), counted(0, "ok", "idle")},
	} {
		var got []string
		f := &fake{answers: []answer{{"probes_total sum", stored}}}
		q, _ := run(t, f, Request{})
		for _, s := range q.Document.Summaries {
			got = append(got, fmt.Sprintf("%s %d+%d", s.Target, s.Succeeded(), s.Failed()))
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s, want %s", text, want)
		}
		_, err := run(t, f, Request{Targets: []string{"a"}, Versus: "7d"})
		const words = "a (model m, prompt cold) and a (model n, prompt cold) have data"
		several := err != nil && strings.HasPrefix(err.Error(), words)
		if several != (want == both) {
			t.Error(err)
		}
	}
}

func TestPresence(t *testing.T) {
	for want, stored := range map[string]struct{ windows, sources float64 }{
		"": {451, 1},
		"2 jobs or instances report this target and are added up: ": {500, 1.9},
		"there is no data for 3h of the range's 6h":                 {250, 1},
	} {
		const sources = `(present_over_time(llm_probe_probes_total{outcome="ok"}[300000ms]))[21600000ms:43200ms])`
		q, _ := run(t, &fake{answers: []answer{
			{"quantile_over_time(0.9, " + sources, []sample{point(stored.sources)}},
			{"count_over_time(count " + sources, []sample{point(stored.windows)}},
			{"probes_total", []sample{point(0, "outcome=ok")}},
		}}, Request{})
		got := strings.Join(q.Document.Summaries[0].Warnings, "\n")
		if !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAbsent(t *testing.T) {
	for want, stored := range map[string][]answer{
		"in this range there is data of a":            {{"probes_total", []sample{point(1, "outcome=ok")}}},
		"check that this Prometheus scrapes a prober": nil,
	} {
		_, err := run(t, &fake{answers: stored}, Request{Targets: []string{"b"}, Match: []string{"prompt=cold"}})
		const where = "no data from 2026-11-01 00:00:00 UTC to 2026-11-01 06:00:00 UTC in Prometheus at http://"
		const looked = `(looked for llm_probe_probes_total{target="b",prompt="cold"}); `
		for _, want := range []string{where, looked + want} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v\nhas no %q", err, want)
			}
		}
	}
}
