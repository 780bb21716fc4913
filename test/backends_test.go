package test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// A road is one way of the metrics into a Prometheus.
type road struct {
	name    string
	into    prometheus
	job     string
	classic bool // classic buckets only
	halting bool // brings exemplars of the first series of a histogram only
}

// TestBackEndsAgree probes two targets until their budgets are spent, and
// compares what a Prometheus has that scrapes natively, one that scrapes as by
// default, and one that is sent OTLP.
func TestBackEndsAgree(t *testing.T) {
	t.Parallel()
	otlp := startPrometheus(t, "", nil, "--web.enable-otlp-receiver")
	base, targets := probed(t, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT="+otlp.url+"/api/v1/otlp/v1/metrics")
	scraped := startPrometheus(t, scrapeAllWays(t, base), nil)
	want := truthOf(t, base, targets)

	native := road{name: "native scrape", into: scraped, job: "prober", halting: true}
	sent := road{name: "OTLP", into: otlp, job: "prober"}
	for _, r := range []road{
		native, sent,
		{name: "default scrape", into: scraped, job: "by-default", classic: true},
		{name: "native beside classic scrape", into: scraped, job: "both"},
	} {
		r.agree(t, want)
	}
	sameSeries(t, native.series(t), sent.series(t))
}

// TestCollectorRoadsAgree does the same through a real OpenTelemetry Collector,
// which sends to one Prometheus and is scraped by another.
func TestCollectorRoadsAgree(t *testing.T) {
	t.Parallel()
	otlp := startPrometheus(t, "", nil, "--web.enable-otlp-receiver")
	receiver, exporter := freeAddress(t), freeAddress(t)
	startCollector(t, page(t, "otlp.md", 0, map[string]string{
		"0.0.0.0:4318": receiver, "0.0.0.0:4317": freeAddress(t), "0.0.0.0:8889": exporter, "http://prometheus:9090": otlp.url,
	}), receiver)
	base, targets := probed(t, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://"+receiver+"/v1/metrics")
	scraped := startPrometheus(t, scrapeAllWays(t, base)+scrapeJob(t, "exporter", "http://"+exporter), nil)
	want := truthOf(t, base, targets)

	native := road{name: "native scrape", into: scraped, job: "prober", halting: true}
	sent := road{name: "Collector to OTLP", into: otlp, job: "prober"}
	served := road{name: "Collector, scraped", into: scraped, job: "exporter", halting: true}
	sent.agree(t, want)
	served.agree(t, want)
	sameSeries(t, native.series(t), sent.series(t))
	sameSeries(t, native.series(t), served.series(t))
}

// probed starts two simulated servers and a prober whose budgets end after 15
// probes of each: a number that makes the ranks of quantiles no whole numbers.
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

// A truth is what a prober itself says once it does nothing any more.
type truth struct {
	samples map[string]map[string][]float64 // by target and histogram, ascending
	traces  map[string]bool                 // the ids of all probes
	native  map[string]*dto.MetricFamily
	text    map[string]*dto.MetricFamily
}

// truthOf waits until the budgets of all targets are spent and every probe under
// way has ended.
func truthOf(t *testing.T, base string, targets []string) truth {
	t.Helper()
	var text string
	eventually(t, "all budgets spent", func() bool {
		text, _ = get(t, base+"metrics", "text/plain")
		return spent(text) == len(targets) && len(results(t, base)) == 15*len(targets)
	})
	text, _ = get(t, base+"metrics", "text/plain")
	binary, response := get(t, base+"metrics", string(expfmt.NewFormat(expfmt.TypeProtoDelim)))
	want := truth{
		samples: map[string]map[string][]float64{}, traces: map[string]bool{},
		native: families(t, binary, expfmt.ResponseFormat(response.Header)),
		text:   families(t, text, expfmt.NewFormat(expfmt.TypeTextPlain)),
	}
	body, _ := get(t, base+"api/v1/results?limit=1000&format=jsonl", "")
	for line := range strings.Lines(body) {
		want.add(t, line)
	}
	for _, target := range targets {
		for _, name := range histograms {
			slices.Sort(want.samples[target][name])
		}
	}
	return want
}

// add adds one result in JSON.
func (w truth) add(t *testing.T, line string) {
	t.Helper()
	var r struct {
		Target  string    `json:"target"`
		Outcome string    `json:"outcome"`
		TTFT    float64   `json:"ttft_seconds"`
		TPOT    float64   `json:"tpot_seconds"`
		E2EL    float64   `json:"e2el_seconds"`
		ITL     []float64 `json:"itl_seconds"`
		Trace   string    `json:"trace_id"`
	}
	if err := json.Unmarshal([]byte(line), &r); err != nil || r.Outcome != "ok" {
		t.Fatalf("%v: %s", err, line)
	}
	if w.samples[r.Target] == nil {
		w.samples[r.Target] = map[string][]float64{}
	}
	of := w.samples[r.Target]
	of["ttft"], of["tpot"], of["e2el"] = append(of["ttft"], r.TTFT), append(of["tpot"], r.TPOT), append(of["e2el"], r.E2EL)
	of["itl"] = append(of["itl"], r.ITL...)
	w.traces[r.Trace] = true
}

// agree holds what came by the road against the truth.
func (r road) agree(t *testing.T, want truth) {
	t.Helper()
	for target, of := range want.samples {
		for _, name := range histograms {
			what := fmt.Sprintf("%s, %s of %s", r.name, name, target)
			n := float64(len(of[name]))
			eventually(t, what+": all samples", func() bool { return r.count(t, name, target) == n })
			r.agreeSum(t, what, name, target, of[name])
			for _, q := range []float64{0.5, 0.9} {
				r.agreeQuantile(t, what, q, name, target, want)
			}
		}
	}
	for _, name := range histograms {
		r.agreeExemplars(t, name, want)
	}
}

// selector selects the histogram of a target, or one of its classic series. It has
// others, empty ones, before the server told its model.
func (r road) selector(name, suffix, target string) string {
	return fmt.Sprintf(`llm_probe_%s_seconds%s{job=%q,target=%q,model!=""}`, name, suffix, r.job, target)
}

// value is the one value of an expression; NaN if there is none yet.
func (r road) value(t *testing.T, expr string) float64 {
	t.Helper()
	vector := r.into.query(t, expr)
	if len(vector) > 1 {
		t.Fatalf("%s: %s has %d results", r.name, expr, len(vector))
	}
	if len(vector) == 0 {
		return math.NaN()
	}
	return float64(vector[0].Value)
}

func (r road) count(t *testing.T, name, target string) float64 {
	t.Helper()
	if r.classic {
		return r.value(t, r.selector(name, "_count", target))
	}
	return r.value(t, "histogram_count("+r.selector(name, "", target)+")")
}

// agreeSum holds a sum. What is not above 2^-13 s is sent as 0 by OTLP.
func (r road) agreeSum(t *testing.T, what, name, target string, samples []float64) {
	t.Helper()
	expr := "histogram_sum(" + r.selector(name, "", target) + ")"
	if r.classic {
		expr = r.selector(name, "_sum", target)
	}
	got, most, least := r.value(t, expr), 0.0, 0.0
	for _, s := range samples {
		most += s
		if s > 0x1p-13 {
			least += s
		}
	}
	if scraped := !strings.Contains(r.name, "OTLP") && !strings.Contains(r.name, "Collector"); scraped {
		least = most
	}
	if rounding := 1e-6 * most; got < least-rounding || got > most+rounding {
		t.Errorf("%s: sum %v, want %v to %v", what, got, least, most)
	}
}

// agreeQuantile holds a quantile to lie in the bucket, native or classic, of the
// sample that has the rank.
func (r road) agreeQuantile(t *testing.T, what string, q float64, name, target string, want truth) {
	t.Helper()
	samples := want.samples[target][name]
	rank := q * float64(len(samples))
	if rank == math.Trunc(rank) {
		t.Fatalf("%s: the rank %v is between two samples", what, rank)
	}
	sample := samples[int(rank)]
	lower, upper := sample/math.Exp2(1.0/16), sample*math.Exp2(1.0/16)
	if sample <= 0x1p-13 {
		lower, upper = 0, 0x1p-13 // the zero bucket
	}
	expr := r.selector(name, "", target)
	if r.classic {
		expr = r.selector(name, "_bucket", target)
		lower, upper = classicBucket(histogram(want.text, name, target), sample)
	}
	got := r.value(t, fmt.Sprintf("histogram_quantile(%v, %s)", q, expr))
	if !(got >= lower*(1-1e-9) && got <= upper*(1+1e-9)) {
		t.Errorf("%s: quantile %v is %v, want %v to %v around %v", what, q, got, lower, upper, sample)
	}
}

// classicBucket are the bounds of the classic bucket that holds a value.
func classicBucket(h *dto.Histogram, value float64) (lower, upper float64) {
	for _, b := range h.Bucket {
		if upper = b.GetUpperBound(); value <= upper {
			break
		}
		lower = upper
	}
	return lower, upper
}

// agreeExemplars holds that there are exemplars, and that each is of a probe.
// Prometheus 3.15 reads those of the first series of a histogram only if it
// scrapes native buckets alone: see docs/scraping.md.
func (r road) agreeExemplars(t *testing.T, name string, want truth) {
	t.Helper()
	suffix := ""
	if r.classic {
		suffix = "_bucket"
	}
	for n, target := range slices.Sorted(maps.Keys(want.samples)) {
		exemplars := r.exemplars(t, r.selector(name, suffix, target))
		if len(exemplars) == 0 && !(r.halting && n > 0) {
			t.Errorf("%s, %s of %s: no exemplars", r.name, name, target)
		}
		for _, id := range exemplars {
			if len(id) != 32 || !want.traces[id] {
				t.Errorf("%s, %s of %s: trace_id %q is of no probe", r.name, name, target, id)
			}
		}
	}
}

// exemplars are the trace ids of the exemplars of a series.
func (r road) exemplars(t *testing.T, selector string) []string {
	t.Helper()
	var series []struct {
		Exemplars []struct{ Labels map[string]string }
	}
	r.into.api(t, "query_exemplars", url.Values{
		"query": {selector},
		"start": {time.Now().Add(-time.Hour).Format(time.RFC3339)}, "end": {time.Now().Add(time.Hour).Format(time.RFC3339)},
	}, &series)
	var ids []string
	for _, s := range series {
		for _, e := range s.Exemplars {
			ids = append(ids, e.Labels["trace_id"])
		}
	}
	return ids
}

// series are all of our metrics that came by a road, by name and labels, without
// the labels that say how they came. Budgets go on being skipped, and are left
// out.
func (r road) series(t *testing.T) map[string]*model.Sample {
	t.Helper()
	all := map[string]*model.Sample{}
	for _, s := range r.into.query(t, fmt.Sprintf(`{__name__=~"llm_probe.+",job=%q} unless {model="",target!=""}`, r.job)) {
		for _, label := range []model.LabelName{"job", "instance", "exported_job", "exported_instance"} {
			delete(s.Metric, label)
		}
		if s.Metric["reason"] != "budget" {
			all[s.Metric.String()] = s
		}
	}
	return all
}

// sameSeries holds that names, labels and values of all series that were sent
// are those that were scraped. What is scraped and was not sent is a histogram
// without a sample: see docs/metrics.md.
func sameSeries(t *testing.T, scraped, sent map[string]*model.Sample) {
	t.Helper()
	if len(scraped) < 100 || len(sent) < 100 {
		t.Errorf("%d series were scraped, %d sent", len(scraped), len(sent))
	}
	for name, got := range sent {
		want := scraped[name]
		switch {
		case want == nil:
			t.Errorf("%s is sent, and not scraped", name)
		case want.Value != got.Value || !sameBuckets(want.Histogram, got.Histogram):
			t.Errorf("scraped %v, sent %v", want, got)
		}
	}
	for name, want := range scraped {
		if empty := want.Histogram != nil && want.Histogram.Count == 0; sent[name] == nil && !empty {
			t.Errorf("%s is scraped, and not sent", name)
		}
	}
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

// sameBuckets compares two histograms bucket for bucket; nil is none. Only how wide
// the zero bucket is OpenTelemetry does not say.
func sameBuckets(a, b *model.SampleHistogram) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Count == b.Count && slices.EqualFunc(a.Buckets, b.Buckets, func(a, b *model.HistogramBucket) bool {
		return a.Count == b.Count && (a.Lower == b.Lower && a.Upper == b.Upper || a.Lower < 0 && b.Lower < 0)
	})
}
