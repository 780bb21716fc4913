package test

import (
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestBackEndsAgree probes two targets until their budgets are spent, and
// compares what a Prometheus has that scrapes natively, one that scrapes as by
// default, and one that is sent OTLP.
func TestBackEndsAgree(t *testing.T) {
	t.Parallel()
	otlp := startPrometheus(t, "", nil, "--web.enable-otlp-receiver")
	base, targets := probed(t, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="+otlp.url+"/api/v1/otlp/v1/metrics")
	scraped := startPrometheus(t, scrapeAllWays(t, base), nil)
	want := truthOf(t, base, targets)

	native := ingestion{name: "native scrape", into: scraped, job: "prober", halting: true}
	sent := ingestion{name: "OTLP", into: otlp, job: "prober"}
	for _, r := range []ingestion{
		native, sent,
		{name: "default scrape", into: scraped, job: "by-default", classic: true},
		{name: "native beside classic scrape", into: scraped, job: "both"},
	} {
		r.agree(t, want)
	}
	sameSeries(t, native.series(t), sent.series(t))
}

// TestCollectorExportersAgree does the same through a real OpenTelemetry Collector,
// which sends to one Prometheus and is scraped by another.
func TestCollectorExportersAgree(t *testing.T) {
	t.Parallel()
	otlp := startPrometheus(t, "", nil, "--web.enable-otlp-receiver")
	receiver, exporter := freeAddress(t), freeAddress(t)
	startCollector(t, page(t, "otlp.md", 0, map[string]string{
		"0.0.0.0:4318": receiver, "0.0.0.0:4317": freeAddress(t), "0.0.0.0:8889": exporter, "http://prometheus:9090": otlp.url,
	}), receiver)
	base, targets := probed(t, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://"+receiver+"/v1/metrics")
	scraped := startPrometheus(t, scrapeAllWays(t, base)+scrapeJob(t, "exporter", "http://"+exporter), nil)
	want := truthOf(t, base, targets)

	native := ingestion{name: "native scrape", into: scraped, job: "prober", halting: true}
	sent := ingestion{name: "Collector to OTLP", into: otlp, job: "prober"}
	served := ingestion{name: "Collector, scraped", into: scraped, job: "exporter", halting: true}
	sent.agree(t, want)
	served.agree(t, want)
	sameSeries(t, native.series(t), sent.series(t))
	sameSeries(t, native.series(t), served.series(t))
}

// probed starts two simulated servers and a prober whose budgets end after 15 probes of each.
// base is the prober's URL, targets are the names of its targets.
func probed(t *testing.T, environ ...string) (base string, targets []string) {
	t.Helper()
	simulator := start(t, nil, "simulate", "--profile", "fast,production-stack", "--listen", "127.0.0.1:0")
	fast, stack := simulator.after(t, "fast"), simulator.after(t, "production-stack")
	prober := start(t, append([]string{"OTEL_METRIC_EXPORT_INTERVAL=500"}, environ...),
		"run", fast, stack, "--listen-address", "127.0.0.1:0", "--log-format", "json",
		"--qps", "4", "--prompt-tokens", "100", "--max-tokens", "20", "--token-budget-per-day", "1800")
	return prober.listening(t), []string{strings.TrimPrefix(fast, "http://"), strings.TrimPrefix(stack, "http://")}
}

// scrapeAllWays is a configuration that scrapes a prober as docs/scraping.md says,
// with classic buckets beside the native ones, and as Prometheus does by default.
func scrapeAllWays(t *testing.T, base string) string {
	t.Helper()
	const natively = "    scrape_native_histograms: true\n"
	return "scrape_configs:\n" + scrapeJob(t, "prober", base) +
		strings.Replace(scrapeJob(t, "both", base), natively, natively+"    always_scrape_classic_histograms: true\n", 1) +
		strings.Replace(scrapeJob(t, "by-default", base), natively, "", 1)
}

// scrapeJob is the native scrape of docs/scraping.md, of another address and more
// often, as an element of the list.
func scrapeJob(t *testing.T, job, base string) string {
	t.Helper()
	return page(t, "scraping.md", 0, map[string]string{
		"scrape_configs:\n": "", "job_name: prober": "job_name: " + job,
		"prober:9464": host(t, base), "scrape_interval: 15s": "scrape_interval: 200ms",
	})
}

// host is the host and port of a URL.
func host(t *testing.T, base string) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

// page returns the n-th YAML block of a page of the documentation, with what is
// to be replaced in it; each must be there.
func page(t *testing.T, name string, n int, replace map[string]string) string {
	t.Helper()
	data, err := os.ReadFile("../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(data), -1)
	if len(blocks) <= n {
		t.Fatalf("%s has %d YAML blocks", name, len(blocks))
	}
	text := blocks[n][1]
	for old, now := range replace {
		if !strings.Contains(text, old) {
			t.Fatalf("%s: no %q in\n%s", name, old, text)
		}
		text = strings.ReplaceAll(text, old, now)
	}
	return text
}

// startCollector starts an OpenTelemetry Collector, and returns when its receiver
// for HTTP listens at address.
func startCollector(t *testing.T, config, address string) *process {
	t.Helper()
	path := t.TempDir() + "/otelcol.yaml"
	write(t, path, config)
	p := launch(t, "OTELCOL_BINARY", nil, "--config", path)
	eventually(t, "the Collector to listen", func() bool {
		select {
		case err := <-p.exited:
			t.Fatalf("the Collector ended: %v", err)
		default:
		}
		return listens(t, address)
	})
	return p
}

// listens reports whether somebody listens at an address.
func listens(t *testing.T, address string) bool {
	t.Helper()
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		return false
	}
	return connection.Close() == nil
}
