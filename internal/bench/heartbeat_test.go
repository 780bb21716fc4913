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
		stop := make(chan struct{})
		time.AfterFunc(95*time.Millisecond, func() { close(stop) })
		equal(t, "beats of an idle machine", heartbeat(stop), ms(0, 0, 0, 0))
	})
	due := time.Now()
	equal(t, "beats in a standstill", beatDelays(due, due.Add(75*time.Millisecond)), ms(74, 54, 34, 14))
	equal(t, "a beat as late as timers are", beatDelays(due, due.Add(900*time.Microsecond)), ms(0))
}

func TestReadDelayWarning(t *testing.T) {
	const µs, ms = time.Microsecond, time.Millisecond
	for name, test := range map[string]struct {
		readDelay, tpot time.Duration
		kernel          bool
		want            string
	}{
		"a twentieth of TPOT":                    {2 * ms, 40 * ms, false, ""},
		"an eighth of TPOT":                      {5 * ms, 40 * ms, false, "12% of the median TPOT"},
		"all of TPOT":                            {40 * ms, 40 * ms, false, "100% of the median TPOT"},
		"all of TPOT, with kernel timestamps":    {40 * ms, 40 * ms, true, ""},
		"a quarter of TPOT, as on any machine":   {500 * µs, 2 * ms, false, ""},
		"a third of TPOT, more than any machine": {600 * µs, 2 * ms, false, "30% of the median TPOT"},
		"no TPOT":                                {time.Second, 0, false, ""},
	} {
		m := memberTally{readDelay: test.readDelay, step: &report.Step{}}
		m.step.Add(report.Sample{ByUser: !test.kernel})
		expectWarning(t, name, m.clientWarnings(0, test.tpot), test.want)
	}
}

func TestStartDelayWarning(t *testing.T) {
	for name, test := range map[string]struct {
		startDelays []time.Duration
		ttft        time.Duration
		want        string
	}{
		"a tenth of TTFT":                  {ms(100), time.Second, ""},
		"more than a tenth":                {ms(150), time.Second, "(p99, 15% of the median TTFT)"},
		"more than a tenth, as it must be": {ms(5), 20 * time.Millisecond, ""},
		"one request of 100":               {slices.Concat(make([]time.Duration, 99), ms(1000)), time.Second, ""},
		"two requests of 100": {
			slices.Concat(make([]time.Duration, 98), ms(500, 500)), time.Second, "50% of the median TTFT",
		},
	} {
		m := memberTally{step: &report.Step{}}
		for _, late := range test.startDelays {
			m.step.Add(report.Sample{Late: late})
		}
		expectWarning(t, name, m.clientWarnings(test.ttft, 0), test.want)
	}
}

// expectWarning expects one warning with a part in it, or none if the part is empty.
func expectWarning(t *testing.T, name string, got []string, part string) {
	t.Helper()
	var want []string
	if part != "" {
		want = []string{part}
	}
	if !slices.EqualFunc(got, want, strings.Contains) {
		t.Errorf("%s: %q, want %q", name, got, want)
	}
}
