//go:build linux

package performance_test

import (
	"fmt"
	"strings"
	"time"
)

const mega = 1e6 // bytes of a MB

// A figure is one number of the benchmark.
type figure struct {
	unit  string
	value float64
}

// cores is how many processors were busy for a time of them.
func (m *measured) cores(spent time.Duration) float64 { return spent.Seconds() / m.took.Seconds() }

// figures are all numbers, for the benchmark's line.
func (m *measured) figures() []figure {
	list := []figure{
		{"probes/s", m.probes / m.took.Seconds()},
		{"not-ok", m.probes - m.ok},
		{"skipped", m.skipped},
		{"delay-p50-ms", 1e3 * m.delay.quantile(.5)},
		{"delay-p99-ms", 1e3 * m.delay.quantile(.99)},
		{"delay-p999-ms", 1e3 * m.delay.quantile(.999)},
		{"ttft-p50-ms", 1e3 * m.ttft.quantile(.5)},
		{"ttft-p99-ms", 1e3 * m.ttft.quantile(.99)},
		{"itl-p50-ms", 1e3 * m.itl.quantile(.5)},
		{"itl-p99-ms", 1e3 * m.itl.quantile(.99)},
		{"cores", m.cores(m.cpu)},
		{"cpu-ms/probe", 1e3 * m.cpu.Seconds() / max(1, m.probes)},
		{"simulator-cores", m.cores(m.simulator)},
		{"others-cores", m.cores(m.others)},
		{"rss-MB", m.resident / mega},
		{"peak-MB", m.peak / mega},
		{"scraped-peak-MB", m.scraped / mega},
		{"heap-MB", m.heap / mega},
		{"garbage-MB/s", m.garbage / mega / m.took.Seconds()},
		{"goroutines", m.goroutines},
		{"fds", m.files},
		{"first-scrape-ms", 1e3 * m.first.Seconds()},
		{"native-series", float64(m.native)},
		{"classic-series", float64(m.classic)},
	}
	for _, e := range m.pages {
		list = append(list, figure{e.name + "-ms", 1e3 * e.took.Seconds()}, figure{e.name + "-kB", float64(e.size) / 1e3})
	}
	return list
}

// rows are the line of each table in docs/performance.md, and what must be known
// to believe it.
func (m *measured) rows() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %d | %.3g | %.0f | %.0f | %s | %.3f | %.1f ms | %.0f MB | %.0f MB | %.1f s |\n",
		m.targets, m.probes/m.took.Seconds(), m.probes-m.ok, m.skipped, inMS(m.delay.quantile(.99)),
		m.cores(m.cpu), 1e3*m.cpu.Seconds()/max(1, m.probes), m.resident/mega, m.peak/mega, m.first.Seconds())
	fmt.Fprintf(&b, "| %d | %d | %d |", m.targets, m.native, m.classic)
	for _, e := range m.pages {
		fmt.Fprintf(&b, " %s, %s |", sizeOf(e.size), inMS(e.took.Seconds()))
	}
	fmt.Fprintf(&b, "\nthe simulator took %.2f cores, others %.2f\n", m.cores(m.simulator), m.cores(m.others))
	return b.String()
}

func inMS(seconds float64) string { return fmt.Sprintf("%.0f ms", 1e3*seconds) }

// sizeOf is a size in the unit that suits it.
func sizeOf(n int) string {
	if n < mega {
		return fmt.Sprintf("%.3g kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.3g MB", float64(n)/mega)
}
