package test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/test/program"
)

// A prometheus is a running Prometheus with an empty database.
type prometheus struct {
	*program.Process

	url string // its base URL, without a slash at the end
}

// startPrometheus starts Prometheus with a configuration, the rules of the repository as [fastRules] has them in
// rules.yaml, and further flags; returns when it is ready. It takes OTLP at otlp().
func startPrometheus(t *testing.T, config string, flags ...string) prometheus {
	t.Helper()
	dir, address := t.TempDir(), program.FreeAddress(t)
	write(t, filepath.Join(dir, "rules.yaml"), fastRules(shippedRules(t)))
	write(t, filepath.Join(dir, "prometheus.yml"), config)
	p := prometheus{url: "http://" + address, Process: program.Launch(t, "PROMETHEUS_BINARY", nil, append([]string{
		"--config.file", filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path", filepath.Join(dir, "data"),
		"--web.listen-address", address,
		"--web.enable-otlp-receiver",
		"--enable-feature", "exemplar-storage",
		"--enable-feature", "promql-extended-range-selectors",
	}, flags...)...)}
	p.Eventually(t, "Prometheus to be ready", func() bool { return program.Answers(t, p.url+"/-/ready") })
	return p
}

// otlp returns what sends a prober's metrics there, so often in milliseconds.
func (p prometheus) otlp(interval int) []string {
	return []string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=" + p.url + "/api/v1/otlp/v1/metrics", fmt.Sprint("OTEL_METRIC_EXPORT_INTERVAL=", interval)}
}

// api decodes the data of an answer of Prometheus' API into v. An error that the
// API reports fails the test.
func (p prometheus) api(t *testing.T, path string, parameters url.Values, v any) {
	t.Helper()
	body, _ := program.Get(t, p.url+"/api/v1/"+path+"?"+parameters.Encode(), "application/json")
	reply := struct {
		Status, Error string
		Data          any
	}{Data: v}
	if err := json.Unmarshal([]byte(body), &reply); err != nil || reply.Status != "success" {
		t.Fatalf("%s %s: %s %v", path, parameters.Encode(), reply.Error, err)
	}
}

// query evaluates an expression now.
func (p prometheus) query(t *testing.T, expr string) model.Vector {
	t.Helper()
	var data struct{ Result model.Vector }
	p.api(t, "query", url.Values{"query": {expr}}, &data)
	return data.Result
}

// number returns the value of an expression that has one series; ok is false if it has none.
func (p prometheus) number(t *testing.T, expr string) (value float64, ok bool) {
	t.Helper()
	vector := p.query(t, expr)
	if len(vector) > 1 {
		t.Fatalf("%s has %d results: %v", expr, len(vector), vector)
	}
	if len(vector) == 0 {
		return 0, false
	}
	return float64(vector[0].Value), true
}

// becomes waits until an expression has one series with a value.
func (p prometheus) becomes(t *testing.T, expr string, want float64) {
	t.Helper()
	p.Eventually(t, fmt.Sprintf("%s to be %v", expr, want), func() bool {
		got, ok := p.number(t, expr)
		return ok && got == want
	})
}

// An exemplarSeries is a series with its exemplars.
type exemplarSeries struct {
	Labels    map[string]string `json:"seriesLabels"`
	Exemplars []struct{ Labels map[string]string }
}

// exemplarSeries returns the series of an expression that have exemplars of the last minutes.
func (p prometheus) exemplarSeries(t *testing.T, expr string) (all []exemplarSeries) {
	t.Helper()
	now := time.Now()
	p.api(t, "query_exemplars", url.Values{
		"query": {expr}, "start": {now.Add(-5 * time.Minute).Format(time.RFC3339)}, "end": {now.Format(time.RFC3339)},
	}, &all)
	return all
}

// exemplars returns the trace ids of the exemplars of an expression's series in the last minutes.
func (p prometheus) exemplars(t *testing.T, expr string) (ids []string) {
	t.Helper()
	for _, s := range p.exemplarSeries(t, expr) {
		for _, e := range s.Exemplars {
			ids = append(ids, e.Labels["trace_id"])
		}
	}
	return ids
}

// scrapeJob returns the scrape that docs/scraping.md recommends, of another address and more
// often, as an element of the list of jobs.
func scrapeJob(t *testing.T, job, address string) string {
	t.Helper()
	return page(t, "scraping.md", 0, map[string]string{
		"scrape_configs:\n": "", "job_name: prober": "job_name: " + job, "prober:9464": address, "scrape_interval: 15s": "scrape_interval: 200ms",
	})
}

// Parts of the lines of the scrape job: what it reads, and what it drops.
var (
	readsNative  = []string{"scrape_native_histograms:"}
	readsClassic = []string{"always_scrape_classic_histograms:"}
	dropsClassic = []string{"metric_relabel_configs:", "action: drop"}
)

// without returns a job without its lines that have these parts. Each must be there.
func without(t *testing.T, job string, parts ...string) string {
	t.Helper()
	for _, part := range parts {
		line := regexp.MustCompile(`(?m)^ +(?:- \{.*)?` + regexp.QuoteMeta(part) + `.*\n`)
		if !line.MatchString(job) {
			t.Fatalf("no %q in\n%s", part, job)
		}
		job = line.ReplaceAllString(job, "")
	}
	return job
}

// scrapeAllWays returns a configuration that scrapes a prober as docs/scraping.md recommends,
// with classic buckets beside the native ones, and as Prometheus does by default.
func scrapeAllWays(t *testing.T, address string) string {
	t.Helper()
	all := slices.Concat(readsNative, readsClassic, dropsClassic)
	return "scrape_configs:\n" + scrapeJob(t, "prober", address) +
		without(t, scrapeJob(t, "both", address), dropsClassic...) +
		without(t, scrapeJob(t, "by-default", address), all...)
}
