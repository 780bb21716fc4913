package main

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/config"
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

// TestTheSimulatorKnowsTheFaultsOfTheDemo holds that a user can paste what the demo prints.
func TestTheSimulatorKnowsTheFaultsOfTheDemo(t *testing.T) {
	endpoints, err := simulation{listen: "127.0.0.1:0", profiles: []string{"fast"}}.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer sim.CloseAll(endpoints)
	var out strings.Builder
	printDemo(&out, "127.0.0.1:9464", config.Target{QPS: 1}, endpoints)
	faults := regexp.MustCompile(`/sim/fault -d '(.*?)'`).FindAllStringSubmatch(out.String(), -1)
	if len(faults) == 0 {
		t.Fatalf("the demo offers no fault:\n%s", out.String())
	}
	for _, fault := range faults {
		w := httptest.NewRecorder()
		endpoints[0].Server.ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/sim/fault", strings.NewReader(fault[1])))
		if w.Code >= http.StatusBadRequest {
			t.Errorf("the simulator answers %d to %s: %s", w.Code, fault[1], w.Body)
		}
	}
}
