package engine

import (
	"errors"
	"io"
	"log"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sync/semaphore"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/telemetry"
)

// TestRunnerSurvivesAPanic holds that a panic of the prober itself while the length of prompts is made exact is logged
// with its group and its place, and ends nothing.
func TestRunnerSurvivesAPanic(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	r := &Runner{RunnerOptions: RunnerOptions{Log: zap.New(core)}, fits: semaphore.NewWeighted(1)}
	withoutMembersAndWriter := &Job{Plan: schedule.Plan{Name: "g"}, log: r.Log}
	r.prepare(t.Context(), withoutMembersAndWriter, []int{0})
	entries := logs.FilterField(zap.String("group", "g")).FilterFieldKey("stack").All()
	if len(entries) != 2 || entries[0].Level != zapcore.ErrorLevel {
		t.Errorf("logged %v", logs.All())
	}
}

// TestLiveLog holds that each probe is a short line of the log on a terminal, and that elsewhere only failed ones are
// logged, with fields.
func TestLiveLog(t *testing.T) {
	ok := &probe.Result{
		Target: "a", Outcome: probe.OK, Elapsed: 2 * time.Second,
		Timeline: probe.Timeline{Tokens: []probe.Arrival{{At: time.Second, N: 1}}},
	}
	failed := &probe.Result{
		Target: "a", Outcome: probe.Overloaded, Elapsed: time.Millisecond, Err: errors.New("HTTP 503"), Status: 503,
		Warnings: []error{errors.New("odd")},
	}
	for _, test := range []struct {
		live bool
		want []string
	}{
		{false, []string{"probe"}},
		{true, []string{"a ok after 2.00 s, TTFT 1.00 s", "a overloaded after 1.00 ms: HTTP 503"}},
	} {
		core, logs := observer.New(zapcore.InfoLevel)
		o := &Observers{log: zap.New(core), Live: test.live}
		o.logResult(ok)
		o.logResult(failed)
		var got []string
		for _, entry := range logs.All() {
			got = append(got, entry.Message)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("live %t: logged (-want +got):\n%s", test.live, diff)
		}
	}
	encoder := zapcore.NewMapObjectEncoder()
	for _, field := range fieldsOf(failed) {
		field.AddTo(encoder)
	}
	want := map[string]any{
		"target": "a", "outcome": "overloaded", "round": uint64(0), "elapsed": time.Millisecond, "token_frames": int64(0),
		"trace_id": "", "error": "HTTP 503", "http_status": int64(503), "warning": "odd",
	}
	if diff := cmp.Diff(want, encoder.Fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// TestWhatIsNotRecorded holds that canceled probes leave no trace, and neither do refused connections during a drain,
// when the server has been told to stop as well.
func TestWhatIsNotRecorded(t *testing.T) {
	observers, err := NewObservers(t.Context(), &config.Config{}, telemetry.Build{}, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	recorder := observers.RecorderFor(assembleJob(t, nil, "TARGETS_0_URL=http://a"))
	record := func(outcome probe.Outcome) {
		recorder.Record(&probe.Result{Target: "a:80", Prompt: "cold", Outcome: outcome, Err: errors.New("it failed")})
	}
	record(probe.Canceled)
	record(probe.Connect)
	observers.draining.Store(true)
	record(probe.Connect)
	record(probe.Timeout)
	slots := slotsByTarget(serve("/metrics", observers.Metrics.Handler(log.New(io.Discard, "", 0))))
	if want := " connect=1 timeout=1"; slots["a:80"] != want {
		t.Errorf("recorded%s, want%s", slots["a:80"], want)
	}
}
