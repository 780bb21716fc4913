package telemetry

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"github.com/llm-prober/prober/internal/probe"
)

// scrape is /metrics in a format.
func scrape(t *testing.T, p *Recorder, accept string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	p.Handler(func(err error) { t.Errorf("scrape: %v", err) }).ServeHTTP(w, request)
	if w.Code != http.StatusOK {
		t.Fatalf("scrape: HTTP %d: %s", w.Code, w.Body)
	}
	return w
}

// ours are the lines of an exposition that are about our metrics.
func ours(exposition string) string {
	var b strings.Builder
	for line := range strings.Lines(exposition) {
		if strings.Contains(line, "llm_probe") {
			b.WriteString(strings.ReplaceAll(line, runtime.Version(), "goX"))
		}
	}
	return b.String()
}

// fixed is a recorder with one target and three results.
func fixed() *Recorder {
	p := scrapedOnly(Build{Version: "v1.2.3", Revision: "abc"})
	fill(p)
	return p
}

func fill(to *Recorder) {
	to.Reloaded(day(), true)
	to.Set(fixedTarget())
	to.Record(succeeded5())
	to.Record(stalled())
	to.Record(refused())
	to.Skipped("a", probe.SkipOverlap)
}

func TestExposition(t *testing.T) {
	golden(t, "testdata/exposition.txt", ours(scrape(t, fixed(), "text/plain").Body.String()))
}

// TestSeriesExistFromTheStart: everything but the moments that were not yet.
func TestSeriesExistFromTheStart(t *testing.T) {
	p := scrapedOnly(Build{})
	p.Set(fixedTarget())
	golden(t, "testdata/zero.txt", ours(scrape(t, p, "text/plain").Body.String()))
}

// TestBothKindsOfBuckets: text has the classic ones, protobuf these and the
// native ones.
func TestBothKindsOfBuckets(t *testing.T) {
	if text := scrape(t, fixed(), "text/plain").Body.String(); !strings.Contains(text, `llm_probe_ttft_seconds_bucket{model="llama",prompt="cold",target="a",le="0.6"} 1`) {
		t.Error("no classic buckets in the text")
	}
	for _, family := range protobufScrape(t, fixed()) {
		zero := zeroThreshold
		if family.GetName() == "llm_prober_read_delay_seconds" {
			zero = delayThreshold
		}
		for _, m := range family.Metric {
			h := m.GetHistogram()
			spans := h.GetSampleCount() > h.GetZeroCount()
			if h != nil && (len(h.Bucket) == 0 || h.GetSchema() != 4 || h.GetZeroThreshold() != zero || spans != (len(h.PositiveSpan) > 0)) {
				t.Errorf("%s: %d classic buckets, schema %d, %d spans", family.GetName(), len(h.Bucket), h.GetSchema(), len(h.PositiveSpan))
			}
		}
	}
}

func TestProcessAndRuntime(t *testing.T) {
	text := scrape(t, scrapedOnly(Build{}), "text/plain").Body.String()
	for _, want := range []string{"\ngo_goroutines ", "\nprocess_start_time_seconds "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestOpenMetricsHasExemplars(t *testing.T) {
	text := scrape(t, fixed(), "application/openmetrics-text; version=1.0.0").Body.String()
	for _, want := range []string{
		`llm_probe_ttft_seconds_bucket{model="llama",prompt="cold",target="a",le="0.6"} 1 # {`,
		`llm_probe_max_gap_seconds_bucket{model="llama",prompt="cold",target="a",le="40.0"} 2 # {`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestExemplars: which instruments have one, of which probe, and with what value.
func TestExemplars(t *testing.T) {
	got := map[string][]float64{}
	for _, family := range gather(t, fixed()) {
		for _, m := range family.Metric {
			native := map[string]bool{}
			for _, e := range m.GetHistogram().GetExemplars() {
				native[exemplarText(t, e)] = true
				got[family.GetName()] = append(got[family.GetName()], e.GetValue())
			}
			for _, b := range m.GetHistogram().GetBucket() {
				if b.Exemplar != nil && !native[exemplarText(t, b.Exemplar)] {
					t.Errorf("%s: a classic exemplar that is not native", family.GetName())
				}
			}
		}
	}
	want := map[string][]float64{
		"llm_probe_ttft_seconds": {0.6}, "llm_probe_tpot_seconds": {0.015}, "llm_probe_e2el_seconds": {0.665},
		"llm_probe_max_gap_seconds": {0.04, 30}, "llm_probe_chunk_gap_seconds": {0.04}, "llm_probe_itl_seconds": {0.02},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("exemplars (-want +got):\n%s", diff)
	}
}

// exemplarText is the ids and the value of an exemplar.
func exemplarText(t *testing.T, e *dto.Exemplar) string {
	t.Helper()
	ids := map[string]string{}
	for _, l := range e.Label {
		ids[l.GetName()] = l.GetValue()
	}
	trace, err := hex.DecodeString(ids["trace_id"])
	if err != nil || len(trace) != 16 {
		t.Errorf("trace_id %q is not 16 bytes", ids["trace_id"])
	}
	span, err := hex.DecodeString(ids["span_id"])
	if err != nil || len(span) != 8 {
		t.Errorf("span_id %q is not 8 bytes", ids["span_id"])
	}
	return fmt.Sprint(ids, e.GetValue())
}

func TestLint(t *testing.T) {
	pedantic := prometheus.NewPedanticRegistry()
	r := scrapedOnly(Build{})
	for _, v := range r.backs[0].(vectors) {
		pedantic.MustRegister(v)
	}
	pedantic.MustRegister(newReader(r))
	fill(r)
	families, err := pedantic.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

func TestOldestInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target := fixedTarget()
		started := time.Now()
		target.InFlight = func() (int, time.Time) { return 2, started }
		p := scrapedOnly(Build{})
		p.Set(target)
		time.Sleep(3 * time.Second) // of the bubble
		text := scrape(t, p, "text/plain").Body.String()
		for _, want := range []string{
			`llm_probe_in_flight{model="llama",prompt="cold",target="a"} 2`,
			`llm_probe_oldest_in_flight_seconds{model="llama",prompt="cold",target="a"} 3`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in\n%s", want, ours(text))
			}
		}
	})
}

// TestHandlerReportsErrors: a collector that fails costs its own series only.
func TestHandlerReportsErrors(t *testing.T) {
	p := fixed()
	p.registry.MustRegister(broken{})
	var errs []error
	w := httptest.NewRecorder()
	p.Handler(func(err error) { errs = append(errs, err) }).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "llm_probe_ttft_seconds") {
		t.Errorf("HTTP %d without our metrics", w.Code)
	}
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "broken collector") {
		t.Errorf("reported %v", errs)
	}
}

type broken struct{}

func (broken) Describe(chan<- *prometheus.Desc) {}

func (broken) Collect(to chan<- prometheus.Metric) {
	to <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(errors.New("broken collector")), errors.New("broken collector"))
}

// A stuck client has not read what was written until it is closed.
type stuck struct {
	http.ResponseWriter
	writes, read chan struct{}
}

func (s stuck) Write(data []byte) (int, error) {
	select {
	case s.writes <- struct{}{}:
		<-s.read
	case <-s.read:
	}
	return len(data), nil
}

// TestScrapesAtOnceAreBounded holds that clients which do not read cost a bounded
// memory, and that there is room again when they are gone.
func TestScrapesAtOnceAreBounded(t *testing.T) {
	h := scrapedOnly(Build{}).Handler(func(error) {})
	scrape := func() int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		return w.Code
	}
	writes, read := make(chan struct{}), make(chan struct{})
	var clients sync.WaitGroup
	for range maxScrapes {
		clients.Go(func() {
			h.ServeHTTP(stuck{httptest.NewRecorder(), writes, read}, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		})
	}
	for range maxScrapes {
		<-writes
	}
	if code := scrape(); code != http.StatusServiceUnavailable {
		t.Errorf("one more is answered with %d, want 503", code)
	}
	close(read)
	clients.Wait()
	if code := scrape(); code != http.StatusOK {
		t.Errorf("afterwards %d, want 200", code)
	}
}
