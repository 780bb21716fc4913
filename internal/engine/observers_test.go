package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/schedule"
	"github.com/llm-prober/prober/internal/status"
	"github.com/llm-prober/prober/internal/telemetry"
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

// TestTimestampsAreLoggedOnceATarget: with the first tokens, again when their source changes, and again of a target
// that was forgotten. A result without tokens says nothing.
func TestTimestampsAreLoggedOnceATarget(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	o := &Observers{log: zap.New(core), timestamps: map[string]probe.Stamping{}, Metrics: &telemetry.Recorder{}, Board: &status.Board{}}
	log := func(target string, by ...probe.Stamping) {
		for _, stamp := range by {
			o.logTimestamps(&probe.Result{Target: target, Stamp: stamp})
		}
	}
	log("a", "", probe.ByKernel, probe.ByKernel, "")
	log("b", probe.ByUser, probe.ByUser)
	log("a", probe.ByKernel, probe.ByUser, probe.ByKernel)
	o.forget("b")
	log("b", probe.ByUser)

	var got []string
	for _, entry := range logs.All() {
		got = append(got, entry.Message+" "+entry.ContextMap()["target"].(string))
	}
	want := []string{
		"arrival timestamps: kernel a", "arrival timestamps: user b", "arrival timestamps: user a",
		"arrival timestamps: kernel a", "arrival timestamps: user b",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
