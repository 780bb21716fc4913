package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"go.uber.org/zap"
)

// TestLogLinesAreForPeopleAndPrograms holds the form of a line of JSON: durations have units, moments a date, and
// what is below the level is left out.
func TestLogLinesAreForPeopleAndPrograms(t *testing.T) {
	var out bytes.Buffer
	log := newLog(&out, "info", "json")
	log.Debug("too quiet")
	log.Info("reloaded", zap.Duration("after", 1500*time.Millisecond))
	var line struct{ Level, TS, Msg, After string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v: %s", err, out.Bytes())
	}
	if line.Level != "info" || line.Msg != "reloaded" {
		t.Errorf("level %q and message %q, want info and reloaded", line.Level, line.Msg)
	}
	if line.After != "1.5s" {
		t.Errorf("a duration is %q, want 1.5s", line.After)
	}
	if _, err := time.Parse("2006-01-02T15:04:05.000Z0700", line.TS); err != nil {
		t.Errorf("the time of the line: %v", err)
	}
}
