package telemetry

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
)

// TestEverySeriesOfATargetHasItsLabels holds that all metrics of the catalog about targets have the vantage and the
// labels of the configuration, on /metrics and over OTLP, and that they cost no series. Without a vantage no series has
// the label, and the metrics of the prober itself never do.
func TestEverySeriesOfATargetHasItsLabels(t *testing.T) {
	record := func(r *recording) map[string]values {
		r.Set(fixedTarget())
		r.setChanged(func(d *probe.Description) { d.Name, d.Labels = "b", map[string]string{"team": "ads"} })
		r.Record(with(succeeded5(), func(r *probe.Result) { r.ReasoningShown = true }))
		r.Record(with(succeeded5(), func(r *probe.Result) { r.Target, r.ReasoningShown = "b", true }))
		r.Record(refused())
		r.Record(with(refused(), func(r *probe.Result) { r.Target = "b" }))
		return r.series(t)
	}
	const vantage = `vantage="eu-1"`
	r := newRecording(t, Options{Vantage: "eu-1", Labels: []string{"region", "team"}})
	all := record(r)
	unseen := map[string]bool{}
	for _, i := range Catalog() {
		if i.Scope == ScopeTarget {
			unseen[i.PrometheusName()] = true
		}
	}
	for series := range all {
		metric, labels, _ := strings.Cut(series, "{")
		delete(unseen, metric)
		isOfA := strings.Contains(labels, `target="a"`)
		isRight := strings.Contains(labels, `region="",`) && strings.Contains(labels, `team="ads"`)
		if isOfA {
			isRight = strings.Contains(labels, `region="eu"`) && strings.Contains(labels, `team="a,"b""`)
		}
		isRight = isRight && strings.Contains(labels, vantage)
		if strings.HasPrefix(metric, "llm_probe_") && !isRight {
			t.Errorf("%s lacks labels", series)
		}
		if strings.HasPrefix(metric, "llm_prober_") && strings.Contains(labels, vantage) {
			t.Errorf("%s is not about a target, and has a vantage", series)
		}
	}
	if len(unseen) > 0 {
		t.Errorf("the results are no test of %v", slices.Sorted(maps.Keys(unseen)))
	}
	for _, m := range r.export(t) {
		for _, p := range m.GetHistogram().GetDataPoints() { // of the GenAI conventions
			if labels := attributesOf(p.Attributes); labels["team"] == "" || labels["vantage"] != "eu-1" {
				t.Errorf("%s lacks labels: %v", m.Name, labels)
			}
		}
	}
	without := record(newRecording(t, Options{}))
	if len(without) != len(all) {
		t.Errorf("%d series with labels and %d without", len(all), len(without))
	}
	for series := range without {
		if strings.Contains(series, "vantage") {
			t.Errorf("%s has a vantage that nobody set", series)
		}
	}
}

// TestAnotherLabelStartsNewSeries holds that a new value replaces the series, which begin at zero, and keeps what is
// known of the target; that a label which is not shown changes nothing; and that only names differ, if values change
// places.
func TestAnotherLabelStartsNewSeries(t *testing.T) {
	r := newRecording(t, Options{Labels: []string{"region", "team"}})
	r.Set(fixedTarget())
	r.Record(succeeded5())
	labelled := func(team, region string) string {
		return `{model="llama",prompt="cold",region="` + region + `",target="a",team="` + team + `"}`
	}
	r.setChanged(func(d *probe.Description) {
		d.Labels = map[string]string{"team": `a,"b"`, "region": "eu", "tier": "gold"}
	})
	r.expect(t, framesTotal, framesTotal+labelled(`a,"b"`, "eu")+" 4")
	r.setChanged(func(d *probe.Description) { d.Labels = map[string]string{"team": "eu"} })
	r.expect(t, framesTotal, framesTotal+labelled("eu", "")+" 0")
	r.expect(t, certExpiry, certExpiry+labelled("eu", "")+" "+number(float64(day().AddDate(0, 2, 0).Unix())))
	r.Record(succeeded5())
	r.expect(t, framesTotal, framesTotal+labelled("eu", "")+" 4")
}

// TestLabelsAreQuoted holds how a value with quotes and commas stands on /metrics, and where the labels stand. A target
// that is not probed because its settings are wrong has its labels, too, so that its team hears of it.
func TestLabelsAreQuoted(t *testing.T) {
	r := newRecorder(Options{Labels: []string{"region", "team"}}, nil)
	r.Set(fixedTarget())
	r.SetRejectedTargets([]probe.Description{{Name: "b", Labels: map[string]string{"team": "ads"}}})
	metric := regexp.MustCompile(`^llm_prober?_(frames|objective_limit|target_rejected)`)
	var got []string
	for line := range strings.Lines(expositionOf(t, r)) {
		if metric.MatchString(line) {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{
		`llm_probe_frames_total{model="llama",prompt="cold",region="eu",target="a",team="a,\"b\""} 0.0`,
		`llm_probe_objective_limit_seconds{model="llama",objective="fast",prompt="cold",region="eu",target="a",` +
			`team="a,\"b\""} 1.0`,
		`llm_prober_target_rejected{external_url="",region="",target="b",team="ads"} 1.0`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
