package probe_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// TestNoSentenceShowsTheKey holds that no sentence about a result and no JSON of it has the key, wherever the server
// repeats it.
func TestNoSentenceShowsTheKey(t *testing.T) {
	const key = "sk-verysecretkey12345"
	synctest.Test(t, func(t *testing.T) {
		for place, r := range probe.ProbesOfEchoes(t, key) {
			document, err := json.Marshal(report.JSONOf(r, nil))
			if err != nil {
				t.Fatal(err)
			}
			shown := []string{report.Failure(r), report.Hint(r, nil), string(document)}
			for _, warning := range r.Warnings {
				shown = append(shown, report.Warning(warning))
			}
			for _, text := range shown {
				if strings.Contains(text, "verysecret") {
					t.Errorf("%s: %s", place, text)
				}
			}
		}
	})
}
