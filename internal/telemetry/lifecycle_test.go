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
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// A recording is a recorder, and what reads its OTLP metrics.
type recording struct {
	*Recorder
	from *sdkmetric.ManualReader
}

func newRecording() *recording {
	r, from := manual(true)
	return &recording{r, from}
}

// values are all series whose key begins so, which /metrics and OTLP must both have.
func (r *recording) values(t *testing.T, prefix string) map[string]float64 {
	t.Helper()
	onOTLP := starting(read(t, collect(t, r.from)), prefix)
	onMetrics := starting(scraped(gather(t, r.Recorder)), prefix)
	if diff := cmp.Diff(onMetrics, onOTLP); diff != "" {
		t.Errorf("series (-/metrics +OTLP):\n%s", diff)
	}
	return onMetrics
}

func starting(all map[string]values, prefix string) map[string]float64 {
	some := map[string]float64{}
	for k, s := range all {
		if strings.HasPrefix(k, prefix) {
			some[k] = s.Value + float64(s.Count)
		}
	}
	return some
}

func with(r *probe.Result, change func(*probe.Result)) *probe.Result {
	change(r)
	return r
}

func TestSetTwiceChangesNothing(t *testing.T) {
	r := newRecording()
	r.Set(fixedTarget())
	r.Record(succeeded5())
	r.Skipped("a", probe.SkipBudget)
	before := r.values(t, "llm_probe_")
	r.Set(fixedTarget())
	if diff := cmp.Diff(before, r.values(t, "llm_probe_")); diff != "" {
		t.Errorf("series (-before +after):\n%s", diff)
	}
}

func TestSetOfAnotherModelStartsNewSeries(t *testing.T) {
	r := newRecording()
	r.Set(fixedTarget())
	r.Record(succeeded5())
	other := fixedTarget()
	other.Model = "qwen"
	r.Set(other)
	r.Record(with(succeeded5(), func(r *probe.Result) { r.Start = time.Now().Add(-time.Minute) })) // late
	want := map[string]float64{"llm_probe_frames_total,model=qwen,prompt=cold,target=a": 0}
	if diff := cmp.Diff(want, r.values(t, "llm_probe_frames_total")); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	if got := r.values(t, "llm_probe_last_probe_timestamp_seconds"); len(got) != 0 {
		t.Errorf("the new series has the old one's last probe: %v", got)
	}
}

func TestSetOfAnotherPromptStartsNewSeries(t *testing.T) {
	r := newRecording()
	r.Set(fixedTarget())
	r.Record(succeeded5())
	other := fixedTarget()
	other.Prompt = "warm"
	r.Set(other)
	r.Record(succeeded5()) // of the old prompt: late
	r.Record(with(succeeded5(), func(r *probe.Result) { r.Prompt = "warm" }))
	want := map[string]float64{"llm_probe_frames_total,model=llama,prompt=warm,target=a": 4}
	if diff := cmp.Diff(want, r.values(t, "llm_probe_frames_total")); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestSetOfOtherFactsGoesOn(t *testing.T) {
	r := newRecording()
	r.Set(fixedTarget())
	r.Record(succeeded5())
	other := fixedTarget()
	other.Interval, other.URL, other.Group = time.Minute, "http://new", "h"
	other.Server, other.Abilities = "vllm", []probe.Ability{{Name: "cached_tokens", Claim: wire.Always}}
	r.Set(other)
	r.Record(succeeded5())
	want := map[string]float64{
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
	r := newRecording()
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

func TestObjectiveThatVanishedLosesItsSeries(t *testing.T) {
	r := newRecording()
	r.Set(fixedTarget())
	r.Record(succeeded5())
	other := fixedTarget()
	other.Objectives = append(other.Objectives[:1:1], probe.Objective{Name: "new", Signal: probe.SignalE2EL, Limit: time.Minute, Goal: 0.9})
	r.Set(other)
	want := map[string]float64{
		"llm_probe_objective_events_total,model=llama,objective=up,prompt=cold,target=a,verdict=good":  1,
		"llm_probe_objective_events_total,model=llama,objective=up,prompt=cold,target=a,verdict=bad":   0,
		"llm_probe_objective_events_total,model=llama,objective=new,prompt=cold,target=a,verdict=good": 0,
		"llm_probe_objective_events_total,model=llama,objective=new,prompt=cold,target=a,verdict=bad":  0,
		"llm_probe_objective_goal_ratio,model=llama,objective=up,prompt=cold,target=a":                 0.99,
		"llm_probe_objective_goal_ratio,model=llama,objective=new,prompt=cold,target=a":                0.9,
		"llm_probe_objective_limit_seconds,model=llama,objective=new,prompt=cold,target=a":             60,
	}
	if diff := cmp.Diff(want, r.values(t, "llm_probe_objective_")); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestModelIsLearnedFromResults(t *testing.T) {
	r := newRecording()
	unset := fixedTarget()
	unset.Model, unset.API = "", "auto"
	r.Set(unset)
	if got := slices.Sorted(maps.Keys(r.values(t, "llm_probe_frames_total"))); !slices.Equal(got, []string{"llm_probe_frames_total,model=unknown,prompt=cold,target=a"}) {
		t.Errorf("before the first result: %v", got)
	}
	r.Record(with(refused(), func(r *probe.Result) { r.Model, r.API = "", "" })) // the server was not reached
	r.Record(succeeded5())
	r.Set(unset) // a reload that knows no more than the one before
	r.Record(with(refused(), func(r *probe.Result) { r.Model, r.API = "", "" }))
	want := map[string]float64{
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

func TestRemove(t *testing.T) {
	r := newRecording()
	r.Set(fixedTarget())
	r.Record(succeeded5())
	r.Remove("a")
	r.Remove("never set")
	r.Record(succeeded5()) // late
	r.Skipped("a", probe.SkipLate)
	if got := r.values(t, "llm_probe_"); len(got) != 0 {
		t.Errorf("after Remove: %v", got)
	}
	if got := r.values(t, "llm_prober_schedule_delay_seconds"); !cmp.Equal(got, map[string]float64{"llm_prober_schedule_delay_seconds": 1}) {
		t.Errorf("the prober's own: %v", got)
	}
	r.Set(fixedTarget())
	again := r.values(t, "llm_probe_frames_total")
	if want := map[string]float64{"llm_probe_frames_total,model=llama,prompt=cold,target=a": 0}; !cmp.Equal(again, want) {
		t.Errorf("set again, it begins with %v", again)
	}
}

// TestTargetsThatAreGoneAreForgotten: replicas come and go for a year, and the SDK
// keeps whatever a provider ever saw.
func TestTargetsThatAreGoneAreForgotten(t *testing.T) {
	r := newRecording()
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
	if got := r.values(t, "llm_probe_frames_total"); !cmp.Equal(got, map[string]float64{"llm_probe_frames_total,model=llama,prompt=cold,target=b": 4}) {
		t.Errorf("left: %v", got)
	}
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
	r := newRecording()
	twin := fixedTarget()
	twin.Name = "b"
	r.Set(fixedTarget())
	r.Set(twin)
	r.Record(succeeded5())
	chunks := func() int {
		for _, m := range collect(t, r.from) {
			if m.Name == "gen_ai.client.operation.time_to_first_chunk" {
				return len(m.Data.(metricdata.Histogram[float64]).DataPoints)
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

func TestCanceledIsNeverCounted(t *testing.T) {
	r := newRecording()
	r.Set(fixedTarget())
	before := r.values(t, "llm_")
	r.Record(with(succeeded5(), func(r *probe.Result) { r.Outcome = probe.Canceled }))
	if diff := cmp.Diff(before, r.values(t, "llm_")); diff != "" {
		t.Errorf("series (-before +after):\n%s", diff)
	}
}

func TestReloaded(t *testing.T) {
	r := newRecording()
	if got := r.values(t, "llm_prober_config"); len(got) != 0 {
		t.Errorf("before the first: %v", got)
	}
	r.Reloaded(day(), true)
	r.Reloaded(day().Add(time.Hour), false)
	want := map[string]float64{
		"llm_prober_config_last_reload_successful":                0,
		"llm_prober_config_last_reload_success_timestamp_seconds": float64(day().Unix()),
	}
	if diff := cmp.Diff(want, r.values(t, "llm_prober_config")); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestLookupsFailed(t *testing.T) {
	r := newRecording()
	for _, n := range []float64{2, 0, 1} {
		r.Add(LookupFailures, n)
	}
	want := map[string]float64{"llm_prober_dns_lookup_failures_total": 3}
	if diff := cmp.Diff(want, r.values(t, "llm_prober_dns")); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestLabelsThatAreNoUTF8(t *testing.T) {
	r := newRecording()
	r.Set(fixedTarget())
	r.Record(with(succeeded5(), func(r *probe.Result) { r.Model = "m\xff" }))
	want := map[string]float64{"llm_probe_frames_total,model=m\uFFFD,prompt=cold,target=a": 4}
	if diff := cmp.Diff(want, r.values(t, "llm_probe_frames_total")); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
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
	r := newRecording()
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
			var all metricdata.ResourceMetrics
			if err := r.from.Collect(context.Background(), &all); err != nil {
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
