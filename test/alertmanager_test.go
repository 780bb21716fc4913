package test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-openapi/strfmt"
	"github.com/prometheus/alertmanager/api/v2/models"
	"github.com/prometheus/common/model"
)

// An alertmanager takes alerts as Alertmanager does: version 2 of its API, with
// its own models and what they hold to be valid. The test's goroutine reads what
// has come.
type alertmanager struct {
	*httptest.Server

	arrivals chan arrival
	last     map[string]arrival // by labels
	first    map[string]arrival // that was firing, by labels; not of this machine
	told     []string           // all of it, a line an arrival
}

// An arrival is an alert, and when it came.
type arrival struct {
	*models.PostableAlert

	at time.Time
}

// firing is false of an alert that is over.
func (a arrival) firing() bool { return time.Time(a.EndsAt).After(a.at) }

// ofMachine is true of an alert that says that probes start late, or too late to be
// made, for their interval, or are read late for their tokens. The tests shorten
// intervals to some 50 ms and cannot shorten what a busy machine adds: these are
// true, and may come at any time.
func (a arrival) ofMachine() bool {
	name := a.Labels["alertname"]
	return name == "ProberLate" || name == "ProberMeasurementTainted" || name == "ProberSkipping" && a.Labels["reason"] == "late"
}

// labels is the alert's label set, as Prometheus writes it.
func (a arrival) labels() string {
	set := model.LabelSet{}
	for name, value := range a.Labels {
		set[model.LabelName(name)] = model.LabelValue(value)
	}
	return set.String()
}

func newAlertmanager(t *testing.T) *alertmanager {
	t.Helper()
	a := &alertmanager{arrivals: make(chan arrival, 10000), last: map[string]arrival{}, first: map[string]arrival{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v2/alerts", a.take)
	a.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		a.Close()
		if t.Failed() {
			t.Logf("alerts that arrived:\n%s", strings.Join(a.told, "\n"))
		}
	})
	return a
}

// take decodes and validates as Alertmanager's own handler does.
func (a *alertmanager) take(w http.ResponseWriter, request *http.Request) {
	now := time.Now()
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
		a.arrivals <- arrival{PostableAlert: alert, at: now}
	}
}

// until reads arrivals until done, which is asked again after each of them and
// ten times a second, or fails the test.
func (a *alertmanager) until(t *testing.T, what string, limit time.Duration, done func() bool) {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(limit); !done(); {
		select {
		case came := <-a.arrivals:
			a.keep(came)
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("waited %v for %s", limit, what)
		}
	}
}

func (a *alertmanager) keep(came arrival) {
	key, state := came.labels(), "resolved"
	a.last[key] = came
	if came.firing() {
		state = "firing"
	}
	if came.firing() && !came.ofMachine() {
		if _, ok := a.first[key]; !ok {
			a.first[key] = came
		}
	}
	a.told = append(a.told, fmt.Sprintf("%s %s %s: %s", came.at.Format(time.TimeOnly), state, key, came.Annotations["description"]))
}

// awaitFiring waits for an alert with exactly these labels.
func (a *alertmanager) awaitFiring(t *testing.T, labels model.LabelSet) arrival {
	t.Helper()
	a.until(t, labels.String(), time.Minute, func() bool { return a.first[labels.String()].PostableAlert != nil })
	return a.first[labels.String()]
}

// awaitResolved waits for the end of an alert.
func (a *alertmanager) awaitResolved(t *testing.T, labels model.LabelSet) {
	t.Helper()
	a.until(t, "the end of "+labels.String(), time.Minute, func() bool {
		last := a.last[labels.String()]
		return last.PostableAlert != nil && !last.firing()
	})
}

// expect holds that these alerts have fired, and no others.
func (a *alertmanager) expect(t *testing.T, want ...model.LabelSet) {
	t.Helper()
	var names []string
	for _, labels := range want {
		names = append(names, labels.String())
	}
	slices.Sort(names)
	if got := slices.Sorted(maps.Keys(a.first)); !slices.Equal(got, names) {
		t.Errorf("these fired:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(names, "\n"))
	}
}

// config is a configuration of Prometheus that scrapes a prober natively once a
// tick, evaluates a file of rules as soon as it is there, and sends alerts here.
func (a *alertmanager) config(prober, rules string, tick time.Duration) string {
	return fmt.Sprintf(`
global: {scrape_interval: %[1]s, scrape_timeout: %[1]s, evaluation_interval: %[1]s, scrape_native_histograms: true}
rule_files: [%[4]q]
alerting: {alertmanagers: [{api_version: v2, static_configs: [{targets: [%[2]q]}]}]}
scrape_configs: [{job_name: prober, static_configs: [{targets: [%[3]q]}]}]
`, model.Duration(tick), strings.TrimPrefix(a.URL, "http://"), prober, rules)
}
