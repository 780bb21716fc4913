package test

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

// askedModel is what the simulated servers serve.
const askedModel = "meta-llama/Llama-3.1-405B-Instruct"

// week makes an hour half a second, a day twelve seconds and a week 84. Nothing is
// seen in less than half a second: an hour's range is three seconds.
func week() shortening { return shortening{factor: 7200, tick: 500 * time.Millisecond} }

// A watch is all that stands between a server's fault and whom it is told: the
// prober, Prometheus with the rules that ship, shortened, and what it sends its
// alerts to.
type watch struct {
	*alertmanager

	prober     *process
	instance   string // the label
	prometheus prometheus
}

// startWatch starts a prober and all that is behind it.
func startWatch(t *testing.T, short shortening, environ []string, args ...string) watch {
	t.Helper()
	w := watch{alertmanager: newAlertmanager(t)}
	w.prober = start(t, environ, append([]string{"run", "--listen-address", "127.0.0.1:0", "--log-format", "json"}, args...)...)
	w.instance = strings.Trim(strings.TrimPrefix(w.prober.listening(t), "http://"), "/")
	rules := filepath.Join(t.TempDir(), "rules.yaml")
	w.prometheus = startPrometheus(t, w.config(w.instance, rules, short.tick), nil,
		// What is further back than a rate would see is not there.
		"--query.lookback-delta", model.Duration(short.window(1)).String())
	// Prometheus scrapes after five seconds, which is half a day here: without a
	// prober until then the rules would rightly speak of its absence.
	eventually(t, "Prometheus to scrape the prober", func() bool {
		up, ok := w.number(t, "up")
		return ok && up == 1
	})
	write(t, rules, short.shortRules(t))
	if err := w.prometheus.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	return w
}

// number is the value of an expression that has one series; false if it has none.
func (w watch) number(t *testing.T, expr string) (float64, bool) {
	t.Helper()
	result := w.prometheus.query(t, expr)
	if len(result) == 0 {
		return 0, false
	}
	return float64(result[0].Value), true
}

// asked is a probe that takes 1.2 s on a simulated server, so long that what a busy
// machine adds is little of it: TTFT 1 s, then 43.5 ms a token.
func asked() []string {
	return []string{"--prompt-tokens", "2700", "--max-tokens", "5", "--connection", "reuse"}
}

// simulate starts servers and returns their URLs.
func simulate(t *testing.T, n int) []string {
	t.Helper()
	const profile = "tgi"
	simulator := start(t, nil, "simulate", "--profile", strings.Repeat(profile+",", n-1)+profile, "--api", "openai", "--listen", "127.0.0.1:0")
	var urls []string
	for range n {
		urls = append(urls, simulator.after(t, profile))
	}
	return urls
}

// alertOf is an alert's whole label set.
func alertOf(name, severity, target string, more model.LabelSet) model.LabelSet {
	labels := model.LabelSet{"alertname": model.LabelValue(name), "severity": model.LabelValue(severity)}
	if target != "" {
		labels = labels.Merge(model.LabelSet{"target": model.LabelValue(target), "model": askedModel, "prompt": "cold"})
	}
	return labels.Merge(more)
}

// TestRegressionArrives learns ten days of a server, makes its tokens 15% slower
// at run time, and holds that the alert, and it alone, arrives, stays as long as the
// slowness does, and ends.
func TestRegressionArrives(t *testing.T) {
	t.Parallel()
	server := simulate(t, 1)[0]
	w := startWatch(t, week(), nil, append(asked(), server, "--name", "llm", "--qps", "16", "--max-in-flight", "100")...)
	enough := learnt(t, week().shortRules(t))
	w.until(t, "the baseline to be learnt", 4*time.Minute, func() bool {
		if len(w.first) > 0 {
			t.Fatal("an alert fired though nothing is wrong")
		}
		samples, ok := w.number(t, `target:llm_probe_latency_seconds:baseline_samples5d{signal="itl"}`)
		return ok && samples >= enough
	})
	before, _ := w.number(t, `target:llm_probe_latency_seconds:p50_1h{signal="itl"}`)

	since := time.Now()
	setFault(t, server, `{"itl":1.15}`)
	regression := alertOf("ProberITLRegression", "warning", "llm", model.LabelSet{"signal": "itl", "basis": "samehour7d"})
	alert := w.awaitFiring(t, regression)
	told := time.Since(since)
	after, _ := w.number(t, `target:llm_probe_latency_seconds:p50_1h{signal="itl"}`)
	t.Logf("after %v: p50 of ITL was %.4f s, is %.4f s: %s", told, before, after, alert.Annotations["description"])
	checkAnnotations(t, alert)
	ratio := regexp.MustCompile(`, (\d\.\d\d) times the usual value at this hour over the last seven days\.$`).FindStringSubmatch(alert.Annotations["description"])
	if ratio == nil {
		t.Fatalf("no ratio in %q", alert.Annotations["description"])
	}
	// A native bucket is 4.4% wide, and the median is interpolated in it.
	if value, err := strconv.ParseFloat(ratio[1], 64); err != nil || value < 1.10 || value > 1.20 {
		t.Errorf("%v times the usual, want about 1.15", value)
	}

	// What stays for a day is not usual by then: the alert must outlast it.
	w.until(t, "a day of slowness, which is twelve seconds", time.Minute, func() bool {
		ratio, ok := w.number(t, `avg_over_time(target:llm_probe_latency_seconds:ratio_samehour7d{signal="itl"}[12s])`)
		return ok && ratio > 1.12
	})
	healed := time.Now()
	setFault(t, server, "")
	w.awaitResolved(t, regression)
	if ended := time.Time(w.last[regression.String()].EndsAt); ended.Before(healed) {
		t.Errorf("the alert ended %v before the server was well", healed.Sub(ended))
	}
	if ratio, ok := w.number(t, `target:llm_probe_latency_seconds:ratio_samehour7d{signal="itl"}`); !ok || ratio > 1.085 {
		t.Errorf("the alert ended at %v times the usual, %v", ratio, ok)
	}
	w.expect(t, regression)
}

// learnt is how many samples of the baseline the rules ask for.
func learnt(t *testing.T, rules string) float64 {
	t.Helper()
	asked := regexp.MustCompile("baseline_samples5d >= ([0-9]+)").FindStringSubmatch(rules)
	if asked == nil {
		t.Fatal("the rules ask for no number of samples")
	}
	n, err := strconv.ParseFloat(asked[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestOutageArrives holds that what neither answers nor fails is told long before
// the probe's timeout, that an objective of latency burns where there is no latency,
// that a server which refuses the prober is not called down, and that a prober that
// is gone is told as well.
func TestOutageArrives(t *testing.T) {
	t.Parallel()
	servers := simulate(t, 4)
	setFault(t, servers[0], `{"status":503}`)
	setFault(t, servers[3], `{"status":401}`)
	w := startWatch(t, week(), []string{
		"PROBER_TARGETS_0_NAME=fails", "PROBER_TARGETS_0_URL=" + servers[0], "PROBER_TARGETS_0_MODEL=" + askedModel,
		"PROBER_TARGETS_1_NAME=hangs", "PROBER_TARGETS_1_URL=" + servers[1],
		"PROBER_TARGETS_2_NAME=well", "PROBER_TARGETS_2_URL=" + servers[2],
		"PROBER_TARGETS_3_NAME=refuses", "PROBER_TARGETS_3_URL=" + servers[3], "PROBER_TARGETS_3_MODEL=" + askedModel,
		"PROBER_OBJECTIVES_0_SIGNAL=ttft", "PROBER_OBJECTIVES_0_LIMIT=10s", "PROBER_OBJECTIVES_0_GOAL=0.99",
		"PROBER_BACKOFF_LIMIT=none", // what is asked once a second is no outage of an hour of half a second
	}, append(asked(), "--qps", "4", "--max-in-flight", "8")...)

	expected := []model.LabelSet{
		alertOf("ProberTargetDown", "critical", "fails", model.LabelSet{"since": "start"}),
		alertOf("ProberTargetRefuses", "warning", "refuses", nil),
	}
	for _, burn := range [][3]string{{"critical", "1h", "5m"}, {"critical", "6h", "30m"}, {"warning", "1d", "2h"}, {"warning", "3d", "6h"}} {
		for _, target := range []string{"fails", "refuses"} {
			expected = append(expected, alertOf("ProberErrorBudgetBurn", burn[0], target, model.LabelSet{
				"objective": "ttft", "long": model.LabelValue(burn[1]), "short": model.LabelValue(burn[2]),
			}))
		}
	}
	w.awaitAll(t, expected...)
	if n, ok := w.number(t, `histogram_count(last_over_time(llm_probe_ttft_seconds{target="fails"}[10s]))`); !ok || n != 0 {
		t.Errorf("%v samples of TTFT, %v: want none", n, ok)
	}
	w.expect(t, expected...)

	w.until(t, "what is usual of the target that will hang", time.Minute, func() bool {
		_, ok := w.number(t, `target:llm_probe_e2el_seconds:p99_1h{target="hangs"}`)
		return ok
	})
	setFault(t, servers[1], `{"hang":true}`)
	hanging := []model.LabelSet{
		alertOf("ProberProbeHanging", "warning", "hangs", nil),
		alertOf("ProberTargetDown", "critical", "hangs", model.LabelSet{"since": "success"}),
		// Eight hang, and there is no room for a ninth.
		alertOf("ProberSkipping", "warning", "hangs", model.LabelSet{"reason": "overlap"}),
	}
	w.awaitAll(t, hanging...)
	if n, ok := w.number(t, `sum(last_over_time(llm_probe_probes_total{target="hangs",outcome!="ok"}[10s]))`); !ok || n != 0 {
		t.Errorf("%v probes had failed, %v: the alerts came no earlier than the timeout", n, ok)
	}
	expected = append(expected, hanging...)
	w.expect(t, expected...)

	setFault(t, servers[0], "")
	w.awaitResolved(t, expected[0])

	if err := w.prober.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	absent := []model.LabelSet{
		alertOf("ProberAbsent", "critical", "", model.LabelSet{"job": "prober", "instance": model.LabelValue(w.instance)}),
		alertOf("ProberAbsent", "critical", "", nil), // there is no other
	}
	w.awaitAll(t, absent...)
	w.expect(t, append(expected, absent...)...)
}

// awaitAll waits for alerts, in whatever order they come, and looks at what they say.
func (w watch) awaitAll(t *testing.T, alerts ...model.LabelSet) {
	t.Helper()
	for _, labels := range alerts {
		checkAnnotations(t, w.awaitFiring(t, labels))
	}
}

// checkAnnotations holds that the templates of an alert could be rendered, and
// that its links lead to its own pages.
func checkAnnotations(t *testing.T, alert arrival) {
	t.Helper()
	name := alert.Labels["alertname"]
	nothing := regexp.MustCompile(`^$|<.*>|{{| [,;.]|  |\(\)`)
	for key, text := range alert.Annotations {
		if nothing.MatchString(text) {
			t.Errorf("%s: %s is %q", name, key, text)
		}
	}
	if got := path.Base(alert.Annotations["runbook_url"]); got != name+".md" {
		t.Errorf("%s: runbook %s", name, got)
	}
	if target := alert.Labels["target"]; target != "" {
		want := fmt.Sprintf("/d/prober-target?var-target=%s&var-model=meta-llama%%2FLlama-3.1-405B-Instruct&var-prompt=cold", target)
		if got := alert.Annotations["dashboard_url"]; got != want && name != "ProberSkipping" {
			t.Errorf("%s: dashboard %s, want %s", name, got, want)
		}
	}
	if len(alert.Annotations) != 4 {
		t.Errorf("%s: annotations %v", name, alert.Annotations)
	}
}
