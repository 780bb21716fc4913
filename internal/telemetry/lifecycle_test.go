package telemetry

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// numbers are values of series, by name and labels.
type numbers = map[string]float64

// A recording is a recorder, and the collector that it exports metrics to.
type recording struct {
	*Recorder
	to *collector
}

func newRecording(t *testing.T) *recording {
	t.Helper()
	c := newCollector(t)
	r, _ := newOTLPTo(t, c.endpoint, map[string]string{"OTEL_TRACES_EXPORTER": "none"})
	t.Cleanup(func() { _ = r.Shutdown(context.Background()) })
	return &recording{r, c}
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

// both are all series, which /metrics and OTLP must both have.
func (r *recording) both(t *testing.T) map[string]values {
	t.Helper()
	onMetrics := scraped(gather(t, r.Recorder))
	onOTLP, _ := received(t, r.export(t))
	if diff := cmp.Diff(onMetrics, onOTLP); diff != "" {
		t.Errorf("series (-/metrics +OTLP):\n%s", diff)
	}
	return onMetrics
}

// values are the series whose key begins so; of histograms their counts.
func (r *recording) values(t *testing.T, prefix string) numbers {
	t.Helper()
	some := numbers{}
	for k, s := range r.both(t) {
		if strings.HasPrefix(k, prefix) {
			some[k] = s.Value + float64(s.Count)
		}
	}
	return some
}

// expect holds what values are.
func (r *recording) expect(t *testing.T, prefix string, want numbers) {
	t.Helper()
	if diff := cmp.Diff(want, r.values(t, prefix)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func with(r *probe.Result, change func(*probe.Result)) *probe.Result {
	change(r)
	return r
}

// TestSeriesFollowTheirTarget holds which series there are, with which values, after what happened to a target.
func TestSeriesFollowTheirTarget(t *testing.T) {
	changed := func(change func(*probe.Description)) probe.Description {
		d := fixedTarget()
		change(&d)
		return d
	}
	const of = ",model=llama,prompt=cold,target=a"
	for name, test := range map[string]struct {
		does   func(r *recording)
		prefix string
		want   numbers
	}{
		"another model starts new series": {func(r *recording) {
			r.Set(changed(func(d *probe.Description) { d.Model = "qwen" }))
			r.Record(with(succeeded5(), func(r *probe.Result) { r.Start = time.Now().Add(-time.Minute) })) // late
		}, "llm_probe_frames_total", numbers{"llm_probe_frames_total,model=qwen,prompt=cold,target=a": 0}},
		"moments end with the old series": {func(r *recording) {
			r.Set(changed(func(d *probe.Description) { d.Model = "qwen" }))
		}, "llm_probe_last_probe_timestamp_seconds", numbers{}},
		"so does another prompt": {func(r *recording) {
			r.Set(changed(func(d *probe.Description) { d.Prompt = "warm" }))
			r.Record(succeeded5()) // of the old prompt: late
			r.Record(with(succeeded5(), func(r *probe.Result) { r.Prompt = "warm" }))
		}, "llm_probe_frames_total", numbers{"llm_probe_frames_total,model=llama,prompt=warm,target=a": 4}},
		"an objective that vanished loses its series": {func(r *recording) {
			r.Set(changed(func(d *probe.Description) {
				d.Objectives = append(d.Objectives[:1:1], probe.Objective{Name: "new", Signal: probe.SignalE2EL, Limit: time.Minute, Goal: 0.9})
			}))
		}, "llm_probe_objective_", numbers{
			"llm_probe_objective_events_total,model=llama,objective=up,prompt=cold,target=a,verdict=good":  1,
			"llm_probe_objective_events_total,model=llama,objective=up,prompt=cold,target=a,verdict=bad":   0,
			"llm_probe_objective_events_total,model=llama,objective=new,prompt=cold,target=a,verdict=good": 0,
			"llm_probe_objective_events_total,model=llama,objective=new,prompt=cold,target=a,verdict=bad":  0,
			"llm_probe_objective_goal_ratio,model=llama,objective=up,prompt=cold,target=a":                 0.99,
			"llm_probe_objective_goal_ratio,model=llama,objective=new,prompt=cold,target=a":                0.9,
			"llm_probe_objective_limit_seconds,model=llama,objective=new,prompt=cold,target=a":             60,
		}},
		"a target that was removed has none": {func(r *recording) {
			r.Remove("a")
			r.Remove("never set")
			r.Record(succeeded5()) // late
			r.Skipped("a", probe.SkipLate)
		}, "llm_probe_", numbers{}},
		"it begins at zero when it comes back": {func(r *recording) {
			r.Remove("a")
			r.Set(fixedTarget())
		}, "llm_probe_frames_total", numbers{"llm_probe_frames_total" + of: 0}},
		"a label that is no UTF-8": {func(r *recording) {
			r.Record(with(succeeded5(), func(r *probe.Result) { r.Model = "m\xff" }))
		}, "llm_probe_frames_total", numbers{"llm_probe_frames_total,model=m\uFFFD,prompt=cold,target=a": 4}},
		"reloads": {func(r *recording) {
			r.Reloaded(day(), true)
			r.Reloaded(day().Add(time.Hour), false)
		}, "llm_prober_config", numbers{
			"llm_prober_config_last_reload_successful":                0,
			"llm_prober_config_last_reload_success_timestamp_seconds": float64(day().Unix()),
		}},
		"no reload yet": {func(*recording) {}, "llm_prober_config", numbers{}},
		"lookups that failed": {func(r *recording) {
			r.Add(LookupFailures, 2)
			r.Add(LookupFailures, 0)
			r.Add(LookupFailures, 1)
		}, "llm_prober_dns", numbers{"llm_prober_dns_lookup_failures_total": 3}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecording(t)
			r.Set(fixedTarget())
			r.Record(succeeded5())
			test.does(r)
			r.expect(t, test.prefix, test.want)
		})
	}
}

// TestNothingIsCounted holds that the same settings once more, and a canceled probe, change no series.
func TestNothingIsCounted(t *testing.T) {
	r := newRecording(t)
	r.Set(fixedTarget())
	r.Record(succeeded5())
	r.Skipped("a", probe.SkipBudget)
	before := r.values(t, "llm_")
	r.Set(fixedTarget())
	r.Record(with(succeeded5(), func(r *probe.Result) { r.Outcome = probe.Canceled }))
	r.expect(t, "llm_", before)
}

func TestSetOfOtherFactsGoesOn(t *testing.T) {
	r := newRecording(t)
	r.Set(fixedTarget())
	r.Record(succeeded5())
	other := fixedTarget()
	other.Interval, other.URL, other.Group = time.Minute, "http://new", "h"
	other.Server, other.Abilities = "vllm", []probe.Ability{{Name: "cached_tokens", Claim: wire.Always}}
	r.Set(other)
	r.Record(succeeded5())
	want := numbers{
		"llm_probe_frames_total,model=llama,prompt=cold,target=a":     8,
		"llm_probe_interval_seconds,model=llama,prompt=cold,target=a": 60,
		"llm_probe_target_info,api=openai-chat,cache_salt=unknown,cached_tokens=yes,continuous_usage=unknown,exact_output=unknown,group=h,model=llama,prompt=cold,server=vllm,stamp=kernel,target=a,tokenize=unknown,url=http://new": 1,
		"llm_probe_ttft_seconds,model=llama,prompt=cold,target=a":                                     2,
		"llm_probe_objective_goal_ratio,model=llama,objective=up,prompt=cold,target=a":                0.99,
		"llm_probe_objective_events_total,model=llama,objective=up,prompt=cold,target=a,verdict=good": 2,
		"llm_probe_tls_earliest_cert_expiry_timestamp_seconds,model=llama,prompt=cold,target=a":       float64(day().AddDate(0, 2, 0).Unix()),
	}
	all := r.values(t, "llm_probe_")
	maps.DeleteFunc(all, func(k string, _ float64) bool { _, asked := want[k]; return !asked })
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

// TestStampIsThatOfTheLastTokens: a result without tokens says nothing about it, and
// it stays what it was when other facts are set.
func TestStampIsThatOfTheLastTokens(t *testing.T) {
	r := newRecording(t)
	stampIs := func(when, want string) {
		t.Helper()
		all := r.values(t, "llm_probe_target_info")
		for series := range all {
			if !strings.Contains(series, ",stamp="+want+",") {
				t.Errorf("%s: %s, want stamp=%s", when, series, want)
			}
		}
		if len(all) != 1 {
			t.Errorf("%s: %d series, want one", when, len(all))
		}
	}
	r.Set(fixedTarget())
	stampIs("at first", "")
	r.Record(refused())
	stampIs("without tokens", "")
	r.Record(succeeded5())
	stampIs("after tokens with kernel timestamps", "kernel")
	r.Record(refused())
	other := fixedTarget()
	other.Interval = time.Minute
	r.Set(other)
	stampIs("after a failure and a change", "kernel")
	r.Record(with(succeeded5(), func(r *probe.Result) { r.Stamp = probe.ByUser }))
	stampIs("after tokens with our own timestamps", "user")
	r.Record(with(stalled(), func(r *probe.Result) { r.Stamp = probe.ByKernel }))
	stampIs("after tokens of a probe that failed", "kernel")
}

func TestModelIsLearnedFromResults(t *testing.T) {
	r := newRecording(t)
	unset := fixedTarget()
	unset.Model, unset.API = "", "auto"
	r.Set(unset)
	r.expect(t, "llm_probe_frames_total", numbers{"llm_probe_frames_total,model=unknown,prompt=cold,target=a": 0})
	r.Record(with(refused(), func(r *probe.Result) { r.Model, r.API = "", "" })) // the server was not reached
	r.Record(succeeded5())
	r.Set(unset) // a reload that knows no more than the one before
	r.Record(with(refused(), func(r *probe.Result) { r.Model, r.API = "", "" }))
	want := numbers{
		"llm_probe_probes_total,model=llama,outcome=ok,prompt=cold,target=a":      1,
		"llm_probe_probes_total,model=llama,outcome=connect,prompt=cold,target=a": 1,
	}
	got := r.values(t, "llm_probe_probes_total")
	maps.DeleteFunc(got, func(_ string, value float64) bool { return value == 0 })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	info := slices.Collect(maps.Keys(r.values(t, "llm_probe_target_info")))
	if len(info) != 1 || !strings.Contains(info[0], "api=openai-chat") {
		t.Errorf("info: %v", info)
	}
}

// TestTargetsThatAreGoneAreForgotten: replicas come and go for a year, and the SDK
// keeps whatever a provider ever saw.
func TestTargetsThatAreGoneAreForgotten(t *testing.T) {
	r := newRecording(t)
	held := r.backs[1].(*meters)
	var gone []weak.Pointer[meter]
	for _, name := range []string{"a", "b", "c"} {
		replica := fixedTarget()
		replica.Name = name
		r.Set(replica)
		r.Record(with(succeeded5(), func(r *probe.Result) { r.Target = name }))
		gone = append(gone, weak.Make(held.targets[name]))
	}
	r.Remove("a")
	r.Remove("c")
	r.expect(t, "llm_probe_frames_total", numbers{"llm_probe_frames_total,model=llama,prompt=cold,target=b": 4})
	r.Remove("b")
	runtime.GC()
	for n, h := range gone {
		if h.Value() != nil {
			t.Errorf("target %d is still held", n)
		}
	}
	if len(held.targets) != 0 {
		t.Errorf("held: %v", slices.Collect(maps.Keys(held.targets)))
	}
}

// TestSeriesOfGenAIEndWithTheirLastTarget: two targets of one server and model
// are one series there.
func TestSeriesOfGenAIEndWithTheirLastTarget(t *testing.T) {
	r := newRecording(t)
	twin := fixedTarget()
	twin.Name = "b"
	r.Set(fixedTarget())
	r.Set(twin)
	r.Record(succeeded5())
	chunks := func() int {
		for _, m := range r.export(t) {
			if m.Name == "gen_ai.client.operation.time_to_first_chunk" {
				return len(m.GetHistogram().DataPoints)
			}
		}
		return 0
	}
	got := []int{chunks()}
	r.Remove("a")
	got = append(got, chunks())
	r.Remove("b")
	got = append(got, chunks())
	if want := []int{1, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("series with both, one and no target: %v, want %v", got, want)
	}
}

func TestShownURL(t *testing.T) {
	for raw, want := range map[string]string{
		"https://u:p@h:1/v1?key=k#f": "https://h:1/v1",
		"http://h":                   "http://h",
		"http://h:%zz":               "",
		"":                           "",
	} {
		if got := shownURL(raw); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
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
	r.Set(randomTargets()[1])
	r.Record(with(succeeded5(), func(r *probe.Result) { r.Target, r.API = "b", "tgi" }))
	if got := r.values(t, "llm_probe_last_success_timestamp_seconds,model=llama,prompt=cold,target=b"); len(got) != 1 {
		t.Errorf("after all: %v", got)
	}
}
