package test

import (
	"cmp"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/eventrecorder"
	"github.com/prometheus/alertmanager/inhibit"
	"github.com/prometheus/alertmanager/provider/mem"
	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/test/program"
)

// TestAlertsAreRoutedByTeam holds that the alerts about a target reach its team, and it alone. A server of the fleet is
// down, the settings of a target are wrong, and then the prober is gone. The alerts are those that fire in a real
// Prometheus. Alertmanager's own code routes and inhibits them with the configuration of docs/alerts.md.
func TestAlertsAreRoutedByTeam(t *testing.T) {
	t.Parallel()
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	write(t, rules, fastRules(printAlerts(t, "--by", "team")))
	prober, base := probeFleet(t, "  - {name: ads-eu-70b, url: http://127.0.0.1:1, qps: fast, labels: {team: ads}}\n")
	address, err := url.Parse(base)
	must(t, err)
	p := startPrometheus(t, strings.Replace(recordingConfig(), "rules.yaml", rules, 1)+scrapeJob(t, "prober", address.Host))

	p.becomes(t, `count(ALERTS{alertname="ProberTargetDown",alertstate="firing"})`, 3)
	p.becomes(t, `count(ALERTS{alertname="ProberTargetRejected",alertstate="firing"})`, 1)
	prober.Interrupt(t)
	p.becomes(t, `count(ALERTS{alertname="ProberAbsent",alertstate="firing",instance!=""})`, 1)

	configuration, err := config.Load(page(t, "alerts.md", 0, nil) + printAlerts(t, "--by", "team", "--format", "alertmanager"))
	must(t, err)
	fired := p.fired(t)
	checkReceivers(t, configuration, fired)
	checkInhibitions(t, configuration, fired)
}

// probeFleet starts a prober with the targets file of the fleet and further targets, and returns it and its URL. One of
// the two servers is down: that of a target of each team.
func probeFleet(t *testing.T, further string) (prober *program.Process, base string) {
	t.Helper()
	file, err := os.ReadFile("fleet/targets.yaml")
	must(t, err)
	urls := program.Simulate(t, "fast,fast")
	program.SetFault(t, urls[1], `{"status":503}`)
	text := strings.NewReplacer("http://127.0.0.1:8801", urls[0], "http://127.0.0.1:8802", urls[1]).Replace(string(file))
	path := filepath.Join(t.TempDir(), "targets.yaml")
	write(t, path, text+further)
	return program.Run(t, []string{"PROBER_QPS=2"}, "--targets-file", path)
}

// printAlerts returns what prober alerts prints.
func printAlerts(t *testing.T, flags ...string) string {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), program.Binary(t, "PROBER_BINARY"), append([]string{"alerts"}, flags...)...).Output()
	must(t, err)
	return string(said)
}

// fired returns the labels of all alerts that fire or have fired, as Alertmanager is sent them.
func (p prometheus) fired(t *testing.T) (all []model.LabelSet) {
	t.Helper()
	for _, series := range p.query(t, `last_over_time(ALERTS{alertstate="firing"}[1h])`) {
		labels := model.LabelSet(series.Metric)
		delete(labels, model.MetricNameLabel)
		delete(labels, "alertstate")
		all = append(all, labels)
	}
	return all
}

// checkReceivers expects one receiver of each alert: the team in the name of its target or, if it is about the prober,
// its team or that of alerts without one.
func checkReceivers(t *testing.T, configuration *config.Config, alerts []model.LabelSet) {
	t.Helper()
	route := dispatch.NewRoute(configuration.Route, nil)
	count := map[string]int{}
	for _, labels := range alerts {
		var receivers []string
		for _, matched := range route.Match(labels) {
			receivers = append(receivers, matched.RouteOpts.Receiver)
		}
		want, _, ofTarget := strings.Cut(string(labels["target"]), "-")
		if !ofTarget { // alerts about late reads and drains have the teams of the prober's targets
			want = cmp.Or(string(labels["team"]), "platform")
		}
		if !slices.Equal(receivers, []string{want}) {
			t.Errorf("%v goes to %q, want %q alone", labels, receivers, want)
		}
		count[want]++
	}
	t.Logf("alerts by receiver: %v", count)
	for _, receiver := range []string{"search", "ads", "support", "platform"} {
		if count[receiver] == 0 {
			t.Errorf("no alert for %s", receiver)
		}
	}
}

// checkInhibitions expects that a target that is down silences the other alerts of this target, and not those of a
// target of the same name of another team.
func checkInhibitions(t *testing.T, configuration *config.Config, alerts []model.LabelSet) {
	t.Helper()
	inhibitor := startInhibitor(t, configuration, alerts)
	for _, down := range alerts {
		if down["alertname"] != "ProberTargetDown" {
			continue
		}
		burn := down.Clone()
		burn["alertname"] = "ProberErrorBudgetBurn"
		stranger := burn.Clone()
		stranger["team"] = "another"
		for _, test := range []struct {
			labels model.LabelSet
			silent bool
		}{{down, false}, {burn, true}, {stranger, false}} {
			if silent := inhibitor.Mutes(t.Context(), test.labels); silent != test.silent {
				t.Errorf("%v is silenced: %v, want %v", test.labels, silent, test.silent)
			}
		}
	}
}

// startInhibitor starts the part of Alertmanager that knows which alerts others silence. These alerts fire.
func startInhibitor(t *testing.T, configuration *config.Config, firing []model.LabelSet) *inhibit.Inhibitor {
	t.Helper()
	logger, recorder := slog.New(slog.DiscardHandler), eventrecorder.NopRecorder()
	alerts, err := mem.NewAlerts(t.Context(), time.Hour, 0, nil, logger, recorder, nil, nil)
	must(t, err)
	now := time.Now()
	for _, labels := range firing {
		fires := model.Alert{Labels: labels, StartsAt: now, EndsAt: now.Add(time.Hour)}
		must(t, alerts.Put(t.Context(), &alert.Alert{Alert: fires, UpdatedAt: now}))
	}
	inhibitor := inhibit.NewInhibitor(alerts, configuration.InhibitRules, logger, recorder)
	go inhibitor.Run()
	t.Cleanup(inhibitor.Stop)
	inhibitor.WaitForLoading()
	return inhibitor
}
