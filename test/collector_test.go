package test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// The outage, in short: one probe a second for 15 s; exports every 300 ms, each
// given up after 1 s (by default every 60 s, given up after 30 s). After some 3 s
// the Collector is killed; for three exports nothing listens in its place; for three
// more somebody answers 503, which is retried until the export is given up, then
// 403, which is not; then the Collector is there again, for the last half.
const (
	outageProbes = 15
	outageQPS    = "1"
)

// TestCollectorOutage holds that cumulative metrics outlive an outage of the
// Collector without a loss, that delta ones do not, and that probes go on as if
// there were none.
func TestCollectorOutage(t *testing.T) {
	t.Parallel()
	simulator := start(t, nil, "simulate", "--profile", "fast,fast", "--listen", "127.0.0.1:0")
	address, before, after := freeAddress(t), t.TempDir()+"/before.json", t.TempDir()+"/after.json"
	first := startCollector(t, toFile(address, before), address)
	cumulative := exporting(t, simulator.after(t, "fast"), address)
	delta := exporting(t, simulator.after(t, "fast"), address, "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=delta")
	both := []exporter{cumulative, delta}

	for _, e := range both {
		eventually(t, "probes at the Collector", func() bool { return e.received(t, before) >= 3 })
	}
	first.kill(t)
	for _, e := range both {
		e.fails(t, 3, "nothing listens")
	}
	gateway := startGateway(t, address)
	for _, e := range both {
		e.fails(t, 3, "HTTP 503")
	}
	gateway.status.Store(http.StatusForbidden)
	for _, e := range both {
		e.fails(t, 1, "HTTP 403")
	}
	gateway.server.Close()
	second := startCollector(t, toFile(address, after), address)

	for _, e := range both {
		e.ended(t)
	}
	if code := second.stop(t); code != 0 {
		t.Errorf("the Collector's exit code is %d", code)
	}
	if n := cumulative.received(t, after); n != outageProbes {
		t.Errorf("cumulative: the Collector has %d of %d probes", n, outageProbes)
	}
	got := delta.received(t, before) + delta.received(t, after)
	if got >= outageProbes || got == 0 {
		t.Errorf("delta: the Collector has %d of %d probes, and was away", got, outageProbes)
	}
	t.Logf("delta: %d of %d probes were lost", outageProbes-got, outageProbes)
}

// An exporter is a prober that sends OTLP, and what it probes.
type exporter struct {
	*process

	base   string // of the prober
	server string // what it probes
}

// exporting starts a prober that makes outageProbes probes, and sends to address
// with secrets wherever they can be.
func exporting(t *testing.T, server, address string, environ ...string) exporter {
	t.Helper()
	p := start(t, append([]string{
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://user:s3cret@" + address + "/v1/metrics",
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20s3cret",
		"OTEL_METRIC_EXPORT_INTERVAL=300", "OTEL_METRIC_EXPORT_TIMEOUT=1000",
	}, environ...),
		"run", server, "--listen-address", "127.0.0.1:0", "--log-format", "json",
		"--qps", outageQPS, "--prompt-tokens", "100", "--max-tokens", "20",
		"--token-budget-per-day", fmt.Sprint(outageProbes*120))
	return exporter{p, p.listening(t), server}
}

// toFile is the configuration of a Collector that writes what it receives.
func toFile(address, path string) string {
	return fmt.Sprintf(`
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {file: {path: %q, flush_interval: 10ms}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {metrics: {receivers: [otlp], exporters: [file]}}
`, address, path)
}

// received is how many probes the Collector has written down: the last value if
// they are cumulative, the sum if not.
func (e exporter) received(t *testing.T, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for line := range strings.Lines(string(data)) {
		if !strings.HasSuffix(line, "\n") {
			break // it was killed in the middle of it, or is not done
		}
		var export metrics.MetricsData
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(line), &export); err != nil {
			t.Fatal(err)
		}
		total = e.count(total, &export)
	}
	return int(total)
}

// count is how many probes have been made after an export.
func (e exporter) count(total int64, export *metrics.MetricsData) int64 {
	for _, resource := range export.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			for _, m := range scope.Metrics {
				for _, p := range m.GetSum().GetDataPoints() {
					ours := m.Name == "llm.probe.probes" && attribute(p.Attributes, "outcome") == "ok" &&
						"http://"+attribute(p.Attributes, "target") == e.server
					switch {
					case !ours:
					case m.GetSum().AggregationTemporality == metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA:
						total += p.GetAsInt()
					default:
						total = p.GetAsInt()
					}
				}
			}
		}
	}
	return total
}

// failures are the exports that the prober says have failed.
func (e exporter) failures(t *testing.T) int {
	t.Helper()
	text, _ := get(t, e.base+"metrics", "text/plain")
	return int(families(t, text, "text/plain; version=0.0.4")["llm_prober_export_failures_total"].GetMetric()[0].GetCounter().GetValue())
}

// fails waits until n more exports have failed.
func (e exporter) fails(t *testing.T, n int, why string) {
	t.Helper()
	n += e.failures(t)
	eventually(t, "exports to fail: "+why, func() bool { return e.failures(t) >= n })
}

// ended waits until the budget is spent, holds the schedule and the log against
// what should be, and stops the prober.
func (e exporter) ended(t *testing.T) {
	t.Helper()
	eventually(t, "the budget spent", func() bool {
		text, _ := get(t, e.base+"metrics", "text/plain")
		return spent(text) == 1 && len(results(t, e.base)) == outageProbes
	})
	e.undisturbed(t)
	failed := e.failures(t)
	if code := e.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	log := e.stderr.String()
	if logged := strings.Count(log, `"OTLP export failed"`); logged != failed || failed < 7 {
		t.Errorf("%d exports failed, %d are in the log", failed, logged)
	}
	if strings.Contains(log, "s3cret") {
		t.Error("a secret is in the log")
	}
}

// undisturbed holds that there was one probe in each slot of the schedule, that
// all went well, and that the server saw as many.
func (e exporter) undisturbed(t *testing.T) {
	t.Helper()
	all := results(t, e.base)
	slices.SortFunc(all, func(a, b result) int { return a.Start.Compare(b.Start) })
	for n, r := range all {
		if int(r.Round-all[0].Round) != n || r.Outcome != "ok" {
			t.Errorf("probe %d was in slot %d: %s", n, r.Round-all[0].Round, r.Outcome)
		}
	}
	if n := made(t, e.server); n != outageProbes {
		t.Errorf("the server answered %d requests", n)
	}
	text, _ := get(t, e.base+"metrics", "text/plain")
	for _, m := range families(t, text, "text/plain; version=0.0.4")["llm_probe_skipped_total"].GetMetric() {
		for _, label := range m.Label {
			if label.GetName() == "reason" && label.GetValue() != "budget" && m.Counter.GetValue() != 0 {
				t.Errorf("%v probes were skipped: %s", m.Counter.GetValue(), label.GetValue())
			}
		}
	}
}

// made is how many answers a simulated server says that it has sent.
func made(t *testing.T, server string) int {
	t.Helper()
	body, _ := get(t, server+"/sim/sent", "")
	var all []json.RawMessage
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// kill ends the process without a chance to tidy up.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range p.lines { //nolint:revive // drained, so that the process can end
	}
	<-p.exited
}

// A gateway answers in the place of what is behind it and is down.
type gateway struct {
	server *httptest.Server
	status atomic.Int32
}

func startGateway(t *testing.T, address string) *gateway {
	t.Helper()
	g := &gateway{}
	g.status.Store(http.StatusServiceUnavailable)
	g.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no upstream", int(g.status.Load()))
	}))
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	g.server.Listener = listener
	g.server.Start()
	t.Cleanup(g.server.Close)
	return g
}
