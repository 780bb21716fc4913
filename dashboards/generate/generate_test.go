package main

import (
	"testing"

	"github.com/llm-prober/prober/dashboards"
	"github.com/llm-prober/prober/internal/testing/golden"
)

// TestDashboardsAreWhatTheGeneratorSays checks that the JSON was not edited by hand.
func TestDashboardsAreWhatTheGeneratorSays(t *testing.T) {
	for _, name := range dashboards.Names() {
		text, err := generate(name)
		if err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "../"+name+".json", string(text))
	}
}
