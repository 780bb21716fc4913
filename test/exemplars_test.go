package test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/test/program"
)

// TestExemplarsOfTwelveTargets scrapes twelve targets as docs/scraping.md recommends. It finds exemplars of each in each
// histogram that has them, and no classic series. A job that reads only native histograms shows why: Prometheus has
// exemplars of one target. If that fails, the recommendation can be simpler.
func TestExemplarsOfTwelveTargets(t *testing.T) {
	t.Parallel()
	const targets = 12
	address := program.FreeAddress(t)
	p := startPrometheus(t, "scrape_configs:\n"+scrapeJob(t, "prober", address)+
		without(t, scrapeJob(t, "both", address), dropsClassic...)+
		without(t, scrapeJob(t, "native-only", address), slices.Concat(readsClassic, dropsClassic)...))
	servers := program.Simulate(t, strings.TrimSuffix(strings.Repeat("fast,", targets), ","))
	program.Run(t, []string{"PROBER_LISTEN_ADDRESS=" + address, "PROBER_MAX_TOKENS_PER_DAY=none"},
		append(servers, "--qps", "1", "--model", simulatedModel)...) // with another model later, another series is the first

	histograms := []string{"ttft", "tpot", "itl", "chunk_gap", "max_gap", "e2el"}
	for _, job := range []string{"prober", "both"} {
		for _, name := range histograms {
			p.Eventually(t, fmt.Sprintf("%s: exemplars of %s of all targets", job, name), func() bool {
				return len(p.exemplarTargets(t, job, name)) == targets
			})
		}
	}
	for _, name := range histograms {
		var found []string
		p.Eventually(t, "native-only: exemplars of "+name, func() bool {
			found = p.exemplarTargets(t, "native-only", name)
			return len(found) > 0
		})
		if len(found) != 1 {
			t.Errorf("a job that reads native histograms alone has exemplars of %s of %q", name, found)
		}
	}
	const count = `count(last_over_time({__name__=~"llm_.+",job=%q}[1m]))` // also if a scrape has failed
	p.becomes(t, fmt.Sprintf(count+" == "+count, "prober", "native-only"), p.count(t, fmt.Sprintf(count, "native-only")))
	stored, classic := p.count(t, fmt.Sprintf(count, "prober")), p.count(t, fmt.Sprintf(count, "both"))
	t.Logf("%d targets: %.0f series, and %.0f with the classic ones", targets, stored, classic)
	if classic < 4*stored {
		t.Errorf("%.0f series as recommended, %.0f with the classic ones: want at most a quarter", stored, classic)
	}
}

// exemplarTargets returns the targets of which a job has brought exemplars of a histogram, sorted.
func (p prometheus) exemplarTargets(t *testing.T, job, name string) (targets []string) {
	t.Helper()
	for _, s := range p.exemplarSeries(t, fmt.Sprintf(`llm_probe_%s_seconds{job=%q}`, name, job)) {
		if len(s.Exemplars) > 0 {
			targets = append(targets, s.Labels["target"])
		}
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}

// count returns the value of an expression that has one series.
func (p prometheus) count(t *testing.T, expr string) float64 {
	t.Helper()
	n, ok := p.number(t, expr)
	if !ok {
		t.Fatalf("%s has no value", expr)
	}
	return n
}
