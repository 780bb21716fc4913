package promquery

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/testing/golden"
)

// countedSet returns a set of records for six hours with these increases of llm_probe_probes_total.
func countedSet(increases ...*model.Sample) recordSet {
	s := newRecordSet(selection{span: sixHours}, 30*24*time.Hour)
	s.addProbes(increases)
	return s
}

// TestRecords holds what is made of the answers about two targets. Target a has native histograms, and an objective
// that missed the hour before the last of the range. The other has classic histograms, whose buckets come in any order.
// Its last quantile is above the last finite bound, and Prometheus returns that bound. Series without requests add
// nothing.
func TestRecords(t *testing.T) {
	s := countedSet(sample(40.2, "outcome=ok"), sample(3.9, "outcome=timeout"), sample(0, "outcome=dns"),
		sample(40, "outcome=ok", "target=classic"))
	s.addSkipped(model.Vector{sample(2, "reason=late"), sample(0.4, "reason=budget")})
	s.addTainted(model.Vector{sample(4, "reason=late"), sample(3, "reason=coalesced")})
	s.addTokens(model.Vector{sample(4000, "kind=prompt"), sample(400, "kind=output"), sample(99, "kind=cached")})
	native, unused := sample(0), sample(0, "model=unused")
	native.Histogram = &model.SampleHistogram{Buckets: model.HistogramBuckets{
		{Lower: -0.25, Upper: 0.25, Count: 30}, {Lower: 0.25, Upper: 0.5, Count: 10},
	}}
	unused.Histogram = &model.SampleHistogram{}
	seconds := func(native, classic float64) model.Vector {
		return model.Vector{
			sample(native), sample(classic, "target=classic"), sample(math.NaN(), "model=unused"),
		}
	}
	s.addLatency(report.Quantities()[3], storedLatency{
		histograms: model.Vector{
			native, unused,
			sample(40, "target=classic", "le=+Inf"), sample(10, "target=classic", "le=0.5"),
			sample(39, "target=classic", "le=1"),
		},
		means: seconds(0.25, 0.65),
		quantiles: []model.Vector{
			seconds(0.2, 0.6), seconds(0.25, 0.8), seconds(0.3, 0.9), seconds(0.4, 0.97), seconds(0.5, 1),
		},
	})
	addObjectives(s)
	s.addPresence(time.Hour, model.Vector{sample(6), sample(6, "target=classic")})
	var d report.Document
	for _, r := range s.reported() {
		d.Summaries = append(d.Summaries, r.summary)
	}
	var text strings.Builder
	if err := d.Write(&text, "json", 0); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/records.json", text.String())
}

// TestBadRefusals holds that the worst hours name refused requests only if these are bad.
func TestBadRefusals(t *testing.T) {
	for _, test := range []struct {
		infos model.Vector
		want  string
	}{
		{nil, "map[timeout:30]"},
		{model.Vector{sample(1, "target=other"), sample(1, "vantage=eu")}, "map[timeout:30]"},
		{model.Vector{sample(1)}, "map[timeout:30 unauthorized:5]"},
	} {
		s := countedSet(sample(40, "outcome=ok"))
		s.addGoals(model.Vector{sample(0.99, "objective=availability")})
		s.addBadRefusals(test.infos)
		last := func(value float64, label string) periodValue {
			return periodValue{labels: sample(0, label).Metric, period: 30*24 - 1, value: value}
		}
		s.addEvents([]periodValue{last(35, "verdict=bad")})
		s.addFailures([]periodValue{last(30, "outcome=timeout"), last(5, "outcome=unauthorized"), last(9, "outcome=ok")})
		got := fmt.Sprint(s.reported()[0].summary.Budgets[0].Hours[0].Outcomes)
		if got != test.want {
			t.Errorf("with %v: %s, want %s", test.infos, got, test.want)
		}
	}
}

// addObjectives adds two objectives of target a, and one of a target without requests.
func addObjectives(s recordSet) {
	s.addGoals(model.Vector{
		sample(0.75, "objective=ttft"), sample(0.99, "objective=availability"), sample(0.9, "target=gone", "objective=ttft"),
	})
	s.addLimits(model.Vector{sample(2, "objective=ttft"), sample(2, "target=gone", "objective=ttft")})
	hour := func(fromEnd int, value float64, labels ...string) periodValue {
		return periodValue{labels: sample(0, labels...).Metric, period: 30*24 - 1 - fromEnd, value: value}
	}
	s.addEvents([]periodValue{
		hour(1, 40, "objective=ttft", "verdict=bad"), hour(1, 320, "objective=ttft", "verdict=good"),
		hour(0, 359.6, "objective=ttft", "verdict=good"),
	})
	s.addFailures([]periodValue{
		hour(1, 29.9, "outcome=timeout"), hour(1, 330, "outcome=ok"), hour(1, 5, "outcome=unauthorized"),
	})
}

// TestSeriesOfATarget holds which series of a target are reported, and by which name.
func TestSeriesOfATarget(t *testing.T) {
	for _, test := range []struct {
		about string
		set   recordSet
		want  []string
	}{
		{
			"two models have requests",
			countedSet(sample(4, "outcome=timeout", "model=n"), sample(40, "outcome=ok")),
			[]string{"a (model m, prompt cold): 40 + 0", "a (model n, prompt cold): 0 + 4"},
		},
		{
			"two places have requests, and a third has none",
			countedSet(sample(40, "outcome=ok", "vantage=eu"), sample(4, "outcome=timeout", "vantage=us"),
				sample(0, "outcome=ok", "vantage=ap"), sample(0, "outcome=ok", "vantage=us", "model=idle")),
			[]string{"a (vantage ap): 0 + 0", "a (vantage eu): 40 + 0", "a (vantage us): 0 + 4"},
		},
		{
			"a place got its name, and another model answers there",
			countedSet(sample(40, "outcome=ok"), sample(4, "outcome=ok", "vantage=eu", "model=n"),
				sample(1, "outcome=ok", "target=b", "vantage=eu")),
			[]string{
				"a (model m, prompt cold, no vantage): 40 + 0", "a (model n, prompt cold, vantage eu): 4 + 0", "b: 1 + 0",
			},
		},
		{
			"one model has none",
			countedSet(sample(0, "outcome=ok", "model=idle"), sample(40, "outcome=ok")),
			[]string{"a: 40 + 0"},
		},
		{"the only model has none", countedSet(sample(0, "outcome=ok", "model=unknown")), []string{"a: 0 + 0"}},
	} {
		var got []string
		for _, r := range test.set.reported() {
			s := r.summary
			got = append(got, fmt.Sprintf("%s: %d + %d", s.Target, s.Succeeded(), s.Failed()))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.about, diff)
		}
	}
}

func TestWarningsOfMissingData(t *testing.T) {
	const window = 43_200 * time.Millisecond // a 500th of six hours
	for _, test := range []struct {
		about            string
		windows, sources float64
		latencies        int // of 40 requests
		tainted          int
		want             string
	}{
		{"nine tenths of the range have data", 451, 1, 40, 0, ""},
		{"half of the range has data", 250, 1, 40, 0, "there is no data for 3h of the range's 6h"},
		{
			"two sources add up, mostly", 500, 1.9, 40, 0,
			"2 jobs or instances report this target and are added up: if they are one prober that is scraped twice, " +
				"select one with --match job=NAME",
		},
		{"four fifths have a latency", 500, 1, 32, 0, ""},
		{
			"less than four fifths have a latency", 500, 1, 31, 0, "latencies are of 31 of the 40 successful requests: " +
				"the others are stored only as the other kind of histogram (native or classic)",
		},
		{"some were late", 500, 1, 40, 7, "7 of the 40 requests were read too late by the prober: excluded from ITL"},
	} {
		s := countedSet(sample(40, "outcome=ok"))
		s.addPresence(window, model.Vector{sample(test.windows)})
		s.warnOfSources(model.Vector{sample(test.sources)})
		one := s.recordOf(sample(0).Metric)
		one.summary.E2EL.Count = test.latencies
		one.tainted = test.tainted
		got := strings.Join(s.reported()[0].summary.Warnings, "\n")
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.about, diff)
		}
	}
}

func TestNoData(t *testing.T) {
	for _, test := range []struct {
		about  string
		stored model.Vector // of all targets
		want   string
	}{
		{"another target has some", model.Vector{sample(1, "outcome=ok")}, "in this range there is data of a"},
		{"no target has any", nil, "check that this Prometheus scrapes a prober or receives its OTLP"},
	} {
		s := &stored{vectors: map[string]model.Vector{counted + `prompt="cold"`: test.stored}}
		_, err := s.query(t, Request{Targets: []string{"b"}, Match: []string{"prompt=cold"}}).Run(t.Context())
		want := "no data from 2026-11-01 00:00:00 UTC to 2026-11-01 06:00:00 UTC in Prometheus at http://prometheus:9090 " +
			`(looked for llm_probe_probes_total{target="b",prompt="cold"}); ` + test.want
		if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.about, diff)
		}
	}
}
