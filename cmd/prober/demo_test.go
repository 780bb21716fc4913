package main

import (
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/sim"
)

// TestTheDemoObeysWhatItsHelpNames holds that variables about probing hold in the demo, and
// that those of real targets are not for a simulator.
func TestTheDemoObeysWhatItsHelpNames(t *testing.T) {
	for name, value := range map[string]string{
		"PROBER_QPS": "2", "PROBER_MAX_TOKENS": "7", "PROBER_API_KEY": "sk-real", "PROBER_TARGETS_0_URL": "http://real", "PROBER_TARGETS_FILE": "/none",
	} {
		t.Setenv(name, value)
	}
	cmd, files := newDemo(), engine.NewFiles()
	c, err := demoConfig(cmd, nil, files)
	if err == nil || !strings.Contains(err.Error(), "no targets") {
		t.Fatalf("the environment's targets are taken: %v, %v", c, err)
	}
	endpoints, err := simulation{listen: "127.0.0.1:0", profiles: []string{"fast"}}.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sim.CloseAll(endpoints)
	if c, err = demoConfig(cmd, endpoints, files); err != nil {
		t.Fatal(err)
	}
	if got := c.Targets[0]; len(c.Targets) != 1 || got.QPS != 2 || got.MaxTokens != 7 || got.APIKey.Reveal() != "" || got.URL != endpoints[0].URL() {
		t.Errorf("targets %+v", c.Targets)
	}
}
