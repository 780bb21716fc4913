package status

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/llm-prober/prober/internal/probe"
)

// TestRecordings holds that a result is a line of JSON, that those of the last run stay, and that a directory which cannot
// be written to is an error.
func TestRecordings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	for _, id := range []string{"a", "b"} {
		r, err := NewRecordings(dir, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		r.Add(&probe.Result{TraceID: id, Outcome: probe.Stalled})
		r.Close()
	}
	path := filepath.Join(dir, "recordings.jsonl")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var ids string
	for line := range bytes.Lines(text) {
		var a probe.ResultJSON
		if err := json.Unmarshal(line, &a); err != nil || a.Outcome != probe.Stalled {
			t.Errorf("%v of %s", err, line)
		}
		ids += a.TraceID
	}
	if ids != "ab" {
		t.Errorf("recorded %q", ids)
	}
	if _, err := NewRecordings(path, nil); err == nil {
		t.Errorf("a file in place of the directory: %v", err)
	}
}
