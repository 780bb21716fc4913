package telemetry

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/llm-prober/prober/internal/probe"
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

// fill records what the golden files show.
func fill(r *Recorder) {
	r.Reloaded(day(), true)
	r.SetRejectedTargets([]probe.Description{{Name: "no key"}, {Name: "no name"}})
	r.Set(fixedTarget())
	r.Record(succeeded5())
	r.Record(stalled())
	r.Record(refused())
	r.Skipped("a", probe.SkipOverlap)
}

// TestExposition holds all that a scrape of three results and of two probes in flight shows: every metric of the
// catalog on /metrics with its help, its classic buckets and its exemplars.
func TestExposition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecorder(Options{
			Build: Build{Version: "v1.2.3", Revision: "abc"}, ExternalURL: "https://prober.example.com",
		}, nil)
		fill(r)
		target := fixedTarget()
		started := time.Now().Add(-3 * time.Second)
		target.InFlight = func() (int, time.Time) { return 2, started }
		r.Set(target)
		golden.Equal(t, "testdata/exposition.txt", expositionOf(t, r))
	})
}

// TestSeriesExistFromTheStart holds which series a target has before its first result. Their help and their buckets are
// as in the exposition above.
func TestSeriesExistFromTheStart(t *testing.T) {
	r := newRecorder(Options{}, nil)
	r.Set(fixedTarget())
	var b strings.Builder
	for line := range strings.Lines(expositionOf(t, r)) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "_bucket{") {
			b.WriteString(line)
		}
	}
	golden.Equal(t, "testdata/zero.txt", b.String())
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
