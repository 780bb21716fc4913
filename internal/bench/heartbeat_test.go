package bench

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/report"
)

// TestHeartbeat holds that each beat that was due in a standstill counts. It is late by what was left of the
// standstill, less what timers are late by anyway.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		due, stop := time.Now(), make(chan struct{})
		time.AfterFunc(95*time.Millisecond, func() { close(stop) })
		equal(t, "lateness in time", heartbeat(stop), ms(0, 0, 0, 0))
		equal(t, "lateness in a standstill", beatDelays(due, due.Add(75*time.Millisecond)), ms(74, 54, 34, 14))
		equal(t, "as late as timers are", beatDelays(due, due.Add(900*time.Microsecond)), ms(0))
	})
}

func TestClientWarnings(t *testing.T) {
	const µs, s = time.Microsecond, time.Second
	const token = 40_000 * µs
	const quickToken = 2000 * µs
	latest := func(late ...time.Duration) []time.Duration { // of 100 requests
		return append(make([]time.Duration, 100-len(late)), late...)
	}
	for name, test := range map[string]struct {
		readDelay   time.Duration
		startDelays []time.Duration
		kernel      bool
		ttft, tpot  time.Duration
		want        []string // in each sentence
	}{
		"in time":                    {2000 * µs, ms(1, 2, 3), false, s, token, nil},
		"waits that bend tails":      {5000 * µs, ms(0), false, s, token, []string{"12% of the median TPOT"}},
		"waits longer than tokens":   {40_000 * µs, ms(0), false, s, token, []string{"100% of the median TPOT"}},
		"as long as any wake":        {500 * µs, ms(0), false, s, quickToken, nil},
		"short for quick tokens":     {600 * µs, ms(0), false, s, quickToken, []string{"30% of the median TPOT"}},
		"late":                       {0, ms(150), false, s, 0, []string{"the bench was late"}},
		"hardly late":                {0, ms(5), false, 20_000 * µs, 0, nil},
		"one of 100 late":            {0, latest(s), false, s, 0, nil},
		"two of 100 late":            {0, latest(s/2, s/2), false, s, 0, []string{"the bench was late"}},
		"short and late":             {s, ms(150), false, s, token, []string{"short of CPU", "late"}},
		"kernel, longer than tokens": {40_000 * µs, ms(0), true, s, token, nil},
		"nothing measured":           {s, ms(0), false, 0, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := memberTally{readDelay: test.readDelay, step: &report.Step{}}
			for _, late := range test.startDelays {
				m.step.Add(report.Sample{Late: late, ByUser: !test.kernel})
			}
			got := m.clientWarnings(test.ttft, test.tpot)
			if !slices.EqualFunc(got, test.want, strings.Contains) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
