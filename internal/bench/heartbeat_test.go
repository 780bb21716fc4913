package bench

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/report"
)

// TestHeartbeat holds that each beat that was due in a standstill counts, and is late
// by what was left of it, but for what timers are coarse by.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		due, stop := time.Now(), make(chan struct{})
		time.AfterFunc(95*time.Millisecond, func() { close(stop) })
		equal(t, "lateness in time", heartbeat(stop), ms(0, 0, 0, 0))
		equal(t, "lateness in a standstill", missed(due, due.Add(75*time.Millisecond)), ms(74, 54, 34, 14))
		equal(t, "as late as timers are", missed(due, due.Add(900*time.Microsecond)), ms(0))
	})
}

func TestClientWarnings(t *testing.T) {
	const token = 40 * time.Millisecond
	for name, test := range map[string]struct {
		wait       time.Duration
		late       []time.Duration
		kernel     bool
		ttft, tpot time.Duration
		want       []string // in each sentence
	}{
		"in time":                    {2 * time.Millisecond, ms(1, 2, 3), false, time.Second, token, nil},
		"waits that bend tails":      {5 * time.Millisecond, ms(0), false, time.Second, token, []string{"12% of the median TPOT"}},
		"waits longer than tokens":   {40 * time.Millisecond, ms(0), false, time.Second, token, []string{"100% of the median TPOT"}},
		"as long as any wake":        {500 * time.Microsecond, ms(0), false, time.Second, 2 * time.Millisecond, nil},
		"short for quick tokens":     {600 * time.Microsecond, ms(0), false, time.Second, 2 * time.Millisecond, []string{"30% of the median TPOT"}},
		"late":                       {0, ms(150), false, time.Second, 0, []string{"the bench was late"}},
		"hardly late":                {0, ms(5), false, 20 * time.Millisecond, 0, nil},
		"one of 100 late":            {0, append(make([]time.Duration, 99), time.Second), false, time.Second, 0, nil},
		"two of 100 late":            {0, append(make([]time.Duration, 98), ms(500, 500)...), false, time.Second, 0, []string{"the bench was late"}},
		"short and late":             {time.Second, ms(150), false, time.Second, token, []string{"short of CPU", "late"}},
		"kernel, longer than tokens": {40 * time.Millisecond, ms(0), true, time.Second, token, nil},
		"nothing measured":           {time.Second, ms(0), false, 0, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := count{late: test.wait, step: &report.Step{}}
			for _, late := range test.late {
				c.step.Add(report.Sample{Late: late, ByUser: !test.kernel})
			}
			got := c.clientWarnings(test.ttft, test.tpot)
			if !slices.EqualFunc(got, test.want, strings.Contains) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
