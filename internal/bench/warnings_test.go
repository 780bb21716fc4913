package bench

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestClientWarnings(t *testing.T) {
	const token = 40 * time.Millisecond
	for name, test := range map[string]struct {
		latency    SchedulingLatency
		late       []time.Duration
		kernel     bool
		ttft, tpot time.Duration
		want       []string // in each sentence
	}{
		"in time":                    {SchedulingLatency{P99: 2 * time.Millisecond}, ms(1, 2, 3), false, time.Second, token, nil},
		"waits that bend tails":      {SchedulingLatency{P99: 5 * time.Millisecond}, ms(0), false, time.Second, token, []string{"the median of ITL hold"}},
		"waits longer than tokens":   {SchedulingLatency{P99: 40 * time.Millisecond}, ms(0), false, time.Second, token, []string{"longer than a token takes"}},
		"a process that stood still": {SchedulingLatency{P99: time.Millisecond, Heartbeat: 30 * time.Millisecond}, ms(0), false, time.Second, token, []string{"up to 30ms"}},
		"as long as any wake":        {SchedulingLatency{P99: 500 * time.Microsecond}, ms(0), false, time.Second, 2 * time.Millisecond, nil},
		"short for quick tokens":     {SchedulingLatency{P99: 600 * time.Microsecond}, ms(0), false, time.Second, 2 * time.Millisecond, []string{"30% of the median TPOT"}},
		"late":                       {SchedulingLatency{}, ms(150), false, time.Second, 0, []string{"the bench was late"}},
		"hardly late":                {SchedulingLatency{}, ms(5), false, 20 * time.Millisecond, 0, nil},
		"one of 100 late":            {SchedulingLatency{}, append(make([]time.Duration, 99), time.Second), false, time.Second, 0, nil},
		"two of 100 late":            {SchedulingLatency{}, append(make([]time.Duration, 98), ms(500, 500)...), false, time.Second, 0, []string{"the bench was late"}},
		"short and late":             {SchedulingLatency{P99: time.Second}, ms(150), false, time.Second, token, []string{"short of CPU", "late"}},
		"kernel, longer than tokens": {SchedulingLatency{P99: 40 * time.Millisecond}, nil, true, time.Second, token, nil},
		"kernel, much of TTFT":       {SchedulingLatency{P99: 150 * time.Millisecond}, nil, true, time.Second, token, []string{"15% of the median TTFT"}},
		"kernel, little TTFT":        {SchedulingLatency{P99: 4 * time.Millisecond}, nil, true, 20 * time.Millisecond, token, nil},
		"nothing measured":           {SchedulingLatency{P99: time.Second}, nil, false, 0, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := clientWarnings(test.latency, test.late, test.kernel, test.ttft, test.tpot)
			if !slices.EqualFunc(got, test.want, strings.Contains) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestClientWarningsInWords(t *testing.T) {
	const token = 50 * time.Millisecond
	equal(t, "tails", clientWarnings(SchedulingLatency{P99: 7_123_456}, ms(250), false, time.Second, token), []string{
		"the bench was short of CPU, and arrivals have no kernel timestamps: data waited up to 7.12ms (p99) to be read, 14% of the median TPOT: the longest gaps and the tail of ITL are unreliable: client delay is as large; TPOT and the median of ITL hold; lower the load, or run the bench where more CPUs are free",
		"the bench was late: requests began up to 250ms (p99) after they were due, 25% of the median TTFT, which does not include that delay but may be too long by as much",
	})
	equal(t, "kernel", clientWarnings(SchedulingLatency{P99: 80 * time.Millisecond}, nil, true, 200*time.Millisecond, token), []string{
		"the bench was short of CPU: it waited up to 80ms (p99) for one, 40% of the median TTFT, which may be too long by as much where a request waited before it was sent; gaps, ITL and TPOT rest on kernel timestamps and are not affected; lower the load, or run the bench where more CPUs are free",
	})
	equal(t, "all", clientWarnings(SchedulingLatency{P99: 80 * time.Millisecond}, nil, false, time.Second, token), []string{
		"the bench was short of CPU, and arrivals have no kernel timestamps: data waited up to 80ms (p99) to be read, longer than a token takes (50ms): tokens that arrived together, gaps, ITL and TPOT are unreliable: client delay is as large; lower the load, or run the bench where more CPUs are free",
	})
}
