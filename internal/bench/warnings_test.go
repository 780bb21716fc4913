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
