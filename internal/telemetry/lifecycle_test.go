package telemetry

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/wire"
)

// ofA are the labels of the fixed target's series.
const ofA = `{model="llama",prompt="cold",target="a"}`

// The series of which most tests look at one.
const (
	framesTotal = "llm_probe_frames_total" // 4 for each succeeded5
	certExpiry  = "llm_probe_tls_earliest_cert_expiry_timestamp_seconds"
)

// expiryOfA returns the series of the certificate that the fixed results show.
func expiryOfA() string { return fmt.Sprint(certExpiry, ofA, " ", day().AddDate(0, 2, 0).Unix()) }

// afterSuccess returns a recording of the fixed target with one success.
func afterSuccess(t *testing.T) *recording {
	t.Helper()
	r := newRecording(t, Options{})
	r.Set(fixedTarget())
	r.Record(succeeded5())
	return r
}

// setChanged sets the fixed target with a change.
func (r *recording) setChanged(change func(*probe.Description)) {
	target := fixedTarget()
	change(&target)
	r.Set(target)
}

// expectInfo compares some labels of target_info, of which there must be one series.
func (r *recording) expectInfo(t *testing.T, want map[string]string) {
	t.Helper()
	for _, family := range gather(t, r.Recorder) {
		if family.GetName() != "llm_probe_target_info" {
			continue
		}
		if len(family.Metric) != 1 {
			t.Fatalf("%d series of target_info, want 1", len(family.Metric))
		}
		labels := labelsOf(family.Metric[0])
		for name, value := range want {
			if labels[name] != value {
				t.Errorf("target_info has %s=%q, want %q", name, labels[name], value)
			}
		}
		return
	}
	t.Error("no target_info")
}

func TestReloadOfTheSameSettingsChangesNothing(t *testing.T) {
	r := afterSuccess(t)
	r.Set(fixedTarget())
	r.setChanged(func(d *probe.Description) { slices.Reverse(d.Objectives) })
	r.expect(t, framesTotal, framesTotal+ofA+" 4")
}

// TestReloadWithOtherInfoKeepsTheSeries holds that settings which only target_info shows end no other series. How a
// server at another URL is timestamped is not known before its first token.
func TestReloadWithOtherInfoKeepsTheSeries(t *testing.T) {
	r := afterSuccess(t)
	r.setChanged(func(d *probe.Description) {
		d.Interval, d.URL, d.Group = time.Minute, "http://new", "h"
		d.Server, d.Abilities = "vllm", []server.Ability{{Name: "cached_tokens", Claim: wire.Always}}
		d.Objectives[0].RefusalsAreBad = true
	})
	r.expectInfo(t, map[string]string{
		"cached_tokens": "yes", "cache_salt": "unknown", "group": "h", "refusals": "bad", "server": "vllm",
		"timestamps": "", "url": "http://new", "server_version": "",
	})
	r.expect(t, certExpiry)
	r.Record(succeeded5())
	r.expect(t, certExpiry, expiryOfA())
	r.expect(t, framesTotal, framesTotal+ofA+" 8")
}

// TestExpiredCertificateAfterARestart holds that a certificate that fails each handshake from the start on has its
// expiry, although the model is not known, and keeps it while the server cannot be reached.
func TestExpiredCertificateAfterARestart(t *testing.T) {
	r := newRecording(t, Options{})
	r.setChanged(func(d *probe.Description) { d.Model, d.API = "", "" })
	r.expect(t, certExpiry)
	r.Record(with(refused(), func(r *probe.Result) {
		r.Model, r.Outcome, r.CertExpiry = "", probe.TLS, day().AddDate(0, 0, -1)
	}))
	r.Record(with(refused(), func(r *probe.Result) { r.Model = "" }))
	r.expect(t, certExpiry, certExpiry+`{model="unknown",prompt="cold",target="a"} `+number(unixSeconds(day().AddDate(0, 0, -1))))
}

// TestTimestampsAreThoseOfTheLastTokens holds that neither a reload nor a probe without a token changes what
// target_info says of them.
func TestTimestampsAreThoseOfTheLastTokens(t *testing.T) {
	r := afterSuccess(t)
	r.Record(with(stalled(), func(r *probe.Result) { r.Timestamps = probe.ByUser }))
	r.setChanged(func(d *probe.Description) { d.Interval = time.Minute })
	r.Record(refused())
	r.expectInfo(t, map[string]string{"timestamps": "user"})
}

// TestADisabledTargetKeepsItsSeries holds that only the interval is missing while a target is disabled, that nothing
// begins at zero then or when it is enabled again, and that its last result is recorded.
func TestADisabledTargetKeepsItsSeries(t *testing.T) {
	r := afterSuccess(t)
	before := r.series(t)
	r.setChanged(func(d *probe.Description) { d.Disabled = true })
	want := maps.Clone(before)
	delete(want, "llm_probe_interval_seconds"+ofA)
	want["llm_probe_enabled"+ofA] = values{Value: 0}
	if diff := cmp.Diff(want, r.series(t)); diff != "" {
		t.Errorf("disabled (-want +got):\n%s", diff)
	}
	r.Record(succeeded5())
	r.expect(t, framesTotal, framesTotal+ofA+" 8")
	r.Set(fixedTarget())
	r.expect(t, framesTotal, framesTotal+ofA+" 8")
	r.expect(t, "llm_probe_interval", "llm_probe_interval_seconds"+ofA+" 10")
	r.expect(t, "llm_probe_enabled", "llm_probe_enabled"+ofA+" 1")
}

// TestTheLastFailureHasItsReason holds that a target has one series of its last failure, which says how it failed, and
// that a failure that ended before it changes nothing.
func TestTheLastFailureHasItsReason(t *testing.T) {
	const failed = "llm_probe_last_failure_timestamp_seconds"
	at := func(labels string, r *probe.Result) string {
		return failed + `{model="llama",` + labels + `,target="a"} ` + number(unixSeconds(r.Start.Add(r.Elapsed)))
	}
	r := afterSuccess(t)
	r.expect(t, failed)
	r.Record(stalled())
	r.expect(t, failed, at(`outcome="stalled",prompt="cold",reason="stream_stalled",status="200"`, stalled()))
	noBackend := with(refused(), func(r *probe.Result) {
		r.Start = day().Add(time.Minute)
		r.Outcome, r.Status, r.Reason = probe.ServerError, 503, probe.ReasonNoBackendLeft
	})
	r.Record(noBackend)
	r.Record(refused())
	r.Record(with(succeeded5(), func(r *probe.Result) { r.Start = day().Add(2 * time.Minute) }))
	r.expect(t, failed, at(`outcome="server_error",prompt="cold",reason="no_backend_left",status="503"`, noBackend))
}

// TestAnotherModelStartsNewSeries holds that they begin at zero, and that only the certificate, which is the server's,
// is still known.
func TestAnotherModelStartsNewSeries(t *testing.T) {
	const ofQwen = `{model="qwen",prompt="cold",target="a"}`
	r := afterSuccess(t)
	r.setChanged(func(d *probe.Description) { d.Model = "qwen" })
	r.Record(succeeded5()) // late: it is of the old model
	r.expect(t, framesTotal, framesTotal+ofQwen+" 0")
	r.expect(t, "llm_probe_last_")
	r.expect(t, certExpiry, fmt.Sprint(certExpiry, ofQwen, " ", day().AddDate(0, 2, 0).Unix()))
}

// TestPromptsOfATarget holds that each prompt of a target has its own series, and its own probes in flight, that what
// is the target's as a whole is there once, and that the slots of one prompt which a hanging probe of another one
// blocked are bad events of its own objectives. When a prompt comes or goes, the series of the others go on.
func TestPromptsOfATarget(t *testing.T) {
	const ofWarm = `{model="llama",prompt="warm",target="a"}`
	ofUp := func(prompt, verdict string, n int) string {
		const events = "llm_probe_objective_events_total"
		return fmt.Sprintf(`%s{model="llama",objective="up",prompt=%q,target="a",verdict=%q} %d`, events, prompt, verdict, n)
	}
	r := afterSuccess(t)
	r.setChanged(func(d *probe.Description) {
		d.Prompt, d.Further = "warm", true
		d.InFlight = func() (int, time.Time) { return 2, time.Now().Add(time.Hour) }
	})
	r.expect(t, framesTotal, framesTotal+ofA+" 4", framesTotal+ofWarm+" 0")
	r.Record(with(succeeded5(), func(r *probe.Result) { r.Prompt = "warm" }))
	r.Record(with(succeeded5(), func(r *probe.Result) { r.Prompt = "gone" })) // late
	r.expect(t, framesTotal, framesTotal+ofA+" 4", framesTotal+ofWarm+" 4")
	r.expect(t, certExpiry, expiryOfA())
	r.expect(t, "llm_probe_stuck", "llm_probe_stuck"+ofA+" 0")
	r.expect(t, "llm_probe_in_flight", "llm_probe_in_flight"+ofA+" 0", "llm_probe_in_flight"+ofWarm+" 2")

	r.Record(with(stalled(), func(r *probe.Result) { r.Blocked = map[string]int{"cold": 1, "warm": 3, "gone": 9} }))
	r.Record(with(succeeded5(), func(r *probe.Result) { r.Blocked = map[string]int{"warm": 9} })) // only slow
	r.Skipped("a", "warm", probe.SkipOverlap)
	r.expect(t, `llm_probe_objective_events_total{model="llama",objective="up"`,
		ofUp("cold", "good", 2), ofUp("cold", "bad", 2), ofUp("warm", "good", 1), ofUp("warm", "bad", 3))
	const overlap = `llm_probe_skipped_total{model="llama",prompt="%s",reason="overlap",target="a"} %d`
	r.expect(t, `llm_probe_skipped_total{model="llama",prompt="warm",reason="overlap"`, fmt.Sprintf(overlap, "warm", 1))

	r.Remove("a", "warm")
	r.expect(t, framesTotal, framesTotal+ofA+" 10")
}

// TestWhatIsKnownOfAServerStays holds that model, API, type and version are unknown before the server shows them, that
// another version ends the series of the one before, and that a reload that leaves them open does not make them
// unknown again. The version of another type is unknown. A probe that learned no model is recorded.
func TestWhatIsKnownOfAServerStays(t *testing.T) {
	r := newRecording(t, Options{})
	leaveOpen := func(d *probe.Description) { d.Model, d.API = "", "auto" }
	r.setChanged(leaveOpen)
	r.expect(t, framesTotal, framesTotal+`{model="unknown",prompt="cold",target="a"} 0`)

	r.setChanged(func(d *probe.Description) { d.Server, d.Version = "vllm", "0.11" })
	r.setChanged(func(d *probe.Description) { d.Server, d.Version = "vllm", "0.12" })
	r.setChanged(leaveOpen)
	r.expectInfo(t, map[string]string{"api": "openai-chat", "model": "llama", "server": "vllm", "server_version": "0.12"})
	r.setChanged(func(d *probe.Description) { d.Server = "sglang" })
	r.expectInfo(t, map[string]string{"server": "sglang", "server_version": ""})
	r.Record(with(refused(), func(r *probe.Result) { r.Model, r.API = "", "" }))
	r.expect(t, `llm_probe_failed_seconds`,
		`llm_probe_failed_seconds{model="llama",outcome="connect",prompt="cold",target="a"} 1`)
}

// TestOtherObjectivesStartNewSeries holds that these begin at zero, also when an objective comes back, and that
// timestamps are kept.
func TestOtherObjectivesStartNewSeries(t *testing.T) {
	r := afterSuccess(t)
	r.setChanged(func(d *probe.Description) {
		d.Objectives[1] = probe.Objective{Name: "new", Signal: probe.SignalE2EL, Limit: time.Minute, Goal: 0.9}
	})
	const events = "llm_probe_objective_events_total"
	r.expect(t, "llm_probe_objective_",
		events+`{model="llama",objective="up",prompt="cold",target="a",verdict="good"} 0`,
		events+`{model="llama",objective="up",prompt="cold",target="a",verdict="bad"} 0`,
		events+`{model="llama",objective="new",prompt="cold",target="a",verdict="good"} 0`,
		events+`{model="llama",objective="new",prompt="cold",target="a",verdict="bad"} 0`,
		`llm_probe_objective_goal_ratio{model="llama",objective="up",prompt="cold",target="a"} 0.99`,
		`llm_probe_objective_goal_ratio{model="llama",objective="new",prompt="cold",target="a"} 0.9`,
		`llm_probe_objective_limit_seconds{model="llama",objective="new",prompt="cold",target="a"} 60`)
	ended := number(unixSeconds(day().Add(ms(700))))
	r.expect(t, "llm_probe_last_",
		"llm_probe_last_probe_timestamp_seconds"+ofA+" "+ended,
		"llm_probe_last_available_timestamp_seconds"+ofA+" "+ended,
		"llm_probe_last_success_timestamp_seconds"+ofA+" "+ended)
	r.expect(t, certExpiry, expiryOfA())

	r.Set(fixedTarget())
	r.Record(succeeded5())
	r.expect(t, events+`{model="llama",objective="fast"`,
		events+`{model="llama",objective="fast",prompt="cold",target="a",verdict="good"} 1`,
		events+`{model="llama",objective="fast",prompt="cold",target="a",verdict="bad"} 0`)
}

func TestARemovedTargetHasNoSeries(t *testing.T) {
	r := afterSuccess(t)
	r.Remove("a", "cold")
	r.Remove("never set", "cold")
	r.Remove("a", "never set")
	r.Record(succeeded5()) // late
	r.Skipped("a", "cold", probe.SkipLate)
	r.expect(t, "llm_probe_")
	r.Set(fixedTarget())
	r.expect(t, framesTotal, framesTotal+ofA+" 0")
}

func TestLabelsAreUTF8(t *testing.T) {
	r := newRecording(t, Options{})
	r.setChanged(func(d *probe.Description) { d.Model = "m\xff" })
	r.Record(with(succeeded5(), func(r *probe.Result) { r.Model = "m\xff" }))
	r.expect(t, framesTotal, framesTotal+"{model=\"m\uFFFD\",prompt=\"cold\",target=\"a\"} 4")
}

// TestTTFATBeginsWithReasoning holds that the series is created by the first answer with reasoning, and then counts
// every answer.
func TestTTFATBeginsWithReasoning(t *testing.T) {
	r := afterSuccess(t)
	r.expect(t, "llm_probe_ttfat_seconds")
	r.Record(with(succeeded5(), func(r *probe.Result) { r.ReasoningShown = true }))
	r.Record(succeeded5())
	r.expect(t, "llm_probe_ttfat_seconds", "llm_probe_ttfat_seconds"+ofA+" 2")
}

func TestStateOfTheProber(t *testing.T) {
	r := newRecording(t, Options{})
	r.Reloaded(day(), true)
	r.Reloaded(day().Add(time.Hour), false)
	r.expect(t, "llm_prober_config_",
		"llm_prober_config_last_reload_successful 0",
		fmt.Sprint("llm_prober_config_last_reload_success_timestamp_seconds ", day().Unix()))
	r.Add(LookupFailures, 2)
	r.Add(LookupFailures, 1)
	r.expect(t, "llm_prober_dns_", "llm_prober_dns_lookup_failures_total 3")
	r.SetListed(100, 7)
	r.SetListed(0, 0)
	r.expect(t, "llm_prober_http_sd_",
		"llm_prober_http_sd_dropped_labels 0", "llm_prober_http_sd_failures_total 0", "llm_prober_http_sd_targets 0")
}

// TestTargetsThatAreGoneAreForgotten holds that no meter stays in memory: replicas come and go for a year, and the SDK
// keeps whatever a provider ever saw.
func TestTargetsThatAreGoneAreForgotten(t *testing.T) {
	r := newRecording(t, Options{})
	otlp := r.backends[1].(*otelBackend)
	var gone []weak.Pointer[meter]
	for _, name := range []string{"a", "b", "c"} {
		r.setChanged(func(d *probe.Description) { d.Name = name })
		r.Record(with(succeeded5(), func(r *probe.Result) { r.Target = name }))
		for _, scope := range []Scope{ScopeTarget, ScopeGenAI} {
			gone = append(gone, weak.Make(otlp.meters[meterKey{scope, probe.PromptID{Target: name, Prompt: "cold"}}]))
		}
	}
	r.Remove("a", "cold")
	r.Remove("c", "cold")
	r.expect(t, framesTotal, framesTotal+`{model="llama",prompt="cold",target="b"} 4`)
	r.Remove("b", "cold")
	if len(otlp.meters) != 1 {
		t.Errorf("%d meters are held, want that of the prober", len(otlp.meters))
	}
	runtime.GC()
	for n, m := range gone {
		if m.Value() != nil {
			t.Errorf("meter %d is still held", n)
		}
	}
}

// TestGenAISeriesFollowTheirTarget holds that targets of one server and model have their own series by the GenAI
// conventions, that these begin anew with other attributes, as when the API was detected, and end with the target.
func TestGenAISeriesFollowTheirTarget(t *testing.T) {
	r := newRecording(t, Options{})
	expect := func(want ...string) {
		t.Helper()
		var got []string
		for _, m := range r.export(t) {
			if m.Name != "gen_ai.client.operation.time_to_first_chunk" {
				continue
			}
			for _, p := range m.GetHistogram().DataPoints {
				attributes := attributesOf(p.Attributes)
				got = append(got, fmt.Sprint(attributes["target"], " ", attributes["gen_ai.provider.name"], " ", p.Count))
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("series (-want +got):\n%s", diff)
		}
	}
	record := func(target string) {
		r.Record(with(succeeded5(), func(r *probe.Result) { r.Target = target }))
	}
	nameB := func(d *probe.Description) { d.Name = "b" }
	r.Set(fixedTarget())
	r.setChanged(nameB)
	record("a")
	record("b")
	record("b")
	expect("a openai 1", "b openai 2")

	r.setChanged(func(d *probe.Description) { d.API = "tgi" })
	r.setChanged(nameB) // as it was
	record("a")
	expect("a tgi 1", "b openai 2")

	r.Remove("b", "cold")
	expect("a tgi 1")
}

// TestRecorderIsSafeForConcurrentUse leaves the judgement to the race detector.
func TestRecorderIsSafeForConcurrentUse(t *testing.T) {
	r := newRecording(t, Options{})
	results := random(200)
	var running sync.WaitGroup
	for worker := range 4 {
		running.Go(func() {
			for n, result := range results {
				switch (n + worker) % 10 {
				case 0:
					r.Set(fixedTarget())
				case 1:
					r.Remove("a", "cold")
				case 2:
					r.Skipped("b", "cold", probe.SkipLate)
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
	r.series(t)
}
