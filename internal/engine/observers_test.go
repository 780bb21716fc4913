package engine

import (
	"errors"
	"fmt"
	"io"
	"log"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/telemetry"
	"github.com/llm-prober/prober/internal/timing"
)

var badSeries = regexp.MustCompile(
	`(?m)^llm_probe_objective_events_total\{.*target="([^"]*)",verdict="bad"\} (\d+)$`)

// TestPanics holds that panics of the prober itself are logged with their group and their stack and counted, end
// nothing, and are no outcome of the target: while the length of prompts is made exact, and in a probe.
func TestPanics(t *testing.T) {
	for name, test := range map[string]struct {
		breaks func(j *Job)
		place  string // in the stack
		panics int
		slots  string
	}{
		"in probes":                            {func(j *Job) { j.Members[0].Budget = nil }, "(*Budget).Reserve", 6, " ok=6"},
		"in probes and in what is asked ahead": {func(j *Job) { j.writer = nil }, "prompt.(*Writer)", 12, " ok=6"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDiary(t)
				d.apply("", "TARGETS_0_URL=http://a")
				time.Sleep(time.Minute)
				d.logs.TakeAll()
				synctest.Wait()
				test.breaks(d.runner.jobs[0])
				d.runner.jobs[0].Members[0].Draining.Store(false) // as before; who probes loads it, and then sees what is broken
				time.Sleep(time.Minute)
				metrics := serve("/metrics", d.runner.Observers.Metrics.Handler(log.New(io.Discard, "", 0)))
				if got := slotsByTarget(metrics)["a:80"]; got != test.slots {
					t.Errorf("slots %q, want %q", got, test.slots)
				}
				if bad := valuesByTarget(metrics, badSeries)["a:80"]; bad != "0" {
					t.Errorf("%s bad events, want 0", bad)
				}
				if line := fmt.Sprintf("\nllm_prober_internal_errors_total %d\n", test.panics); !strings.Contains(metrics, line) {
					t.Errorf("metrics without %q", line)
				}
				entries := d.logs.FilterLevelExact(zapcore.ErrorLevel).FilterField(zap.String("group", "a:80")).All()
				if len(entries) != test.panics {
					t.Errorf("%d panics are logged, want %d", len(entries), test.panics)
				}
				for _, entry := range entries {
					if stack, _ := entry.ContextMap()["stack"].(string); !strings.Contains(stack, test.place) {
						t.Errorf("a stack without %s:\n%s", test.place, stack)
					}
				}
			})
		})
	}
}

// TestLiveLog holds that each probe is a short line of the log on a terminal, and that elsewhere only failed ones are
// logged, with fields.
func TestLiveLog(t *testing.T) {
	ok := &probe.Result{
		Target: "a", Outcome: probe.OK, Elapsed: 2 * time.Second,
		Timeline: timing.Timeline{Frames: []timing.Frame{{At: time.Second, N: 1}}},
	}
	failed := &probe.Result{
		Target: "a", Outcome: probe.Overloaded, Elapsed: time.Millisecond, Err: errors.New("HTTP 503"), Status: 503,
		Warnings: []probe.Warning{{Text: "odd"}},
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
