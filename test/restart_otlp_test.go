package test

import (
	"fmt"
	"testing"
)

// TestRestartOverOTLP holds what a Prometheus makes of a reload and of a restart
// that is sent OTLP. One that does not look at start times misses the first value
// of each histogram: OpenTelemetry cannot send an empty one before.
func TestRestartOverOTLP(t *testing.T) {
	t.Parallel()
	for _, of := range []struct {
		name    string
		environ string
		flags   []string
		resets  float64 // after a restart
		misses  float64 // samples in each life
	}{
		{"as by default", "", nil, 0, 1},
		{"start times and one instance", "OTEL_RESOURCE_ATTRIBUTES=service.instance.id=prober-0", []string{"--enable-feature", "created-timestamp-zero-ingestion"}, 1, 0},
	} {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			r := ingestion{name: of.name, job: "prober", into: startPrometheus(t, "", nil, append([]string{
				"--web.enable-otlp-receiver", "--enable-feature", "promql-extended-range-selectors",
			}, of.flags...)...)}
			l := newLife(t, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="+r.into.url+"/api/v1/otlp/v1/metrics", "OTEL_METRIC_EXPORT_INTERVAL=100", of.environ)
			l.begin(t)
			l.all(t, func() {
				r.sentHolds(t, "a", lifeProbes, lifeProbes-of.misses, 0)
				r.sentHolds(t, "c", lifeProbes, lifeProbes-of.misses, 0)
				eventually(t, "exports without the removed target", func() bool {
					return r.value(t, `max(timestamp(llm_probe_probes_total{target="a"})) - max(timestamp(llm_probe_probes_total{target="b"}))`) > 1
				})
			})
			r.sentHolds(t, "a", 2*lifeProbes, 2*(lifeProbes-of.misses), of.resets)
			r.sentHolds(t, "c", 2*lifeProbes, 2*(lifeProbes-of.misses), of.resets)
		})
	}
}

// sentHolds waits until the last probe has come, and holds the sums over all
// instances against what was made; seen is how many of the samples of a histogram
// increase() can know of.
func (r ingestion) sentHolds(t *testing.T, target string, made, seen, resets float64) {
	t.Helper()
	counter := fmt.Sprintf(`llm_probe_probes_total{outcome="ok",target=%q}`, target)
	histogram := fmt.Sprintf(`llm_probe_e2el_seconds{target=%q}`, target)
	eventually(t, fmt.Sprintf("%s: the last of %v probes of %s", r.name, made, target), func() bool {
		return r.value(t, "sum(increase("+counter+"[5m] anchored))") == made
	})
	for _, series := range []string{counter, histogram} {
		if got := r.value(t, "sum(resets("+series+"[5m]))"); got != resets {
			t.Errorf("%s: %v resets of %s, want %v", r.name, got, series, resets)
		}
	}
	r.between(t, "sum(increase("+counter+"[5m]))", made, made*r.extrapolated(t, counter))
	r.between(t, "histogram_count(sum(increase("+histogram+"[5m])))", seen, made*r.extrapolated(t, histogram))
}

func (r ingestion) between(t *testing.T, expr string, least, most float64) {
	t.Helper()
	if got := r.value(t, expr); !(got >= least && got <= most) {
		t.Errorf("%s: %s is %v, want %v to %v", r.name, expr, got, least, most)
	}
}

// extrapolated is the factor by which increase() over more time than there are
// samples can be too large: it goes on for half the time between two samples, or
// for a tenth more than all of it, at either end.
func (r ingestion) extrapolated(t *testing.T, series string) float64 {
	t.Helper()
	return 1 + 2.2/(r.value(t, "min(count_over_time("+series+"[5m]))")-1)
}
