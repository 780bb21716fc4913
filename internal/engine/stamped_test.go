package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/status"
	"github.com/llm-prober/prober/internal/telemetry"
)

// TestTimestampsAreLoggedOnceATarget: with the first tokens, again when their source changes, and again of a target
// that was forgotten. A result without tokens says nothing.
func TestTimestampsAreLoggedOnceATarget(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	o := &Observers{log: zap.New(core), timestamps: map[string]probe.Stamping{}, Metrics: &telemetry.Recorder{}, Board: &status.Board{}}
	for _, r := range []probe.Result{
		{Target: "a"},
		{Target: "a", Stamp: probe.ByKernel},
		{Target: "b", Stamp: probe.ByUser},
		{Target: "a", Stamp: probe.ByKernel},
		{Target: "a"},
		{Target: "b", Stamp: probe.ByUser},
		{Target: "a", Stamp: probe.ByUser},
		{Target: "a", Stamp: probe.ByKernel},
	} {
		o.logTimestamps(&r)
	}
	o.forget("b")
	o.logTimestamps(&probe.Result{Target: "b", Stamp: probe.ByUser})

	var got []string
	for _, entry := range logs.All() {
		fields := entry.ContextMap()
		line := entry.Message + " " + fields["target"].(string)
		if fields["hint"] != nil {
			line += " hint"
		}
		got = append(got, line)
	}
	want := []string{
		"arrival timestamps: kernel a",
		"arrival timestamps: user b hint",
		"arrival timestamps: user a hint",
		"arrival timestamps: kernel a",
		"arrival timestamps: user b hint",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
