package test

import (
	"encoding/json"
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
		a.firing[name] = alert.Annotations
		if !time.Time(alert.EndsAt).After(time.Now()) {
			delete(a.firing, name)
			a.ended[name] = true
		}
	}
}

// expect waits for an alert and then, when heal has ended its reason, for its end. It holds what the alert says, and
// that none of the target that was well has come.
func (a *alertmanager) expect(t *testing.T, p prometheus, target, well string, heal func()) {
	t.Helper()
	name := "ProberTargetDown of " + target
	var told models.LabelSet
	p.Eventually(t, name, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		told = a.firing[name]
		return told != nil
	})
	heal()
	p.Eventually(t, "the end of "+name, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.ended[name]
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	for other := range a.firing {
		if strings.HasSuffix(other, " of "+well) {
			t.Errorf("%s fires", other)
		}
	}
	hole := regexp.MustCompile(`^$|<.*>|{{| [,;.]|  |\(\)`)
	for key, text := range told {
		if hole.MatchString(text) {
			t.Errorf("%s is %q", key, text)
		}
	}
	link := regexp.MustCompile(`^/d/prober-target\?from=\d+&to=now&var-window=5m&var-target=` + target + `\b`)
	if len(told) != 6 || told["model"] != "meta-llama/Llama-3.1-8B-Instruct" ||
		!strings.HasPrefix(told["summary"], target+" does not answer: HTTP 503, server overloaded") ||
		path.Base(told["runbook_url"]) != "ProberTargetDown.md" || !link.MatchString(told["dashboard_url"]) ||
		!strings.Contains(told["description"], "No probe of "+target+" (prompt cold) has received a token for") ||
		!strings.Contains(told["description"], "overloaded") {
		t.Errorf("the alert says %v", told)
	}
}
