package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
)

func TestOverview(t *testing.T) {
	step := func(target, load string, ok, failed int) Summary {
		s := Summary{
			Target: target, Load: load, PromptTokens: 80, Duration: 10 * time.Second, Output: 100 * ok,
			Outcomes: map[probe.Outcome]int{probe.OK: ok, probe.Overloaded: failed},
		}
		if ok > 0 {
			s.TTFT, s.TPOT, s.E2EL = Spread([]float64{0.1, 0.3}), Spread([]float64{0.02}), Spread([]float64{2})
		}
		return s
	}
	for name, test := range map[string]struct {
		steps []Summary
		want  string
	}{
		"one target": {[]Summary{step("a", "1 at once", 1, 0), step("a", "4096 at once", 2537, 1559), step("a", "8 at once", 0, 8)}, `
load          prompt     ok  failed   req/s     tok/s  TTFT P50  TTFT P99  TPOT P50  E2EL P50
1 at once         80      1       0    0.10     10.00    200 ms    298 ms   20.0 ms    2.00 s
4096 at once      80  2,537   1,559  253.70  25370.00    200 ms    298 ms   20.0 ms    2.00 s
8 at once         80      0       8    0.00      0.00      none      none      none      none
`},
		"two": {[]Summary{step("a", "1 at once", 1, 0), step("other", "1 at once", 1, 0)}, `
target  load       prompt  ok  failed  req/s  tok/s  TTFT P50  TTFT P99  TPOT P50  E2EL P50
a       1 at once      80   1       0   0.10  10.00    200 ms    298 ms   20.0 ms    2.00 s
other   1 at once      80   1       0   0.10  10.00    200 ms    298 ms   20.0 ms    2.00 s
`},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			if err := WriteOverview(&got, test.steps); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), got.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
