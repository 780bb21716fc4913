package engine

import (
	"errors"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sync/semaphore"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
)

// TestRunnerSurvivesAPanic holds that a panic of ours while the length of prompts is made exact is logged with its
// group and its place, and ends nothing.
func TestRunnerSurvivesAPanic(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	r := &Runner{RunnerOptions: RunnerOptions{Log: zap.New(core)}, fits: semaphore.NewWeighted(1)}
	// without a member, and without a writer
	r.prepare(t.Context(), &Job{Plan: schedule.Plan{Name: "g"}, log: r.Log}, []int{0})
	told := logs.All()
	if len(told) != 2 {
		t.Errorf("logged %v", told)
	}
	for _, entry := range told {
		if entry.Level != zapcore.ErrorLevel || entry.ContextMap()["group"] != "g" || entry.ContextMap()["stack"] == "" {
			t.Errorf("logged %v", entry)
		}
	}
}

// TestLiveLog holds that each probe is a short line of the log on a terminal, and that elsewhere only failed ones are told.
func TestLiveLog(t *testing.T) {
	r := &probe.Result{Target: "a", Outcome: probe.OK, Elapsed: 2 * time.Second, Timeline: probe.Timeline{Tokens: []probe.Arrival{{At: time.Second, N: 1}}}}
	failed := &probe.Result{Target: "a", Outcome: probe.Overloaded, Elapsed: time.Millisecond, Err: errors.New("HTTP 503")}
	for live, want := range map[bool][]string{
		false: {"probe"},
		true:  {"a ok after 2.00 s, TTFT 1.00 s", "a overloaded after 1.00 ms: HTTP 503"},
	} {
		core, logs := observer.New(zapcore.InfoLevel)
		o := &Observers{log: zap.New(core), Live: live}
		o.logResult(r)
		o.logResult(failed)
		var got []string
		for _, entry := range logs.All() {
			got = append(got, entry.Message)
		}
		if !slices.Equal(got, want) {
			t.Errorf("live %t: logged %q", live, got)
		}
	}
}
