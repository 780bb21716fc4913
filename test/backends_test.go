package test

import (
	"fmt"
	"math"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/test/program"
)

// TestBackEndsAgree probes two targets until their budgets are spent, and compares what arrives on each path: in a
// Prometheus that scrapes as recommended, as by default, and both kinds of buckets; and sent by OTLP to a real OpenTelemetry Collector, which
// sends on to a Prometheus and is scraped by another. In the middle the Collector is away: nothing is lost.
// Then it asks the report verb what it reads on each path.
func TestBackEndsAgree(t *testing.T) {
	t.Parallel()
	servers := program.Simulate(t, "fast,production-stack")
	receiver, exporter, address := program.FreeAddress(t), program.FreeAddress(t), program.FreeAddress(t)
	otlp, scraped := startPrometheus(t, ""), startPrometheus(t, scrapeAllWays(t, address)+scrapeJob(t, "exporter", exporter))
	config := page(t, "otlp.md", 0, map[string]string{
		"0.0.0.0:4318": receiver, "0.0.0.0:4317": program.FreeAddress(t), "0.0.0.0:8889": exporter, "http://prometheus:9090": otlp.url,
	})
	collector := startCollector(t, config, receiver)
	scraped.becomes(t, `count(up{job!="exporter"} == 0)`, 3)
	from := time.Now()
	prober, base := program.Run(t, []string{
		"PROBER_LISTEN_ADDRESS=" + address, "OTEL_METRIC_EXPORT_INTERVAL=500", "OTEL_METRIC_EXPORT_TIMEOUT=1000",
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://user:s3cret@" + receiver + "/v1/metrics", "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20s3cret",
	}, append(servers, "--qps", "2", "--token-budget-per-day", "1800")...)

	otlp.Eventually(t, "probes by way of the Collector", func() bool {
		n, _ := otlp.number(t, `sum(llm_probe_probes_total{outcome="ok"})`)
		return n >= 3
	})
	collector.End(t, syscall.SIGKILL)
	prober.Eventually(t, "exports to fail", func() bool { return program.Exposed(t, base, "llm_prober_export_failures_total", "") >= 3 })
	startCollector(t, config, receiver)

	var all []program.Result
	prober.Eventually(t, "all budgets spent", func() bool { all = program.Results(t, base); return len(all) == 15*len(servers) })
	want := truthOf(t, all)
	native := ingestion{into: scraped, job: "prober"}
	for _, path := range []ingestion{native, {into: scraped, job: "by-default", classic: true}, {into: scraped, job: "both"}} {
		path.agree(t, want)
	}
	for _, path := range []ingestion{{into: otlp, job: "prober"}, {into: scraped, job: "exporter", halting: true}} {
		path.complete(t, want)
		path.agreeExemplars(t, want)
		sameSeries(t, native.series(t), path.series(t))
	}
	reportsAgree(t, want, scraped, otlp, from)
	if log := prober.Log(); !strings.Contains(log, `"OTLP export failed"`) || strings.Contains(log, "s3cret") {
		t.Errorf("the log does not name failed exports, or shows a secret:\n%s", log)
	}
	prober.Interrupt(t)
}

// startCollector starts an OpenTelemetry Collector, and returns when its receiver
// for HTTP listens at address.
func startCollector(t *testing.T, config, address string) *program.Process {
	t.Helper()
	path := t.TempDir() + "/otelcol.yaml"
	write(t, path, config)
	p := program.Launch(t, "OTELCOL_BINARY", nil, "--config", path)
	p.Eventually(t, "the Collector to listen", func() bool {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		return err == nil && connection.Close() == nil
	})
	return p
}

// page returns the n-th YAML block of a page of the documentation, with what is
// to be replaced in it; each must be there.
func page(t *testing.T, name string, n int, replace map[string]string) string {
	t.Helper()
	data, err := os.ReadFile("../docs/" + name)
	must(t, err)
	text := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(data), -1)[n][1]
	for old, now := range replace {
		if !strings.Contains(text, old) {
			t.Fatalf("%s: no %q in\n%s", name, old, text)
		}
		text = strings.ReplaceAll(text, old, now)
	}
	return text
}

// A truth is what a prober itself says once it does nothing any more.
type truth struct {
	samples map[string]map[string][]float64 // in seconds, by target and histogram
	traces  map[string]bool                 // the ids of all probes
}

func truthOf(t *testing.T, all []program.Result) truth {
	t.Helper()
	want := truth{samples: map[string]map[string][]float64{}, traces: map[string]bool{}}
	for _, r := range all {
		if r.Outcome != "ok" {
			t.Errorf("%+v", r)
		}
		want.traces[r.Trace] = true
		if want.samples[r.Target] == nil {
			want.samples[r.Target] = map[string][]float64{}
		}
		samples := want.samples[r.Target]
		samples["itl"] = append(samples["itl"], r.ITL...)
		for name, value := range map[string]*float64{"ttft": r.TTFT, "tpot": r.TPOT, "e2el": r.E2EL} {
			if value != nil {
				samples[name] = append(samples[name], *value)
			}
		}
	}
	return want
}

// An ingestion is one path of the metrics into a Prometheus.
type ingestion struct {
	into    prometheus
	job     string
	classic bool // classic buckets only
	halting bool // brings exemplars of the first series of a histogram only
}

// selector selects the histogram of a target, or one of its classic series. It has
// others, empty ones, before the server told its model.
func (r ingestion) selector(name, suffix, target string) string {
	return fmt.Sprintf(`llm_probe_%s_seconds%s{job=%q,target=%q,model!="unknown"}`, name, suffix, r.job, target)
}

// of returns what came last of a histogram: its count, sum or buckets. A scrape that took longer than its
// interval has failed, and until the next an instant query finds nothing.
func (r ingestion) of(part, name, target string) string {
	if r.classic {
		return "last_over_time(" + r.selector(name, "_"+part, target) + "[5m])"
	}
	expr := "last_over_time(" + r.selector(name, "", target) + "[5m])"
	if part == "bucket" {
		return expr
	}
	return "histogram_" + part + "(" + expr + ")"
}

// complete waits until all samples have come.
func (r ingestion) complete(t *testing.T, want truth) {
	t.Helper()
	for target, of := range want.samples {
		for name, samples := range of {
			r.into.becomes(t, r.of("count", name, target), float64(len(samples)))
		}
	}
}

// agree holds what came by this path against the truth: each sample is in its bucket.
func (r ingestion) agree(t *testing.T, want truth) {
	t.Helper()
	r.complete(t, want)
	r.agreeExemplars(t, want)
	for target, of := range want.samples {
		for name, samples := range of {
			sum, _ := r.into.number(t, r.of("sum", name, target))
			for _, s := range samples {
				sum -= s
			}
			if math.Abs(sum) > 1e-9*float64(len(samples)) { // JSON has whole nanoseconds
				t.Errorf("%s, %s of %s: the sum is wrong by %v", r.job, name, target, sum)
			}
			buckets := r.buckets(t, name, target)
			if len(buckets) == 0 {
				t.Errorf("%s, %s of %s: no buckets", r.job, name, target)
			}
			for _, b := range buckets {
				n := model.FloatString(0)
				for _, s := range samples {
					if model.FloatString(s) > b.Lower && model.FloatString(s) <= b.Upper {
						n++
					}
				}
				if n != b.Count {
					t.Errorf("%s, %s of %s: %v samples from %v to %v, want %v", r.job, name, target, b.Count, b.Lower, b.Upper, n)
				}
			}
		}
	}
}

// buckets returns those of a histogram; classic ones begin below 0, since each counts what is in those before.
func (r ingestion) buckets(t *testing.T, name, target string) (all []*model.HistogramBucket) {
	t.Helper()
	for _, s := range r.into.query(t, r.of("bucket", name, target)) {
		if !r.classic {
			return s.Histogram.Buckets
		}
		upper, err := strconv.ParseFloat(string(s.Metric["le"]), 64)
		must(t, err)
		all = append(all, &model.HistogramBucket{Lower: -1, Upper: model.FloatString(upper), Count: model.FloatString(s.Value)})
	}
	return all
}

// agreeExemplars holds that there are exemplars, and that each is of a probe.
// Prometheus 3.15 reads those of the first series of a histogram only if it
// reads native buckets alone, as on the Collector's page: see docs/scraping.md.
func (r ingestion) agreeExemplars(t *testing.T, want truth) {
	t.Helper()
	suffix := ""
	if r.classic {
		suffix = "_bucket"
	}
	for target, of := range want.samples {
		for name := range of {
			ids := r.into.exemplars(t, r.selector(name, suffix, target))
			if len(ids) == 0 && !r.halting {
				t.Errorf("%s, %s of %s: no exemplars", r.job, name, target)
			}
			for _, id := range ids {
				if len(id) != 32 || !want.traces[id] {
					t.Errorf("%s, %s of %s: trace_id %q is of no probe", r.job, name, target, id)
				}
			}
		}
	}
}

// series returns all of our metrics that came by a path, by name and labels, without
// the labels that say how they came. Budgets go on being skipped, and are left
// out. After a scrape that took longer than its interval there are none, until the next.
func (r ingestion) series(t *testing.T) map[string]*model.Sample {
	t.Helper()
	all, found := map[string]*model.Sample{}, model.Vector{}
	r.into.Eventually(t, r.job+": series", func() bool {
		found = r.into.query(t, fmt.Sprintf(`{__name__=~"llm_probe_.+",job=%q} unless {model="unknown"}`, r.job))
		return len(found) > 0
	})
	for _, s := range found {
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
// without a sample: see docs/metrics.md. What was known of a target before its
// server taught better has ended, which OTLP cannot say: see docs/otlp.md.
func sameSeries(t *testing.T, scraped, sent map[string]*model.Sample) {
	t.Helper()
	if len(scraped) < 100 || len(sent) < 100 {
		t.Errorf("%d series were scraped, %d sent", len(scraped), len(sent))
	}
	for name, got := range sent {
		want := scraped[name]
		switch {
		case want == nil && got.Metric["__name__"] == "llm_probe_target_info":
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

// sameBuckets compares two histograms bucket for bucket, and their sums, whose last bits depend on the order in which a
// library adds up; nil is none. How wide the zero bucket is Prometheus 3.15 does not take from OTLP.
func sameBuckets(a, b *model.SampleHistogram) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Count == b.Count && math.Abs(float64(a.Sum-b.Sum)) <= 1e-12*math.Abs(float64(a.Sum)) &&
		slices.EqualFunc(a.Buckets, b.Buckets, func(a, b *model.HistogramBucket) bool {
			return a.Count == b.Count && (a.Lower == b.Lower && a.Upper == b.Upper || a.Lower < 0 && b.Lower < 0)
		})
}
