package test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/prometheus/alertmanager/api/v2/models"

	"github.com/llm-prober/prober/test/program"
)

// An alertmanager takes alerts as Alertmanager's own handler does: version 2 of its API, with its own models and what
// they hold to be valid.
type alertmanager struct {
	*httptest.Server

	mu     sync.Mutex
	firing map[string]models.LabelSet // annotations, by the alert's name
	ended  map[string]bool            // was firing, and is not any more
}

func newAlertmanager(t *testing.T) *alertmanager {
	t.Helper()
	a := &alertmanager{firing: map[string]models.LabelSet{}, ended: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v2/alerts", a.take)
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

func (a *alertmanager) take(w http.ResponseWriter, request *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var alerts models.PostableAlerts
	err := json.NewDecoder(request.Body).Decode(&alerts)
	if err == nil {
		err = alerts.Validate(strfmt.Default)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, alert := range alerts {
		name := alert.Labels["alertname"] + " of " + alert.Labels["target"]
		if a.firing[name] = alert.Annotations; !time.Time(alert.EndsAt).After(time.Now()) {
			delete(a.firing, name)
			a.ended[name] = true
		}
	}
}

// TestAnAlertArrives holds that the alert of a server that fails arrives with all that it tells, that it ends when the
// server is well, and that none arrives of a server that was. What the rules find is
// promtool's matter, and that of the simulated month.
func TestAnAlertArrives(t *testing.T) {
	t.Parallel()
	const name = "ProberTargetDown of fails"
	servers, a, address := simulate(t, "fast,fast"), newAlertmanager(t), program.FreeAddress(t)
	setFault(t, servers[0], `{"status":503}`)
	p := startPrometheus(t, fmt.Sprintf(`
global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms, scrape_native_histograms: true}
rule_files: [rules.yaml]
alerting: {alertmanagers: [{api_version: v2, static_configs: [{targets: [%q]}]}]}
scrape_configs: [{job_name: prober, static_configs: [{targets: [%q]}]}]
`, strings.TrimPrefix(a.URL, "http://"), address))
	run(t, []string{"PROBER_LISTEN_ADDRESS=" + address, "PROBER_BACKOFF_LIMIT=none"},
		"fails="+servers[0], "well="+servers[1], "--model", simulatedModel, "--qps", "2")
	var told models.LabelSet
	p.Eventually(t, name, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		told = a.firing[name]
		return told != nil
	})
	setFault(t, servers[0], "")
	p.Eventually(t, "the end of "+name, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.ended[name]
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	for other := range a.firing {
		if strings.HasSuffix(other, " of well") {
			t.Errorf("%s fires", other)
		}
	}
	hole := regexp.MustCompile(`^$|<.*>|{{| [,;.]|  |\(\)`)
	for key, text := range told {
		if hole.MatchString(text) {
			t.Errorf("%s is %q", key, text)
		}
	}
	link := "/d/prober-target?var-target=fails&var-model=meta-llama%2FLlama-3.1-8B-Instruct&var-prompt=cold"
	if len(told) != 5 || path.Base(told["runbook_url"]) != "ProberTargetDown.md" || told["dashboard_url"] != link ||
		!strings.Contains(told["description"], "No probe of fails (model meta-llama/") || !strings.Contains(told["description"], "overloaded") {
		t.Errorf("the alert tells %v", told)
	}
}
