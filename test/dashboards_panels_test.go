package test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestTargetsTable holds the state, the last outcome and the page of each target on Overview: the highest severity of its
// alerts, the outcome that was counted last, and the external URL of one of its probers. "failing" failed by timeouts
// first, and by connect since, and an alert is about it as a whole; "fine" failed before it succeeded, is down from another
// vantage, and its prober has no external URL.
func TestTargetsTable(t *testing.T) {
	t.Parallel()
	var all inputSeries
	for target, success := range map[string]string{"fine": "7195", "failing": "3600"} {
		labels := fmt.Sprintf(`{job="prober",instance="p:9464",target=%q,model="llama",prompt="cold"`, target)
		all.add("llm_probe_target_info"+labels+"}", "1x120")
		all.add("llm_probe_last_probe_timestamp_seconds"+labels+"}", "7195x120")
		all.add("llm_probe_last_success_timestamp_seconds"+labels+"}", success+"x120")
		all.add("llm_probe_probes_total"+labels+`,outcome="ok"}`, "0+6x120")
		all.add("llm_probe_probes_total"+labels+`,outcome="timeout"}`, "0x100 5x20")
		all.add("llm_probe_probes_total"+labels+`,outcome="connect"}`, "0x110 1x10")
		all.add(fmt.Sprintf(`target:llm_probe_silence_seconds:limit{target=%q,prompt="cold"}`, target), "60x120")
	}
	const url = "https://prober.example.com"
	all.add(`llm_probe_target_info{job="prober",instance="q:9464",target="failing",model="llama",prompt="cold",`+
		`external_url="`+url+`"}`, "1x120")
	all.add(`ALERTS{alertname="ProberTargetDown",alertstate="firing",severity="critical",target="failing"}`, "1x120")
	all.add(`ALERTS{alertname="ProberErrorBudgetBurn",alertstate="firing",severity="warning",target="failing",prompt="cold"}`,
		"1x120")
	all.add(`ALERTS{alertname="ProberTargetDownFromVantage",alertstate="firing",severity="warning",target="fine",`+
		`prompt="cold",vantage="eu"}`, "1x120")
	var expected []any
	for _, q := range dashboardQueries(t) {
		query := "(" + fill(q.expr, everything("30m", "1h")) + ")"
		switch q.panel + q.ref {
		case "TargetsA":
			for target, state := range map[string]int{"fine": 0, "failing": 2} {
				expected = append(expected, expectValue(fmt.Sprintf(
					"sum(%s and on (target) llm_probe_target_info{target=%q})", query, target), state))
			}
		case "TargetsB":
			for target, outcome := range map[string]string{"fine": "ok", "failing": "connect"} {
				expected = append(expected, expectValue(fmt.Sprintf(
					"count(%s and on (target, outcome) llm_probe_probes_total{target=%q,outcome=%q})",
					query, target, outcome), 1))
			}
			expected = append(expected, expectValue("count"+query, 2))
		case "TargetsJ":
			for target, page := range map[string]string{"fine": everything("", "")["prober"], "failing": url} {
				row := fmt.Sprintf(`label_replace(label_replace(vector(1), "target", %q, "", ""), "external_url", %q, "", "")`,
					target, page)
				expected = append(expected, expectValue("count("+query+" and on (target, external_url) "+row+")", 1))
			}
			expected = append(expected, expectValue("count"+query, 2))
		}
	}
	if len(expected) != 8 {
		t.Fatalf("%d expectations: the test does not see the table", len(expected))
	}
	checkQueries(t, all, expected)
}

// A watchedTarget is a target with its series at the end of two hours, and the state that Overview is to show.
type watchedTarget struct {
	name, vantage  string
	state          string
	success, probe string            // when the last ones ended
	series         map[string]string // values by name and first labels
}

// watchedTargets returns targets that are probed every ten seconds, by what they have. "split" is seen from two vantages,
// and is down from one of them.
func watchedTargets() []watchedTarget {
	return []watchedTarget{
		{name: "fine", state: "ok", success: "7195", probe: "7195", series: map[string]string{
			`llm_probe_probes_total{outcome="ok"`: "0+6x120", `llm_probe_probes_total{outcome="timeout"`: "0x60 1x60"}},
		{name: "fails at times", state: "degraded", success: "7195", probe: "7195", series: map[string]string{
			`llm_probe_probes_total{outcome="ok"`: "0+6x120", `llm_probe_probes_total{outcome="timeout"`: "0+1x120"}},
		{name: "misses", state: "degraded", success: "7195", probe: "7195", series: map[string]string{
			`llm_probe_probes_total{outcome="ok"`:                              "0+6x120",
			`llm_probe_objective_goal_ratio{objective="fast"`:                  "0.99x120",
			`llm_probe_objective_events_total{objective="fast",verdict="good"`: "0+5x120",
			`llm_probe_objective_events_total{objective="fast",verdict="bad"`:  "0+1x120"}},
		{name: "slow", state: "degraded", success: "7195", probe: "7195", series: map[string]string{
			`llm_probe_probes_total{outcome="ok"`:                         "0+6x120",
			`model:llm_probe_latency_seconds:slowdown_ratio{signal="itl"`: "1.5x120"}},
		{name: "refuses", state: "refused", success: "3600", probe: "7195", series: map[string]string{
			`llm_probe_probes_total{outcome="rate_limited"`:                   "0+6x120",
			`llm_probe_last_failure_timestamp_seconds{outcome="rate_limited"`: "7195x120"}},
		{name: "down", state: "failing", success: "3600", probe: "7195", series: map[string]string{
			`llm_probe_probes_total{outcome="connect"`:                   "0+6x120",
			`llm_probe_last_failure_timestamp_seconds{outcome="connect"`: "7195x120"}},
		{name: "never ok", state: "failing", probe: "7195", series: map[string]string{
			`llm_probe_probes_total{outcome="connect"`:                   "0+6x120",
			`llm_probe_last_failure_timestamp_seconds{outcome="connect"`: "7195x120"}},
		{name: "skips", state: "skipped", success: "6000", probe: "6010", series: map[string]string{
			`llm_probe_probes_total{outcome="ok"`: "600x120", `llm_probe_skipped_total{reason="budget"`: "0+6x120"}},
		{name: "stands still", state: "skipped", success: "6000", probe: "6000", series: map[string]string{
			`llm_probe_probes_total{outcome="ok"`: "600x120"}},
		{name: "off", state: "disabled", success: "3600", probe: "3600", series: map[string]string{
			`llm_probe_probes_total{outcome="connect"`: "600x120"}},
		{name: "split", vantage: "eu", state: "failing", success: "3600", probe: "7195", series: map[string]string{
			`llm_probe_probes_total{outcome="connect"`:                   "0+6x120",
			`llm_probe_last_failure_timestamp_seconds{outcome="connect"`: "7195x120"}},
		{name: "split", vantage: "us", state: "ok", success: "7195", probe: "7195", series: map[string]string{
			`llm_probe_probes_total{outcome="ok"`: "0+6x120"}},
	}
}

// TestStates holds the state of each target on Overview.
func TestStates(t *testing.T) {
	t.Parallel()
	overview, err := os.ReadFile("../dashboards/overview.json")
	must(t, err)
	states := map[string]int{} // as the panel maps their numbers
	state := regexp.MustCompile(`"(\d)": \{\s+"color": "\w+",\s+"index": \d,\s+"text": "([a-z]+)"`)
	for _, m := range state.FindAllStringSubmatch(string(overview), -1) {
		states[m[2]], _ = strconv.Atoi(m[1])
	}
	query := queryOf(t, "overview", "States")
	var all inputSeries
	var expected []any
	for _, target := range watchedTargets() {
		labels := fmt.Sprintf(`job="prober",instance="p:9464",target=%q,model="llama",prompt="cold"`, target.name)
		if target.vantage != "" {
			labels += fmt.Sprintf(`,vantage=%q`, target.vantage)
		}
		all.add("llm_probe_target_info{"+labels+"}", "1x120")
		all.add("llm_probe_last_probe_timestamp_seconds{"+labels+"}", target.probe+"x120")
		if target.success != "" {
			all.add("llm_probe_last_success_timestamp_seconds{"+labels+"}", target.success+"x120")
		}
		if target.state == "disabled" {
			all.add("llm_probe_enabled{"+labels+"}", "0x120")
		} else {
			all.add("llm_probe_interval_seconds{"+labels+"}", "10x120")
		}
		for name, values := range target.series {
			all.add(name+","+labels+"}", values)
		}
		row := fmt.Sprintf("llm_probe_target_info{target=%q,vantage=%q}", target.name, target.vantage)
		expected = append(expected, expectValue("sum("+query+" and on (target, vantage) "+row+")", states[target.state]))
	}
	expected = append(expected, expectValue("count"+query, len(watchedTargets())))
	checkQueries(t, all, expected)
}

// TestTimesUsual holds how many times as slow as usual a target is on Overview: the signal that is slowed most counts, at
// each vantage, however its histograms are scraped.
func TestTimesUsual(t *testing.T) {
	t.Parallel()
	var all inputSeries
	const record = `model:llm_probe_latency_seconds:ratio10m{target="a",model="llama",prompt="cold"`
	all.add(record+`,signal="ttft",histogram="native"}`, "1.1x120")
	all.add(record+`,signal="itl",histogram="native"}`, "2x120")
	all.add(record+`,signal="itl",histogram="classic"}`, "3x120")
	all.add(record+`,signal="itl",histogram="native",vantage="eu"}`, "1x120")
	query := queryOf(t, "overview", "× usual, 10 min")
	checkQueries(t, all, []any{
		expectValue("sum("+query+`and on (vantage) vector(1))`, 3),
		expectValue("sum("+query+`and on (vantage) label_replace(vector(1), "vantage", "eu", "", ""))`, 1),
		expectValue("count"+query, 2),
	})
}

// TestChangesOfTheServer holds when a change of the model or the server's version is marked: for five minutes after it, also
// if it goes back to what it was, and not after the prober was away for seven minutes.
func TestChangesOfTheServer(t *testing.T) {
	t.Parallel()
	const labels = `llm_probe_target_info{job="prober",instance="p:9464",target="a",prompt="cold",server="vllm"`
	var all inputSeries
	all.add(labels+`,model="unknown",server_version=""}`, "1 stale _x17 1 stale")
	all.add(labels+`,model="llama",server_version="0.9"}`, "_ 1x10 stale _x8 1x39 stale _x18 1x40")
	all.add(labels+`,model="llama",server_version="0.10"}`, "_x60 1x18 stale")
	all.add(labels+`,model="qwen",server_version="0.9"}`, "_x120 1x20")
	var expected []any
	for annotation, changes := range map[string]map[string]int{
		"Servers": {"4m": 0, "19m": 0, "21m": 0, "28m": 0, "59m": 0, "60m": 1, "64m": 1, "66m": 0, "80m": 1, "84m": 1,
			"86m": 0, "121m": 0},
		"Models": {"4m": 0, "19m": 0, "21m": 0, "28m": 0, "60m": 0, "80m": 0, "119m": 0, "120m": 1, "124m": 1, "126m": 0},
	} {
		for moment, changed := range changes {
			test := expectValue("count("+queryOf(t, "overview", annotation)+") or vector(0)", changed)
			test["eval_time"] = moment
			expected = append(expected, test)
		}
	}
	checkQueries(t, all, expected)
}

// queryOf returns the query of a panel that has one, or of an annotation, with all that can be chosen, in parentheses.
func queryOf(t *testing.T, dashboard, panel string) string {
	t.Helper()
	for _, q := range dashboardQueries(t) {
		if q.dashboard == dashboard && (q.panel == panel || q.panel == "annotation" && q.ref == panel) {
			return "(" + fill(q.expr, everything("10m", "1h")) + ")"
		}
	}
	t.Fatalf("%s has no panel %s", dashboard, panel)
	return ""
}

// inputSeries are series that promtool makes up for a test.
type inputSeries []any

func (all *inputSeries) add(name, values string) {
	*all = append(*all, map[string]any{"series": name, "values": values})
}

// expectValue returns a test of promtool: an expression has one value after two hours.
func expectValue(expr string, value any) map[string]any {
	sample := map[string]any{"labels": "{}", "value": value}
	return map[string]any{"expr": expr, "eval_time": "2h", "exp_samples": []any{sample}}
}

// checkQueries has promtool evaluate expressions on series, which are a minute apart.
func checkQueries(t *testing.T, all inputSeries, expected []any) {
	t.Helper()
	test := map[string]any{"interval": "1m", "input_series": all, "promql_expr_test": expected}
	file, err := yaml.Marshal(map[string]any{"tests": []any{test}})
	must(t, err)
	path := filepath.Join(t.TempDir(), "test.yaml")
	write(t, path, string(file))
	if output, ok := promtool(t, "", "test", "rules", path); !ok {
		t.Error(output)
	}
}
