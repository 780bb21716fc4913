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

// TestStampsAreLoggedOnceATarget: with the first tokens, again when another stamps
// them, and anew of a target that was forgotten. A result without tokens says
// nothing.
func TestStampsAreLoggedOnceATarget(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	o := &Observers{log: zap.New(core), stamps: map[string]probe.Stamping{}, recorder: telemetry.Join(), Board: &status.Board{}}
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
		o.stamped(&r)
	}
	o.forget("b")
	o.stamped(&probe.Result{Target: "b", Stamp: probe.ByUser})

	var got []string
	for _, entry := range logs.All() {
		fields := entry.ContextMap()
		line := entry.Message + " " + fields["target"].(string) + " " + fields["stamp"].(string)
		if fields["hint"] != nil {
			line += " hint"
		}
		got = append(got, line)
	}
	want := []string{
		"token frames are stamped a kernel",
		"token frames are stamped b user hint",
		"token frames are stamped a user hint",
		"token frames are stamped a kernel",
		"token frames are stamped b user hint",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
