package main

import (
	"runtime/debug"
	"testing"

	"go.uber.org/zap"
)

// TestSaveMemory holds that garbage is collected more often unless GOGC says otherwise, and that this can be undone.
func TestSaveMemory(t *testing.T) {
	before := gcPercent()
	for gogc, want := range map[string]int{"": garbagePercent, "100": before} {
		t.Setenv("GOGC", gogc)
		undo := saveMemory(zap.NewNop())
		if got := gcPercent(); got != want {
			t.Errorf("GOGC=%s: %d%%, want %d%%", gogc, got, want)
		}
		undo()
		if got := gcPercent(); got != before {
			t.Errorf("GOGC=%s, undone: %d%%, want %d%%", gogc, got, before)
		}
	}
}

// gcPercent returns how GOGC is set now. Only setting it returns it.
func gcPercent() int {
	percent := debug.SetGCPercent(100)
	debug.SetGCPercent(percent)
	return percent
}
