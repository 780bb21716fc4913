package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/telemetry"
)

// TestLabelsOfTheCatalogAreTaken holds that no target can have a label that a metric of its own has: a series can have
// each name only once.
func TestLabelsOfTheCatalogAreTaken(t *testing.T) {
	names := map[string]bool{"target": true, "model": true, "prompt": true, "vantage": true} // of every series
	for _, i := range telemetry.Catalog() {
		for _, label := range i.Labels {
			names[label.Name] = i.Scope != telemetry.ScopeGenAI // whose names have dots
		}
		for _, label := range i.Info {
			names[label.Name] = true
		}
	}
	for name, isLabel := range names {
		_, err := config.Load(config.Options{Environ: map[string]string{
			"PROBER_TARGETS_0_URL": "http://a", "PROBER_LABELS": name + "=x",
		}})
		want := fmt.Sprintf("%q is a label that the metrics or Prometheus have already", name)
		if isLabel && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("the label %s can be given: %v", name, err)
		}
	}
}
