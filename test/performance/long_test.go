//go:build linux

package performance_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"
)

// For another run of BenchmarkLong than the usual one, with -args.
var (
	forFlag = flag.Duration("for", 65*time.Minute, "length of the long run")
	qpsFlag = flag.Float64("qps", 1, "probes a second in the long run")
)

// moments are when the long run is looked at, from its start; it is too when it
// ends.
var moments = []time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute,
	45 * time.Minute, time.Hour,
}

// BenchmarkLong finds whether one target costs the same memory after an hour as
// after ten minutes, probed at ten times the usual rate and scraped all the while.
// It takes -for, once.
func BenchmarkLong(b *testing.B) {
	_, p, base := startBoth(b, 1, "--qps", fmt.Sprint(*qpsFlag), "--max-in-flight", "8")
	due := slices.DeleteFunc(append(slices.Clone(moments), *forFlag), func(d time.Duration) bool { return d > *forFlag })
	b.ReportMetric(0, "ns/op") // says nothing here
	for _, moment := range slices.Compact(due) {
		for left := moment - time.Since(p.began); left > 0; left = moment - time.Since(p.began) {
			time.Sleep(min(left, scrapeInterval))
			fetch(b, base, protobuf, "gzip")
		}
		p.footprint(b, base, moment)
	}
}

// footprint prints what the process holds at a moment, as a line of a table, now and whole, since a
// benchmark's log comes at its end, and cut.
func (p process) footprint(b *testing.B, base string, moment time.Duration) {
	b.Helper()
	now := scrape(b, base, protobuf)
	probes, collections := now.sums["llm_probe_probes_total"], now.sums["go_gc_duration_seconds_count"]
	failed := probes - now.sums["llm_probe_probes_total ok"]
	resident, peak := p.memory(b, "VmRSS")/mega, p.memory(b, "VmHWM")/mega
	// Of resident: memory of its own; pages of the binary's file, which the kernel can drop.
	own, mapped := p.memory(b, "RssAnon")/mega, p.memory(b, "RssFile")/mega
	heap := now.sums["go_memstats_heap_inuse_bytes"] / mega
	cpu := 1e3 * p.cpu(b).Seconds() / max(1, probes)
	fmt.Printf("| %.0f min | %.0f | %.0f | %.1f MB | %.1f MB | %.1f MB | %.1f MB | %.1f MB | %.0f | %.0f | %.1f ms |\n",
		moment.Minutes(), probes, failed, resident, peak, own, mapped, heap, now.sums["go_goroutines"], collections, cpu)
}
