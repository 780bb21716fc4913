package archive

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/report"
)

// TestLeastPeriods holds that so many periods are asked for as a comparison of all
// four quantities needs to show a difference, and that the page says the same.
func TestLeastPeriods(t *testing.T) {
	shown := func(n int) bool {
		var pairs []report.Pairs
		for _, metric := range []string{"TTFT", "TPOT", "ITL", "E2EL"} {
			p := report.Pairs{Metric: metric}
			for i := range n {
				p.Values = append(p.Values, [2]float64{1, 2 + float64(i)})
			}
			pairs = append(pairs, p)
		}
		return !slices.ContainsFunc(report.Compare(report.Comparison{}, pairs).Lines, func(l report.Line) bool { return !l.Shown })
	}
	if !shown(leastPeriods) || shown(leastPeriods-1) {
		t.Errorf("shown in %d periods: %v, in one fewer: %v", leastPeriods, shown(leastPeriods), shown(leastPeriods-1))
	}
	page, err := os.ReadFile("../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	if leastPeriods != 8 || !strings.Contains(string(page), "(of at least ten requests; eight periods are needed)") {
		t.Errorf("docs/report.md does not say that %d periods are needed", leastPeriods)
	}
}
