package engine

import (
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
)

// TestRunnerSurvivesAPanic holds that a panic of ours while the length of prompts is made exact is logged with its
// group and its place, and ends nothing.
func TestRunnerSurvivesAPanic(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	r := &Runner{RunnerOptions: RunnerOptions{Log: zap.New(core)}}
	r.fit(t.Context(), &Job{Plan: schedule.Plan{Name: "g"}}) // without a writer
	told := logs.All()
	if len(told) != 1 || told[0].Level != zapcore.ErrorLevel || told[0].ContextMap()["group"] != "g" || told[0].ContextMap()["stack"] == "" {
		t.Errorf("logged %v", told)
	}
}

// TestLiveLog holds that a good probe is a line of the log where somebody watches it, and otherwise at debug only.
func TestLiveLog(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	r := &probe.Result{Target: "a", Outcome: probe.OK, Elapsed: 2 * time.Second, Timeline: probe.Timeline{Tokens: []probe.Arrival{{At: time.Second, N: 1}}}}
	for _, live := range []bool{false, true} {
		o := &Observers{log: zap.New(core), Live: live}
		o.logResult(r)
	}
	if got := logs.All(); len(got) != 1 || got[0].Message != "a ok: 2.00 s in all, TTFT 1.00 s" {
		t.Errorf("logged %v", got)
	}
}
