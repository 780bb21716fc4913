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
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 30 * time.Minute, 45 * time.Minute, time.Hour,
}

// BenchmarkLong finds whether one target costs the same memory after an hour as
// after ten minutes, probed at ten times the usual rate and scraped all the while.
// It takes -for, once.
func BenchmarkLong(b *testing.B) {
	_, server := startSimulator(b, *profileFlag)
	p, base := startProber(b, "--targets-file", targetsFile(b, server, 1), "--prompt-tokens", fmt.Sprint(*tokensFlag),
		"--qps", fmt.Sprint(*qpsFlag), "--max-in-flight", "8")
	due := slices.DeleteFunc(append(slices.Clone(moments), *forFlag), func(d time.Duration) bool { return d > *forFlag })
	b.ReportMetric(0, "ns/op") // says nothing here
	for _, moment := range slices.Compact(due) {
		p.scrapeUntil(b, base, moment)
		f := p.footprint(b, base)
		fmt.Print(f.row(moment)) // now, and whole: a benchmark's log comes at its end, and cut
		for _, e := range f.figures() {
			b.ReportMetric(e.value, e.unit)
		}
	}
}

// scrapeUntil scrapes the page at its interval until the process has run so long.
func (p process) scrapeUntil(b *testing.B, base string, moment time.Duration) {
	b.Helper()
	for left := moment - time.Since(p.began); left > 0; left = moment - time.Since(p.began) {
		time.Sleep(min(left, scrapeInterval))
		fetch(b, base+"/metrics", protobuf, "gzip")
	}
}

// A footprint is what a process holds at a moment.
type footprint struct {
	probes, failed       float64
	resident, peak       float64 // bytes
	own, mapped          float64 // bytes of resident: memory of its own; pages of the binary's file, which the kernel can drop
	heap, reserve, stack float64 // bytes of own that Go has in use; that it keeps for later; stacks of goroutines
	goroutines, files    float64
	collections, cpu     float64 // of garbage, and seconds of processor, since the start
}

func (p process) footprint(b *testing.B, base string) footprint {
	b.Helper()
	now := scrape(b, base)
	one := func(metric string) float64 { return now.sum(metric, "", "") }
	probes := one("llm_probe_probes_total")
	return footprint{
		probes: probes, failed: probes - now.sum("llm_probe_probes_total", "outcome", "ok"),
		resident: p.memory(b, "VmRSS"), peak: p.memory(b, "VmHWM"),
		own: p.memory(b, "RssAnon"), mapped: p.memory(b, "RssFile"),
		heap:    one("go_memstats_heap_inuse_bytes"),
		reserve: one("go_memstats_heap_idle_bytes") - one("go_memstats_heap_released_bytes"),
		stack:   one("go_memstats_stack_inuse_bytes"), goroutines: one("go_goroutines"), files: one("process_open_fds"),
		collections: now.counts("go_gc_duration_seconds"), cpu: p.cpu(b).Seconds(),
	}
}

// row is the line of the table in docs/performance.md.
func (f footprint) row(moment time.Duration) string {
	return fmt.Sprintf("| %.0f min | %.0f | %.0f | %s | %s | %s | %s | %s | %.0f | %.0f | %.1f ms |\n",
		moment.Minutes(), f.probes, f.failed, inMB(f.resident), inMB(f.peak), inMB(f.own), inMB(f.mapped), inMB(f.heap),
		f.goroutines, f.collections, 1e3*f.cpu/max(1, f.probes))
}

// figures are what the benchmark's own line says, of the last moment.
func (f footprint) figures() []figure {
	return []figure{
		{"probes", f.probes}, {"not-ok", f.failed}, {"rss-MB", f.resident / mega}, {"peak-MB", f.peak / mega},
		{"anon-MB", f.own / mega}, {"file-MB", f.mapped / mega}, {"heap-MB", f.heap / mega}, {"reserve-MB", f.reserve / mega},
		{"stack-MB", f.stack / mega}, {"goroutines", f.goroutines}, {"fds", f.files}, {"collections", f.collections},
		{"cpu-ms/probe", 1e3 * f.cpu / max(1, f.probes)},
	}
}

func inMB(bytes float64) string { return fmt.Sprintf("%.1f MB", bytes/mega) }
