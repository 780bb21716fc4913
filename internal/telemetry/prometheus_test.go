package telemetry

import (
	"errors"
	"fmt"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-prober/prober/internal/testing/golden"
)

// scrape returns the answer of /metrics in the OpenMetrics format. Errors of collectors are written to errs.
func scrape(h http.Handler) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request)
	return w
}

// exemplarLabels matches the labels of an exemplar, whose order is random.
var exemplarLabels = regexp.MustCompile(`{(trace_id="\w+"),(span_id="\w+")}`)

// expositionOf returns the lines of a scrape that are about the metrics of the catalog.
func expositionOf(t *testing.T, r *Recorder) string {
	t.Helper()
	var errs strings.Builder
	w := scrape(r.Handler(log.New(&errs, "", 0)))
	if w.Code != http.StatusOK || errs.Len() > 0 {
		t.Fatalf("scrape: HTTP %d: %s, and the errors %s", w.Code, w.Body, &errs)
	}
	var b strings.Builder
	for line := range strings.Lines(w.Body.String()) {
		if strings.Contains(line, "llm_probe") {
			line = exemplarLabels.ReplaceAllString(line, "{$2,$1}")
			b.WriteString(strings.ReplaceAll(line, runtime.Version(), "goX"))
		}
	}
	return b.String()
}

// TestFamilies holds how a metric of each kind stands on /metrics: a counter, a gauge, and a histogram with its classic
// buckets and exemplars.
func TestFamilies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(Options{}, nil)
		everything(r)
		var b strings.Builder
		for line := range strings.Lines(expositionOf(t, r)) {
			if familiesShown.MatchString(line) {
				b.WriteString(line)
			}
		}
		golden.Equal(t, "testdata/families.txt", b.String())
	})
}

var familiesShown = regexp.MustCompile(`\bllm_probe_(objective_events|objective_limit_seconds|max_gap_seconds)`)

// TestFamiliesAreThoseOfTheCatalog holds that every other metric stands there as the catalog says: name, kind, unit,
// help, labels and classic buckets.
func TestFamiliesAreThoseOfTheCatalog(t *testing.T) {
	r := newRecorder(Options{}, nil)
	everything(r)
	var want, got []string
	for _, i := range Catalog() {
		if i.Scope != ScopeGenAI {
			labels := i.labelNames()
			slices.Sort(labels)
			want = append(want, fmt.Sprint(
				i.PrometheusName(), " ", i.Kind, " ", i.prometheusUnit(), " ", labels, " ", i.Bounds, " ", i.Help))
		}
	}
	for _, family := range gather(t, r) {
		m := family.Metric[0]
		var bounds []float64
		for _, bucket := range m.GetHistogram().GetBucket() {
			bounds = append(bounds, bucket.GetUpperBound())
		}
		got = append(got, fmt.Sprint(
			family.GetName(), " ", strings.ToLower(family.GetType().String()), " ", family.GetUnit(), " ",
			slices.Sorted(maps.Keys(labelsOf(m))), " ", bounds, " ", family.GetHelp()))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("families (-catalog +/metrics):\n%s", diff)
	}
}

// TestEveryMetricHasASample holds that each metric of the catalog on /metrics gets a value. One that is always zero is
// a mistake in its instrument.
func TestEveryMetricHasASample(t *testing.T) {
	r := newRecorder(Options{}, nil)
	everything(r)
	hasSample := map[string]bool{}
	for _, family := range gather(t, r) {
		for _, m := range family.Metric {
			if m.GetCounter().GetValue() != 0 || m.GetGauge().GetValue() != 0 || m.GetHistogram().GetSampleCount() != 0 {
				hasSample[family.GetName()] = true
			}
		}
	}
	for _, i := range Catalog() {
		if i.Scope != ScopeGenAI && !hasSample[i.PrometheusName()] {
			t.Errorf("%s is 0 after everything(): record something there that it counts (fixtures_test.go), "+
				"or correct the function that returns its samples", i.Name)
		}
	}
}

// TestSeries holds the value of each series after everything(), and of a histogram its count and sum.
func TestSeries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(Options{
			Build: Build{Version: "v1.2.3", Revision: "abc"}, ExternalURL: "https://prober.example.com",
		}, nil)
		everything(r)
		golden.Equal(t, "testdata/series.txt", seriesOf(expositionOf(t, r)))
	})
}

// TestSeriesExistFromTheStart holds which series a target has before its first result.
func TestSeriesExistFromTheStart(t *testing.T) {
	r := newRecorder(Options{}, nil)
	r.Set(fixedTarget())
	golden.Equal(t, "testdata/zero.txt", seriesOf(expositionOf(t, r)))
}

// seriesOf returns the lines of an exposition without help and buckets, of which each metric has the same.
func seriesOf(exposition string) string {
	var b strings.Builder
	for line := range strings.Lines(exposition) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "_bucket{") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestMetricsOfTheProcess holds that those of Go, of the process and of scrapes are beside the catalog's.
func TestMetricsOfTheProcess(t *testing.T) {
	text := scrape(newRecorder(Options{}, nil).Handler(nil)).Body.String()
	for _, metric := range []string{
		"go_goroutines", "process_start_time_seconds", "promhttp_metric_handler_requests_in_flight",
	} {
		if !strings.Contains(text, "\n"+metric+" ") {
			t.Errorf("no %s", metric)
		}
	}
}

type brokenCollector struct{}

func (brokenCollector) Describe(chan<- *prometheus.Desc) {}

func (brokenCollector) Collect(to chan<- prometheus.Metric) {
	err := errors.New("broken collector")
	to <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
}

// TestHandlerReportsErrors holds that a collector that fails costs its own series only, is logged, and is counted.
func TestHandlerReportsErrors(t *testing.T) {
	r := newRecorder(Options{}, nil)
	r.registry.MustRegister(brokenCollector{})
	var errs strings.Builder
	h := r.Handler(log.New(&errs, "", 0))
	scrape(h)
	w := scrape(h)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "\nllm_prober_build_info") {
		t.Errorf("HTTP %d without the other metrics", w.Code)
	}
	if !strings.Contains(errs.String(), "broken collector") {
		t.Errorf("logged %q", &errs)
	}
	const counted = "promhttp_metric_handler_errors_total{cause=\"gathering\"} 1"
	if !strings.Contains(w.Body.String(), counted) {
		t.Errorf("no %s", counted)
	}
}

// A stuckClient reads nothing until it is closed.
type stuckClient struct {
	*httptest.ResponseRecorder
	closed chan struct{}
}

func (s stuckClient) Write(data []byte) (int, error) {
	<-s.closed
	return len(data), nil
}

// TestClientsThatDoNotRead holds that they cost a bounded memory, and that others see the present until the bound is
// reached.
func TestClientsThatDoNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(Options{}, nil)
		h := r.Handler(nil)
		closed := make(chan struct{})
		defer close(closed)
		for n := range maxScrapes {
			r.Add(LookupFailures, 1)
			want := fmt.Sprintf("\nllm_prober_dns_lookup_failures_total %d.0\n", n+1)
			if w := scrape(h); !strings.Contains(w.Body.String(), want) {
				t.Errorf("with %d clients that do not read, a scrape lacks %q", n, want)
			}
			client := stuckClient{httptest.NewRecorder(), closed}
			go h.ServeHTTP(client, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			synctest.Wait()
		}
		if w := scrape(h); w.Code != http.StatusServiceUnavailable {
			t.Errorf("one scrape more is answered with %d, want 503", w.Code)
		}
	})
}
