package telemetry

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// A recording is a recorder, and the collector that it exports metrics to.
type recording struct {
	*Recorder
	to        *collector
	exemplars int // of the last export
}

func newRecording(t *testing.T) *recording {
	t.Helper()
	c := newCollector(t)
	r, _ := newOTLPTo(t, c.endpoint, map[string]string{"OTEL_TRACES_EXPORTER": "none"})
	t.Cleanup(func() { _ = r.Shutdown(context.Background()) })
	return &recording{Recorder: r, to: c}
}

// export is what the collector receives now.
func (r *recording) export(t *testing.T) []*metricspb.Metric {
	t.Helper()
	r.to.metrics = nil
	if err := r.metrics.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return metricsOf(t, r.to)
}

// both are all series, which /metrics and OTLP must both have. Sums may differ in the last bits: after a scrape
// client_golang adds up in another order.
func (r *recording) both(t *testing.T) map[string]values {
	t.Helper()
	onMetrics := scraped(gather(t, r.Recorder))
	onOTLP, exemplars := received(t, r.export(t))
	r.exemplars = exemplars
	if diff := cmp.Diff(onMetrics, onOTLP, cmpopts.EquateApprox(1e-14, 0)); diff != "" {
		t.Errorf("series (-/metrics +OTLP):\n%s", diff)
	}
	return onMetrics
}

// values are the series whose key begins so; of histograms their counts.
func (r *recording) values(t *testing.T, prefix string) map[string]float64 {
	t.Helper()
	some := map[string]float64{}
	for k, s := range r.both(t) {
		if strings.HasPrefix(k, prefix) {
			some[k] = s.Value + float64(s.Count)
		}
	}
	return some
}

// TestSeriesFollowTheirTarget holds which series there are, with which values, after what happened to a target that had
// one success.
func TestSeriesFollowTheirTarget(t *testing.T) {
	changed := func(change func(*probe.Description)) probe.Description {
		d := fixedTarget()
		change(&d)
		return d
	}
	unset := changed(func(d *probe.Description) { d.Model, d.API = "", "auto" })
	unreached := with(refused(), func(r *probe.Result) { r.Model, r.API = "", "" })
	described := changed(func(d *probe.Description) {
		d.Interval, d.URL, d.Group = time.Minute, "http://new", "h"
		d.Server, d.Abilities = "vllm", []probe.Ability{{Name: "cached_tokens", Claim: wire.Always}}
	})
	judged := changed(func(d *probe.Description) {
		added := probe.Objective{Name: "new", Signal: probe.SignalE2EL, Limit: time.Minute, Goal: 0.9}
		d.Objectives = append(d.Objectives[:1:1], added)
	})
	ended := float64(day().Add(ms(700)).UnixMilli()) / 1000
	const frames, of = "llm_probe_frames_total", ",model=llama,prompt=cold,target=a"
	const expiry = "llm_probe_tls_earliest_cert_expiry_timestamp_seconds"
	const goodEvents = "llm_probe_objective_events_total,model=llama,objective=fast,prompt=cold,target=a,verdict=good"
	for name, test := range map[string]struct {
		does   func(r *recording)
		prefix string
		want   map[string]float64
	}{
		"the same settings and a canceled probe change nothing": {func(r *recording) {
			r.Set(fixedTarget())
			r.Record(with(succeeded5(), func(r *probe.Result) { r.Outcome = probe.Canceled }))
		}, frames, map[string]float64{frames + of: 4}},
		"other facts go on": {func(r *recording) {
			r.Set(described)
			r.Record(succeeded5())
		}, frames, map[string]float64{frames + of: 8}},
		"and moments stay": {func(r *recording) { r.Set(described) }, expiry, map[string]float64{
			expiry + of: float64(day().AddDate(0, 2, 0).Unix()),
		}},
		"they are labels, and another server's timestamps unknown": {func(r *recording) {
			r.Set(described)
		}, "llm_probe_target_info", map[string]float64{
			"llm_probe_target_info,api=openai-chat,cache_salt=unknown,cached_tokens=yes,continuous_usage=unknown," +
				"exact_output=unknown,group=h,model=llama,prompt=cold,server=vllm,target=a,timestamps=," +
				"tokenize=unknown,url=http://new": 1,
		}},
		"timestamps are those of the last tokens, whatever else is set": {func(r *recording) {
			r.Record(with(stalled(), func(r *probe.Result) { r.Timestamps = probe.ByUser }))
			r.Set(changed(func(d *probe.Description) { d.Interval = time.Minute }))
			r.Record(refused())
		}, "llm_probe_target_info", map[string]float64{
			"llm_probe_target_info,api=openai-chat,cache_salt=unknown,cached_tokens=unknown,continuous_usage=unknown," +
				"exact_output=unknown,group=g,model=llama,prompt=cold,server=unknown,target=a,timestamps=user," +
				"tokenize=unknown,url=https://llm.example:8443/v1": 1,
		}},
		"another model starts new series": {func(r *recording) {
			r.Set(changed(func(d *probe.Description) { d.Model = "qwen" }))
			r.Record(succeeded5()) // of the old model: late
		}, frames, map[string]float64{frames + ",model=qwen,prompt=cold,target=a": 0}},
		"moments end with the old series": {func(r *recording) {
			r.Set(changed(func(d *probe.Description) { d.Model = "qwen" }))
		}, "llm_probe_last_probe_timestamp_seconds", map[string]float64{}},
		"so does another prompt": {func(r *recording) {
			r.Set(changed(func(d *probe.Description) { d.Prompt = "warm" }))
			r.Record(succeeded5()) // of the old prompt: late
			r.Record(with(succeeded5(), func(r *probe.Result) { r.Prompt = "warm" }))
		}, frames, map[string]float64{frames + ",model=llama,prompt=warm,target=a": 4}},
		"a model that is not known yet": {func(r *recording) {
			r.Remove("a")
			r.Set(unset)
		}, frames, map[string]float64{frames + ",model=unknown,prompt=cold,target=a": 0}},
		"one that is known stays when a reload leaves it open": {func(r *recording) {
			r.Set(unset)
			r.Record(unreached) // names no model, and counts
			r.Record(succeeded5())
		}, "llm_probe_failed_seconds,model=llama,outcome=connect", map[string]float64{
			"llm_probe_failed_seconds,model=llama,outcome=connect,prompt=cold,target=a": 1,
		}},
		"other objectives start new series": {func(r *recording) {
			r.Set(judged)
		}, "llm_probe_objective_", map[string]float64{
			"llm_probe_objective_events_total,model=llama,objective=up,prompt=cold,target=a,verdict=good":  0,
			"llm_probe_objective_events_total,model=llama,objective=up,prompt=cold,target=a,verdict=bad":   0,
			"llm_probe_objective_events_total,model=llama,objective=new,prompt=cold,target=a,verdict=good": 0,
			"llm_probe_objective_events_total,model=llama,objective=new,prompt=cold,target=a,verdict=bad":  0,
			"llm_probe_objective_goal_ratio,model=llama,objective=up,prompt=cold,target=a":                 0.99,
			"llm_probe_objective_goal_ratio,model=llama,objective=new,prompt=cold,target=a":                0.9,
			"llm_probe_objective_limit_seconds,model=llama,objective=new,prompt=cold,target=a":             60,
		}},
		"objectives in another order go on": {func(r *recording) {
			r.Set(changed(func(d *probe.Description) { slices.Reverse(d.Objectives) }))
		}, frames, map[string]float64{frames + of: 4}},
		"an objective that comes back begins at zero": {func(r *recording) {
			r.Set(judged)
			r.Set(fixedTarget())
			r.Record(succeeded5())
		}, goodEvents, map[string]float64{
			goodEvents: 1,
		}},
		"moments go on with other objectives": {func(r *recording) { r.Set(judged) }, "llm_probe_last_", map[string]float64{
			"llm_probe_last_probe_timestamp_seconds" + of:     ended,
			"llm_probe_last_available_timestamp_seconds" + of: ended,
			"llm_probe_last_success_timestamp_seconds" + of:   ended,
		}},
		"and so does the expiry of certificates": {func(r *recording) { r.Set(judged) }, expiry, map[string]float64{
			expiry + of: float64(day().AddDate(0, 2, 0).Unix()),
		}},
		"a target that was removed has none": {func(r *recording) {
			r.Remove("a")
			r.Remove("never set")
			r.Record(succeeded5()) // late
			r.Skipped("a", probe.SkipLate)
		}, "llm_probe_", map[string]float64{}},
		"it begins at zero when it comes back": {func(r *recording) {
			r.Remove("a")
			r.Set(fixedTarget())
		}, frames, map[string]float64{frames + of: 0}},
		"a label that is no UTF-8": {func(r *recording) {
			r.Set(changed(func(d *probe.Description) { d.Model = "m\xff" }))
			r.Record(with(succeeded5(), func(r *probe.Result) { r.Model = "m\xff" }))
		}, frames, map[string]float64{frames + ",model=m\uFFFD,prompt=cold,target=a": 4}},
		"time to first answer token begins with reasoning, and goes on without": {func(r *recording) {
			r.Record(with(succeeded5(), func(r *probe.Result) { r.Reasoned = true }))
			r.Record(succeeded5())
		}, "llm_probe_ttfat_seconds", map[string]float64{"llm_probe_ttfat_seconds" + of: 2}},
		"reloads": {func(r *recording) {
			r.Reloaded(day(), true)
			r.Reloaded(day().Add(time.Hour), false)
		}, "llm_prober_config", map[string]float64{
			"llm_prober_config_last_reload_successful":                0,
			"llm_prober_config_last_reload_success_timestamp_seconds": float64(day().Unix()),
		}},
		"lookups that failed": {func(r *recording) {
			r.Add(LookupFailures, 2)
			r.Add(LookupFailures, 1)
		}, "llm_prober_dns", map[string]float64{"llm_prober_dns_lookup_failures_total": 3}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecording(t)
			r.Set(fixedTarget())
			r.Record(succeeded5())
			test.does(r)
			if diff := cmp.Diff(test.want, r.values(t, test.prefix)); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTargetsThatAreGoneAreForgotten: replicas come and go for a year, and the SDK keeps whatever a provider ever saw.
func TestTargetsThatAreGoneAreForgotten(t *testing.T) {
	r := newRecording(t)
	held := r.backends[1].(*otelBackend)
	var gone []weak.Pointer[meter]
	for _, name := range []string{"a", "b", "c"} {
		replica := fixedTarget()
		replica.Name = name
		r.Set(replica)
		r.Record(with(succeeded5(), func(r *probe.Result) { r.Target = name }))
		for _, scope := range []Scope{ScopeTarget, ScopeGenAI} {
			gone = append(gone, weak.Make(held.meters[meterKey{scope, name}]))
		}
	}
	r.Remove("a")
	r.Remove("c")
	if all := r.values(t, "llm_probe_frames_total"); len(all) != 1 {
		t.Errorf("series of one target: %v", all)
	}
	r.Remove("b")
	if len(held.meters) != 1 {
		t.Errorf("%d meters are held, want that of the prober", len(held.meters))
	}
	runtime.GC()
	for n, h := range gone {
		if h.Value() != nil {
			t.Errorf("meter %d is still held", n)
		}
	}
}

// TestSeriesOfTheConventions holds that targets of one server and model have series of their own by the GenAI
// conventions, that these begin anew with other attributes, as when the API was detected, and end with the target.
func TestSeriesOfTheConventions(t *testing.T) {
	r := newRecording(t)
	series := func() []string {
		var all []string
		for _, m := range r.export(t) {
			if m.Name == "gen_ai.client.operation.time_to_first_chunk" {
				for _, p := range m.GetHistogram().DataPoints {
					of := pairs(p.Attributes)
					all = append(all, fmt.Sprint(of["target"], " ", of["gen_ai.provider.name"], " ", p.Count))
				}
			}
		}
		slices.Sort(all)
		return all
	}
	record := func(target string) {
		r.Record(with(succeeded5(), func(r *probe.Result) { r.Target = target }))
	}
	a, b := fixedTarget(), fixedTarget()
	b.Name = "b"
	r.Set(a)
	r.Set(b)
	record("a")
	record("b")
	record("b")
	got := [][]string{series()}
	a.API = "tgi"
	r.Set(a)
	r.Set(b) // as it was
	record("a")
	got = append(got, series())
	r.Remove("b")
	got = append(got, series())
	want := [][]string{{"a openai 1", "b openai 2"}, {"a tgi 1", "b openai 2"}, {"a tgi 1"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// TestConcurrency: everything at once. The race detector judges.
func TestConcurrency(t *testing.T) {
	r := newRecording(t)
	var running sync.WaitGroup
	results := random(200)
	for worker := range 4 {
		running.Go(func() {
			for n, result := range results {
				switch (n + worker) % 10 {
				case 0:
					r.Set(fixedTarget())
				case 1:
					r.Remove("a")
				case 2:
					r.Skipped("b", probe.SkipLate)
				case 3:
					r.Reloaded(day(), true)
				default:
					r.Record(result)
				}
			}
		})
	}
	running.Go(func() {
		for range 20 {
			gather(t, r.Recorder)
			if err := r.metrics.ForceFlush(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
	running.Wait()
	r.both(t)
}
