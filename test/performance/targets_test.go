//go:build linux

// Package performance_test measures what the prober costs: the binary, against
// a simulated server in a process of its own. Nothing here is judged by the clock.
// On a machine that nothing else uses:
//
//	make build && cd test
//	PROBER_BINARY=$PWD/../bin/prober go test -run '^$' -bench Targets -benchtime 1x -timeout 1h ./performance
//	PROBER_BINARY=$PWD/../bin/prober go test -run '^$' -bench Long -benchtime 1x -timeout 2h ./performance
//
// The first prints the rows of the tables in docs/measurement.md, the second is
// the hour of one target. -args -help lists their flags.
package performance_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/test/machine"
)

// For other runs than the usual one, with -args.
var (
	targetsFlag = flag.String("targets", "1,10,100", "numbers of targets")
	tokensFlag  = flag.Int("tokens", 21000, "tokens of a prompt")
	profileFlag = flag.String("profile", "production-stack", "of the simulated server")
	settleFlag  = flag.Duration("settle", time.Minute, "time before the measurement, in which each target is probed")
	windowFlag  = flag.Duration("window", time.Minute, "length of the measurement")
)

// scrapeInterval is how often the page is scraped during the measurement, as
// docs/scraping.md has it: what that costs is in the figures.
const scrapeInterval = 15 * time.Second

const mega = 1e6 // bytes of a MB

// BenchmarkTargets finds what a number of targets costs, each probed every ten seconds with prompts of 21,000 tokens
// and answers of 100. One simulated server stands for all of them. The log also has what its process took of the
// machine's processors, and what others took: with neighbours the figures are worth nothing. Each number takes two
// minutes: -benchtime 1x is enough.
func BenchmarkTargets(b *testing.B) {
	for text := range strings.SplitSeq(*targetsFlag, ",") {
		var n int
		if _, err := fmt.Sscan(text, &n); err != nil {
			b.Fatal(err)
		}
		b.Run(text, func(b *testing.B) {
			for range b.N {
				m := measure(b, n)
				b.ReportMetric(0, "ns/op") // says nothing here
				b.Log("\n" + m.rows(b))
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
	before, after          page
	classic                int    // series
	pages                  string // size and time of a scrape in each format, as cells
}

func measure(b *testing.B, n int) *measured {
	b.Helper()
	simulator, p, base := startBoth(b, n)
	m := &measured{targets: n}
	for scrape(b, base, protobuf).of["llm_probe_interval_seconds"] < n { //nolint:revive // until all are there
	}
	m.first = time.Since(p.began)
	time.Sleep(*settleFlag)

	busy := func() time.Duration { return told[time.Duration](b)(machine.Busy()) }
	m.before = scrape(b, base, protobuf)
	began, cpu, server, all := time.Now(), p.cpu(b), simulator.cpu(b), busy()
	for time.Since(began) < *windowFlag {
		time.Sleep(min(scrapeInterval, *windowFlag-time.Since(began)))
		fetch(b, base, protobuf, "gzip")
	}
	m.took = time.Since(began)
	m.cpu, m.simulator = p.cpu(b)-cpu, simulator.cpu(b)-server
	m.others = busy() - all - m.cpu - m.simulator
	m.resident, m.peak = p.memory(b, "VmRSS"), p.memory(b, "VmHWM")
	m.after = scrape(b, base, protobuf)
	m.classic = scrape(b, base, text).series
	for _, format := range []string{protobuf, text} {
		for _, encoding := range []string{"identity", "gzip"} {
			took, size := timed(b, base, format, encoding)
			m.pages += fmt.Sprintf(" %.3g kB, %.0f ms |", float64(size)/1e3, 1e3*took.Seconds())
		}
	}
	return m
}

// grown returns by how much a metric grew meanwhile.
func (m *measured) grown(metric string) float64 { return m.after.grown(m.before, metric) }

// cores returns how many processors were busy for a time of them.
func (m *measured) cores(spent time.Duration) float64 { return spent.Seconds() / m.took.Seconds() }

// rows returns the line of each table in docs/measurement.md, and what must be known
// to believe it.
func (m *measured) rows(b *testing.B) string {
	b.Helper()
	var text strings.Builder
	probes, delay := m.grown("llm_probe_probes_total"), m.after.since(b, m.before, "llm_prober_schedule_delay_seconds")
	fmt.Fprintf(&text, "| %d | %.3g | %.0f | %.0f | %.0f ms | %.3f | %.1f ms | %.0f MB | %.0f MB | %.1f s |\n",
		m.targets, probes/m.took.Seconds(), probes-m.grown("llm_probe_probes_total ok"),
		m.grown("llm_probe_skipped_total"), quantileMS(.99, delay),
		m.cores(m.cpu), 1e3*m.cpu.Seconds()/max(1, probes), m.resident/mega, m.peak/mega, m.first.Seconds())
	fmt.Fprintf(&text, "| %d | %d | %d |%s", m.targets, m.after.series, m.classic, m.pages)
	fmt.Fprintf(&text, "\nthe simulator took %.2f cores, others %.2f\n", m.cores(m.simulator), m.cores(m.others))
	return text.String()
}
