package status

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// BenchmarkBoard fills a board of 100 targets with more results of 100 tokens than it keeps, and reports how much memory
// that takes, and how long the views of all targets take, first and when nothing has changed.
func BenchmarkBoard(b *testing.B) {
	const targets, results, tokens = 100, 450, 100
	objectives := []probe.Objective{
		{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.99},
		{Name: "ttft", Signal: probe.SignalTTFT, Limit: time.Second, Goal: 0.95},
		{Name: "tpot", Signal: probe.SignalTPOT, Limit: 50 * time.Millisecond, Goal: 0.95},
	}
	for b.Loop() {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		board := NewBoard(time.Now(), "test")
		for target := range targets {
			board.Set(probe.Description{Name: fmt.Sprint("target-", target), Objectives: objectives})
		}
		arrivals := make([]time.Duration, tokens)
		for n := range results {
			for target := range targets {
				for i := range arrivals {
					jitter := time.Duration((n*31+i*17+target)%997) * time.Microsecond
					arrivals[i] = 500*time.Millisecond + time.Duration(i)*8*time.Millisecond + jitter
				}
				board.Record(success(fmt.Sprint("target-", target), arrivals...))
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "MB")
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/targets/1e3, "kB/target")
		start := time.Now()
		board.views()
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/first-views")
		start = time.Now()
		board.views()
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/next-views")
		runtime.KeepAlive(board)
	}
}
