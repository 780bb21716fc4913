package test

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llm-prober/prober/test/program"
)

// TestFleet holds that each of twelve targets has the labels of its team and the objectives of its model: on every
// series of /metrics, in a Prometheus that scrapes it, and in what its error budgets burn while one of two servers is
// down. The targets file is that of a user who has such a fleet.
func TestFleet(t *testing.T) {
	t.Parallel()
	_, base := probeFleet(t, "")
	address, err := url.Parse(base)
	must(t, err)
	p := startPrometheus(t, recordingConfig()+scrapeJob(t, "prober", address.Host))

	for expr, want := range map[string]float64{
		`count(llm_probe_target_info)`:                                                                  12,
		`count(llm_probe_target_info{team="search",region="eu",tier="gold"})`:                           2,
		`count(llm_probe_objective_goal_ratio{objective="availability"} == 0.99)`:                       6,
		`count(llm_probe_objective_goal_ratio{objective="availability"} == 0.95)`:                       6,
		`count(llm_probe_objective_limit_seconds{objective="fast_start",team="ads"} == 2)`:              2,
		`count(llm_probe_objective_limit_seconds{objective="fast_start",team="ads"} == 9)`:              2,
		`count(llm_probe_objective_limit_seconds{objective="no_stall",target=~".*-405b"})`:              6,
		`count(llm_probe_objective_limit_seconds{objective="no_stall",target!~".*-405b"}) or vector(0)`: 0,
		`count({__name__=~"llm_probe_.+",team=""}) or vector(0)`:                                        0,
	} {
		p.becomes(t, expr, want)
	}
	for target, want := range map[string]map[string]float64{
		"search-eu-8b":    {"availability": 0, "fast_start": 0},
		"search-us-405b":  {"availability": 0, "fast_start": 0, "no_stall": 0},
		"ads-us-8b":       {"availability": 100, "fast_start": 20},
		"support-eu-405b": {"availability": 20, "fast_start": 10, "no_stall": 10},
	} {
		got := map[string]float64{}
		p.Eventually(t, fmt.Sprintf("the burn of %s to be %v", target, want), func() bool {
			clear(got)
			for _, sample := range p.query(t, burnOf(target)) {
				got[string(sample.Metric["objective"])] = float64(sample.Value)
			}
			return maps.Equal(got, want)
		})
	}
	expectLabelsOfFleet(t, base)
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

// burnOf returns the expression of how many times as fast as they may the error budgets of a target have burned so far.
func burnOf(target string) string {
	return fmt.Sprintf(`round(
		sum by (team, target, objective) (llm_probe_objective_events_total{verdict="bad",target=%[1]q})
		/ sum by (team, target, objective) (llm_probe_objective_events_total{target=%[1]q})
		/ on (team, target, objective) (1 - llm_probe_objective_goal_ratio{target=%[1]q}), 0.001)`, target)
}

// expectLabelsOfFleet expects the labels of its team, which are a part of its name, on each series of a target.
func expectLabelsOfFleet(t *testing.T, base string) {
	t.Helper()
	metrics, _ := program.Get(t, base+"/metrics", "text/plain")
	labelled := regexp.MustCompile(`region="(eu|us)",.*target="(\w+)-(eu|us)-\w+",team="(\w+)",tier="(gold|silver)"`)
	series := 0
	for line := range strings.Lines(metrics) {
		if !strings.HasPrefix(line, "llm_probe_") {
			continue
		}
		series++
		labels := labelled.FindStringSubmatch(line)
		if labels == nil {
			t.Fatalf("a series without its labels: %s", line)
		}
		region, team, tier := labels[1], labels[4], labels[5]
		if region != labels[3] || team != labels[2] || (tier == "silver") != (team == "support") {
			t.Fatalf("a series with labels of another target: %s", line)
		}
	}
	if series < 12*100 {
		t.Errorf("%d series of twelve targets: the test does not see them", series)
	}
}
