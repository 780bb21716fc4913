package status

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// BenchmarkBoard fills a board of 100 targets with more results of 100 tokens than it keeps. It reports how much memory
// they take, and how long the views of all targets take, first and when nothing has changed.
func BenchmarkBoard(b *testing.B) {
	const targets, results, tokens = 100, 450, 100
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		board := newTestBoard()
		for n := range targets {
			board.Set(probe.Description{Prompt: "cold", Name: fmt.Sprint(n)})
		}
		for n := range results * targets {
			arrivals := make([]time.Duration, tokens)
			for i := range arrivals {
				jitter := time.Duration((n*31+i*17)%997) * time.Microsecond
				arrivals[i] = 500*ms + time.Duration(i)*8*ms + jitter
			}
			board.Record(success(fmt.Sprint(n%targets), arrivals...))
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
		for _, unit := range []string{"ms/first-views", "ms/next-views"} {
			start := time.Now()
			board.views()
			b.ReportMetric(float64(time.Since(start).Milliseconds()), unit)
		}
		runtime.KeepAlive(board)
	}
}

// BenchmarkPage renders the table of 60 targets with an hour of results of 100 tokens each. It reports the time when
// each target has a new result, and when none has.
func BenchmarkPage(b *testing.B) {
	const targets, results, tokens = 60, 360, 100
	board := newTestBoard()
	arrivals := make([]time.Duration, tokens)
	record := func(target, n int) {
		for i := range arrivals {
			jitter := time.Duration((n*31+i*17)%997) * time.Microsecond
			arrivals[i] = 500*ms + time.Duration(i)*8*ms + jitter
		}
		board.Record(success(fmt.Sprint(target), arrivals...))
	}
	for target := range targets {
		board.Set(probe.Description{Prompt: "cold", Name: fmt.Sprint(target), Interval: 10 * time.Second})
		for n := range results {
			record(target, n)
		}
	}
	for b.Loop() {
		for target := range targets {
			record(target, 0)
		}
		for _, unit := range []string{"ms/new-results", "ms/no-results"} {
			start := time.Now()
			render(httptest.NewRecorder(), http.StatusOK, "page.html", board.page(selection{}))
			b.ReportMetric(float64(time.Since(start).Milliseconds()), unit)
		}
	}
}

// BenchmarkHealth measures what a load balancer costs with a full history.
func BenchmarkHealth(b *testing.B) {
	board := newTestBoard("a")
	for range ringSize {
		board.Record(long("a", 100))
	}
	mux := http.NewServeMux()
	board.Register(mux)
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/api/v1/targets/a/health", nil)
		mux.ServeHTTP(httptest.NewRecorder(), r)
	}
}
