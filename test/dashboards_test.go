package test

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/test/program"
)

// A mode is one way of the metrics into a Prometheus.
type mode string

const (
	native  mode = "native"  // scraped as docs/scraping.md recommends
	classic mode = "classic" // scraped as by default
	sent    mode = "otlp"    // sent by OTLP, never scraped
)

// silent are the queries that find nothing here, each with its reason: a dashboard, or all;
// a panel and a query of it, or all of them; and one mode, or all.
var silent = []struct {
	dashboard, panel, ref string
	mode                  mode
	why                   string
}{
	{"overview", "TTFT: ratio to the other replicas", "", "", "no workload has three replicas"},
	{"overview", "ITL: ratio to the other replicas", "", "", "no workload has three replicas"},
	{"target", "Certificate expires in", "", "", "no target speaks TLS"},
	{"target", "Ratio to the same hour", "", "", "needs five days"},
	{"target", "z-score of the ratio", "", "", "needs ten days"},
	{"target", "Baseline samples", "", "", "needs five days"},
	{"compare", "TTFT p50, now and a week before", "B", "", "no data from a week ago"},
	{"compare", "TTFT p50, now and a week before", "D", "", "no data from a week ago"},
	{"compare", "TPOT p50, now and a week before", "B", "", "no data from a week ago"},
	{"compare", "TPOT p50, now and a week before", "D", "", "no data from a week ago"},
	{"compare", "ITL p50, now and a week before", "B", "", "no data from a week ago"},
	{"compare", "ITL p50, now and a week before", "D", "", "no data from a week ago"},
	{"compare", "E2EL p50, now and a week before", "B", "", "no data from a week ago"},
	{"compare", "E2EL p50, now and a week before", "D", "", "no data from a week ago"},
	{"", "annotation", "Models", "", "no model changes"},
	{"", "annotation", "Servers", "", "no server changes"},
	{"", "annotation", "Restarts", sent, "process metrics are on /metrics only"},
	{"", "annotation", "Reloads", native, "the first load is the start"},
	{"", "annotation", "Reloads", classic, "the first load is the start"},
	{"instrument", "Rejected targets", "", "", "the settings of all targets are right"},
	{"instrument", "Up", "", sent, "there is no scrape"},
	{"instrument", "Samples per scrape", "", sent, "there is no scrape"},
	{"instrument", "Scrape duration", "", sent, "there is no scrape"},
	{"instrument", "CPU", "", sent, "process metrics are on /metrics only"},
	{"instrument", "Memory", "", sent, "process metrics are on /metrics only"},
}

// reason says why a query finds nothing in a mode; empty if it has to find
// something.
func (q dashboardQuery) reason(m mode) string {
	for _, s := range silent {
		isHere := (s.dashboard == "" || s.dashboard == q.dashboard) && s.panel == q.panel && (s.ref == "" || s.ref == q.ref)
		if isHere && (s.mode == "" || s.mode == m) {
			return s.why
		}
	}
	return ""
}

// TestDashboards runs every query of every dashboard in three real Prometheus: one that
// scrapes natively, one that scrapes as by default, one that is sent OTLP. What is
// probed is a server that is not ours, a simulated one of which a fifth of the
// answers fail, a pair of canaries that answer wrongly, and one with a warm and a cold prompt.
func TestDashboards(t *testing.T) {
	t.Parallel()
	vllm := llmd(t, "--time-to-first-token", "20ms", "--inter-token-latency", "4ms")
	config := recordingConfig()
	otlp := startPrometheus(t, config)
	base := probeForDashboards(t, vllm, otlp)
	address := strings.Trim(strings.TrimPrefix(base, "http://"), "/")
	const prober = "- {job_name: prober, static_configs: [{targets: ['%s']}]}\n"
	into := map[mode]prometheus{
		native:  startPrometheus(t, config+scrapeJob(t, "prober", address)),
		classic: startPrometheus(t, config+fmt.Sprintf(prober, address)),
		sent:    otlp,
	}
	queries := dashboardQueries(t)
	for _, m := range slices.Sorted(maps.Keys(into)) {
		p, open := into[m], slices.Clone(queries)
		t.Cleanup(func() {
			for _, q := range open {
				if q.reason(m) == "" {
					t.Errorf("%s: %s has no data:\n%s", m, q, q.expr)
				}
			}
		})
		p.Eventually(t, string(m)+": data for every query", func() bool {
			open = slices.DeleteFunc(open, func(q dashboardQuery) bool { return p.shows(t, m, q) })
			return !slices.ContainsFunc(open, func(q dashboardQuery) bool { return q.reason(m) == "" })
		})
		checkSilent(t, m, queries, open)
		t.Logf("%s: %d queries run, %d with data, %d without as expected", m, len(queries), len(queries)-len(open), len(open))
	}
	checkLabels(t, into, queries)
	checkMetrics(t, base)
}

// checkMetrics lints what the prober exposes.
func checkMetrics(t *testing.T, base string) {
	t.Helper()
	text, _ := program.Get(t, base+"metrics", "text/plain")
	if said, ok := promtool(t, text, "check", "metrics"); !ok || said != "" {
		t.Errorf("promtool check metrics: %s", said)
	}
}

// checkSilent holds that what is said to find nothing does not.
func checkSilent(t *testing.T, m mode, all, open []dashboardQuery) {
	t.Helper()
	for _, q := range all {
		if why := q.reason(m); why != "" && !slices.Contains(open, q) {
			t.Errorf("%s: %s has data, though %s", m, q, why)
		}
	}
}

// checkLabels holds that a query has the same labels in all modes, so that both sides
// of an "or" do. Left out are heatmaps, whose classic buckets have le, and alerts,
// which have their own; instance, which OTLP may lack, does not count.
func checkLabels(t *testing.T, into map[mode]prometheus, queries []dashboardQuery) {
	t.Helper()
	for _, q := range queries {
		if q.format == "heatmap" || strings.HasPrefix(strings.TrimPrefix(q.expr, "max without (alertstate) ("), "ALERTS") {
			continue
		}
		seen := map[string]mode{}
		for m, p := range into {
			if names, ok := p.labelNames(t, q); ok {
				seen[names] = m
			}
		}
		if len(seen) > 1 {
			t.Errorf("%s has not the same labels everywhere: %v\n%s", q, seen, q.expr)
		}
	}
}

// labelNames returns the names of the labels that the results of a query have now.
func (p prometheus) labelNames(t *testing.T, q dashboardQuery) (names string, ok bool) {
	t.Helper()
	result := p.query(t, fill(q.expr, everything("10s", "30s")))
	all := map[string]bool{}
	for _, s := range result {
		var labels []string
		for name := range s.Metric {
			if name != "instance" {
				labels = append(labels, string(name))
			}
		}
		slices.Sort(labels)
		all[strings.Join(labels, " ")] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), " | "), len(result) > 0
}

// shows reports whether a query has data, for the one pair of targets or the other.
func (p prometheus) shows(t *testing.T, m mode, q dashboardQuery) bool {
	t.Helper()
	for _, pair := range [][2]string{{"a", "b"}, {"canary-a", "canary-b"}} {
		values := everything("10s", "30s")
		values["a"], values["b"] = pair[0], pair[1]
		if expr := fill(q.expr, values); p.has(t, m, q, expr) {
			return true
		}
	}
	return false
}

// has reports whether an expression has a number now, or in the last seconds if
// that is what the panel asks for; a heatmap needs exemplars too.
func (p prometheus) has(t *testing.T, m mode, q dashboardQuery, expr string) bool {
	t.Helper()
	if q.instant {
		return slices.ContainsFunc(p.query(t, expr), func(s *model.Sample) bool {
			return s.Histogram != nil || !math.IsNaN(float64(s.Value))
		})
	}
	var data struct{ Result model.Matrix }
	now := time.Now()
	p.api(t, "query_range", url.Values{
		"query": {expr}, "start": {now.Add(-5 * time.Second).Format(time.RFC3339Nano)}, "end": {now.Format(time.RFC3339Nano)}, "step": {"1s"},
	}, &data)
	found := slices.ContainsFunc(data.Result, func(s *model.SampleStream) bool {
		return len(s.Histograms) > 0 || slices.ContainsFunc(s.Values, func(v model.SamplePair) bool { return !math.IsNaN(float64(v.Value)) })
	})
	return found && (q.format != "heatmap" || len(p.exemplars(t, expr)) > 0)
}

// probeForDashboards starts a prober that also sends OTLP to a Prometheus, and returns
// its URL.
func probeForDashboards(t *testing.T, vllm string, otlp prometheus) (base string) {
	t.Helper()
	flaky, garbling := program.Simulate(t, "fast", "--reasoning", "5")[0], program.Simulate(t, "fast")[0]
	program.SetFault(t, flaky, `{"status":503,"probability":0.2}`)
	program.SetFault(t, garbling, `{"wrong_answer":true,"probability":0.5}`)
	file := t.TempDir() + "/targets.yaml"
	write(t, file, `
vantage: here
qps: 2
prompt_tokens: 100
max_tokens: 20
max_in_flight: 4
targets:
- {name: a, group: pair, url: "`+vllm+`", api: openai-chat, model: "`+llmdModel+`"}
- {name: b, group: pair, url: "`+flaky+`", model: "`+simulatedModel+`"}
- {name: canary-a, group: canaries, url: "`+garbling+`", prompt: canary}
- {name: canary-b, group: canaries, url: "`+garbling+`", prompt: canary, timestamps: kernel}
- {name: spent, url: "`+flaky+`", token_budget_per_day: 500}
- {name: both, url: "`+garbling+`", prompt_tokens: 1000, prompts: [{prompt: warm}, {prompt: cold}]}
objectives:
- {signal: availability, goal: 0.9}
- {name: first_token, signal: ttft, limit: 1s, goal: 0.9}
`)
	_, base = program.Run(t, otlp.otlp(500), "--targets-file", file)
	return base
}

// recordingConfig returns a configuration that has the rules, to which jobs are added.
func recordingConfig() string {
	return "global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 1s}\n" +
		"rule_files: [rules.yaml]\nscrape_configs:\n"
}

// fastRules returns rules evaluated every two seconds, the alerts firing as soon and as long as they are true, a tenth
// of the probes being enough, and the usual value of the first day being known at once.
func fastRules(rules string) string {
	fast := regexp.MustCompile(`(?m)^  interval: \S+$`).ReplaceAllString(rules, "  interval: 2s")
	fast = regexp.MustCompile(`(?m)^    (for|keep_firing_for): \S+\n`).ReplaceAllString(fast, "")
	fast = strings.ReplaceAll(fast, "[1d] offset 5m)", "[1d])")
	return strings.ReplaceAll(fast, ">= 24\n", ">= 3\n")
}

// Models that are probed.
const (
	llmdModel      = "llmd"
	simulatedModel = "meta-llama/Llama-3.1-8B-Instruct"
)
