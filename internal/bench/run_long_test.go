//go:build !race

package bench

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/sim"
)

// The race detector makes this test take minutes; what it runs is raced by the others.

// TestComparisonsAreSure holds the promise of the confidence. Of 100 comparisons of a stack with itself, no more than
// five show any difference. A difference of 5%, in TTFT and in TPOT, is shown by every ten rounds at 21,000 tokens,
// where a stack varies by half a per cent.
func TestComparisonsAreSure(t *testing.T) {
	for _, test := range []struct {
		seeds       uint64
		tokens      string
		fault       sim.Fault // of b
		least, most int       // comparisons that claim a difference
	}{
		{100, "2000", sim.Fault{}, 0, 5},
		{20, "21000", sim.Fault{TTFT: 1.05, ITL: 1.05}, 20, 20},
	} {
		claims := 0
		for seed := range test.seeds {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, map[string]sim.Config{
					"a": simConfig(t, "production-stack", 2*seed),
					"b": simConfig(t, "production-stack", 2*seed+1),
				})
				if err := r.servers["b"].SetFault(test.fault); err != nil {
					t.Fatal(err)
				}
				settings := map[string]string{"PROMPT_TOKENS": test.tokens}
				c := r.bench(t, []string{"a", "b"}, Options{Requests: 10}, settings).Comparisons[0]
				claim := line(t, c, "TTFT").Shown && line(t, c, "TPOT").Shown
				if test.least == 0 {
					claim = slices.ContainsFunc(c.Lines, func(l report.Line) bool { return l.Shown })
				}
				if claim {
					claims++
				}
			})
		}
		if claims < test.least || claims > test.most {
			t.Errorf("%+v: %d claim a difference", test, claims)
		}
	}
}
