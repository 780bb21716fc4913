package main

import (
	"testing"

	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/sim"
)

// TestTheDemoObeysWhatItsHelpNames holds that the demo takes the variables of its flags from the environment, and
// neither targets nor keys.
func TestTheDemoObeysWhatItsHelpNames(t *testing.T) {
	t.Setenv("PROBER_QPS", "2")
	t.Setenv("PROBER_MAX_TOKENS", "7")
	t.Setenv("PROBER_API_KEY", "sk-real")
	t.Setenv("PROBER_TARGETS_0_MODEL", "real")
	t.Setenv("PROBER_TARGETS_1_URL", "http://real")
	t.Setenv("PROBER_TARGETS_FILE", "/none")
	endpoints, err := simulation{listen: "127.0.0.1:0", profiles: []string{"fast"}}.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sim.CloseAll(endpoints)
	c, err := demoConfig(newDemo(), endpoints, files.New())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Targets) != 1 {
		t.Fatalf("targets %+v, want one", c.Targets)
	}
	got := c.Targets[0]
	if got.URL != endpoints[0].URL() || got.Model != "" || got.APIKey.Reveal() != "" {
		t.Errorf("the environment's target or key is taken: %+v", got)
	}
	if got.QPS != 2 || got.MaxTokens != 7 {
		t.Errorf("the environment's settings are not taken: %+v", got)
	}
}
