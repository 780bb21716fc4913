package engine

import (
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

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
