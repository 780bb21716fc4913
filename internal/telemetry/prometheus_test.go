package telemetry

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/llm-prober/prober/internal/golden"
	"github.com/llm-prober/prober/internal/probe"
)

// scrape is /metrics in a format.
func scrape(t *testing.T, p *Recorder, accept string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	var errs strings.Builder
	p.Handler(log.New(&errs, "", 0)).ServeHTTP(w, request)
	if w.Code != http.StatusOK || errs.Len() > 0 {
		t.Fatalf("scrape: HTTP %d: %s, and the errors %s", w.Code, w.Body, &errs)
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
	to.SetRejectedTargets([]string{"no key", "no name"})
	to.Set(fixedTarget())
	to.Record(succeeded5())
	to.Record(stalled())
	to.Record(refused())
	to.Skipped("a", probe.SkipOverlap)
}

// TestExposition holds all that a scrape of three results and of two probes in flight shows.
func TestExposition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := fixed()
		target, started := fixedTarget(), time.Now().Add(-3*time.Second)
		target.InFlight = func() (int, time.Time) { return 2, started }
		p.Set(target)
		golden.Equal(t, "testdata/exposition.txt", ours(scrape(t, p, "text/plain").Body.String()))
	})
}

// TestSeriesExistFromTheStart: everything but the moments that were not yet.
func TestSeriesExistFromTheStart(t *testing.T) {
	p := scrapedOnly(Build{})
	p.Set(fixedTarget())
	golden.Equal(t, "testdata/zero.txt", ours(scrape(t, p, "text/plain").Body.String()))
}

// TestOpenMetrics holds that exemplars are served, and metrics of the process and of scrapes beside ours.
func TestOpenMetrics(t *testing.T) {
	text := scrape(t, fixed(), "application/openmetrics-text; version=1.0.0").Body.String()
	for _, want := range []string{
		`llm_probe_ttft_seconds_bucket{model="llama",prompt="cold",target="a",le="0.6"} 1 # {`,
		"\ngo_goroutines ", "\nprocess_start_time_seconds ", "\npromhttp_metric_handler_requests_in_flight ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestCompression holds that a scraper gets gzip if it takes it, and only then.
func TestCompression(t *testing.T) {
	h := fixed().Handler(nil)
	for accept, want := range map[string]string{"gzip": "gzip", "gzip;q=0": "", "identity, gzip;q=0.5": "", "": ""} {
		request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		request.Header.Set("Accept-Encoding", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request)
		if got := w.Header().Get("Content-Encoding"); w.Code != http.StatusOK || got != want {
			t.Errorf("Accept-Encoding %q: HTTP %d, Content-Encoding %q, want %q", accept, w.Code, got, want)
		}
	}
}

// TestExemplars: which instruments have one, of which probe, and with what value.
func TestExemplars(t *testing.T) {
	got := map[string][]string{}
	text := func(e *dto.Exemplar) string { return fmt.Sprint(e.GetValue(), " ", labelsOf(e.Label)) }
	for _, family := range gather(t, fixed()) {
		name := family.GetName()
		for _, m := range family.Metric {
			for _, b := range m.GetHistogram().GetBucket() {
				if b.Exemplar != nil {
					got[name] = append(got[name], text(b.Exemplar))
				}
			}
		}
	}
	const ok = " map[span_id:1112131415161718 trace_id:0102030405060708090a0b0c0d0e0f10]"
	const stalled = " map[span_id:aa12131415161718 trace_id:aa02030405060708090a0b0c0d0e0f10]"
	want := map[string][]string{
		"llm_probe_ttft_seconds":      {"0.6" + ok},
		"llm_probe_tpot_seconds":      {"0.015" + ok},
		"llm_probe_e2el_seconds":      {"0.665" + ok},
		"llm_probe_max_gap_seconds":   {"0.04" + ok, "30" + stalled},
		"llm_probe_chunk_gap_seconds": {"0.04" + ok},
		"llm_probe_itl_seconds":       {"0.02" + ok},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("exemplars (-want +got):\n%s", diff)
	}
}

// TestHandlerReportsErrors: a collector that fails costs its own series only, and is counted.
func TestHandlerReportsErrors(t *testing.T) {
	p := fixed()
	p.registry.MustRegister(broken{})
	var errs strings.Builder
	w := httptest.NewRecorder()
	p.Handler(log.New(&errs, "", 0)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "llm_probe_ttft_seconds") {
		t.Errorf("HTTP %d without our metrics", w.Code)
	}
	if !strings.Contains(errs.String(), "broken collector") {
		t.Errorf("reported %q", &errs)
	}
	const counted = "promhttp_metric_handler_errors_total{cause=\"gathering\"} 1\n"
	w = httptest.NewRecorder()
	p.Handler(log.New(&errs, "", 0)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(w.Body.String(), counted) {
		t.Errorf("no %s", counted)
	}
}

type broken struct{}

func (broken) Describe(chan<- *prometheus.Desc) {}

func (broken) Collect(to chan<- prometheus.Metric) {
	err := errors.New("broken collector")
	to <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(err), err)
}

// A stuck client reads nothing until it is closed.
type stuck struct {
	http.ResponseWriter
	closed chan struct{}
}

func (s stuck) Write(data []byte) (int, error) {
	<-s.closed
	return len(data), nil
}

// TestScrapesAtOnceAreBounded holds that clients which do not read cost a bounded
// memory, and that there is room again when they are gone.
func TestScrapesAtOnceAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := scrapedOnly(Build{}).Handler(nil)
		scrape := func() int {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
			return w.Code
		}
		closed := make(chan struct{})
		for range maxScrapes {
			go h.ServeHTTP(stuck{httptest.NewRecorder(), closed}, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		}
		synctest.Wait()
		if code := scrape(); code != http.StatusServiceUnavailable {
			t.Errorf("one more is answered with %d, want 503", code)
		}
		close(closed)
		synctest.Wait()
		if code := scrape(); code != http.StatusOK {
			t.Errorf("afterwards %d, want 200", code)
		}
	})
}
