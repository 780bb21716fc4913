//go:build linux

// Package performance_test measures what the prober costs: the binary, against
// a simulated server in a process of its own. Nothing here is judged by the clock.
package performance_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// For other runs than the usual one, with -args.
var (
	targetsFlag  = flag.String("targets", "1,10,100,1000", "numbers of targets")
	tokensFlag   = flag.Int("tokens", 21000, "tokens of a prompt")
	profileFlag  = flag.String("profile", "production-stack", "of the simulated server")
	settleFlag   = flag.Duration("settle", time.Minute, "time before the measurement, in which each target is probed")
	windowFlag   = flag.Duration("window", time.Minute, "length of the measurement")
	markdownFlag = flag.Bool("markdown", false, "print the rows of the tables in docs/performance.md")
)

// scrapeInterval is how often the page is scraped during the measurement, as
// docs/scraping.md has it: what that costs is in the figures.
const scrapeInterval = 15 * time.Second

// BenchmarkTargets finds what a number of targets costs, each probed every ten
// seconds with prompts of 21,000 tokens and answers of 100. One simulated server
// stands for all of them. What its process takes is told apart, and what others
// took of the machine's processors meanwhile: with neighbours the figures are
// worth nothing. Each number takes two minutes: -benchtime 1x is enough.
func BenchmarkTargets(b *testing.B) {
	for text := range strings.SplitSeq(*targetsFlag, ",") {
		var n int
		if _, err := fmt.Sscan(text, &n); err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			for range b.N {
				m := measure(b, n)
				for _, f := range m.figures() {
					b.ReportMetric(f.value, f.unit)
				}
				b.ReportMetric(0, "ns/op") // says nothing here
				if *markdownFlag {
					b.Log("\n" + m.rows())
				}
			}
		})
	}
}

// A measured is what a number of targets cost.
type measured struct {
	targets int
	first   time.Duration // from the start of the process to the end of the first scrape with all targets
	took    time.Duration // of the measurement

	cpu, simulator, others time.Duration // of processors, meanwhile
	resident, peak         float64       // bytes
	scraped                float64       // bytes: peak after scrapes of all kinds
	heap, garbage          float64       // bytes in use; allocated meanwhile
	goroutines, files      float64

	probes, ok, skipped float64
	delay               distribution // of the schedule
	ttft, itl           distribution // of all targets
	native, classic     int          // series
	pages               []exposition
}

// An exposition is one way to be scraped.
type exposition struct {
	name string
	took time.Duration
	size int // bytes
}

func measure(b *testing.B, n int) *measured {
	b.Helper()
	simulator, server := startSimulator(b, *profileFlag)
	p, base := startProber(b, "--targets-file", targetsFile(b, server, n), "--prompt-tokens", fmt.Sprint(*tokensFlag))
	m := &measured{targets: n}
	for len(scrape(b, base)["llm_probe_interval_seconds"].GetMetric()) < n { //nolint:revive // until all are there
	}
	m.first = time.Since(p.began)
	time.Sleep(*settleFlag)

	before := scrape(b, base)
	began, cpu, server0, all := time.Now(), p.cpu(b), simulator.cpu(b), busy(b)
	for time.Since(began) < *windowFlag {
		time.Sleep(min(scrapeInterval, *windowFlag-time.Since(began)))
		fetch(b, base+"/metrics", protobuf, "gzip")
	}
	m.took = time.Since(began)
	m.cpu, m.simulator = p.cpu(b)-cpu, simulator.cpu(b)-server0
	m.others = busy(b) - all - m.cpu - m.simulator
	m.resident, m.peak = p.memory(b, "VmRSS"), p.memory(b, "VmHWM")
	m.compare(b, before, scrape(b, base))
	m.expose(b, base)
	m.scraped = p.memory(b, "VmHWM")
	return m
}

// targetsFile is n targets at one server.
func targetsFile(b *testing.B, server string, n int) string {
	b.Helper()
	var text strings.Builder
	text.WriteString("targets:\n")
	for i := range n {
		fmt.Fprintf(&text, "- {name: replica-%04d, url: %q}\n", i, server)
	}
	path := filepath.Join(b.TempDir(), "targets.yaml")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	return path
}

// compare takes what happened between two scrapes.
func (m *measured) compare(b *testing.B, before, after page) {
	b.Helper()
	grown := func(metric, label, value string) float64 {
		return after.sum(metric, label, value) - before.sum(metric, label, value)
	}
	m.probes, m.ok = grown("llm_probe_probes_total", "", ""), grown("llm_probe_probes_total", "outcome", "ok")
	m.skipped = grown("llm_probe_skipped_total", "", "")
	m.garbage = grown("go_memstats_alloc_bytes_total", "", "")
	m.heap = after.sum("go_memstats_heap_inuse_bytes", "", "")
	m.goroutines, m.files = after.sum("go_goroutines", "", ""), after.sum("process_open_fds", "", "")
	between := func(metric string) distribution {
		return after.distribution(b, metric).since(before.distribution(b, metric))
	}
	m.delay = between("llm_prober_schedule_delay_seconds")
	m.ttft, m.itl = between("llm_probe_ttft_seconds"), between("llm_probe_itl_seconds")
	m.native = after.series()
}

// expose measures each way to be scraped.
func (m *measured) expose(b *testing.B, base string) {
	b.Helper()
	m.classic = samples(fetch(b, base+"/metrics", text, "identity"))
	for _, way := range []struct{ name, accept, encoding string }{
		{"protobuf", protobuf, "identity"}, {"protobuf-gzip", protobuf, "gzip"},
		{"text", text, "identity"}, {"text-gzip", text, "gzip"},
	} {
		took, size := timed(b, base, way.accept, way.encoding)
		m.pages = append(m.pages, exposition{way.name, took, size})
	}
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
