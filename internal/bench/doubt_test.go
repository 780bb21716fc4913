package bench

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDoubt(t *testing.T) {
	const token = 40 * time.Millisecond
	for name, test := range map[string]struct {
		lag        Lag
		late       []time.Duration
		kernel     bool
		ttft, tpot time.Duration
		want       []string // in each sentence
	}{
		"in time":                    {Lag{P99: 2 * time.Millisecond}, ms(1, 2, 3), false, time.Second, token, nil},
		"waits that bend tails":      {Lag{P99: 5 * time.Millisecond}, ms(0), false, time.Second, token, []string{"the median of ITL hold"}},
		"waits longer than tokens":   {Lag{P99: 40 * time.Millisecond}, ms(0), false, time.Second, token, []string{"longer than a token takes"}},
		"a process that stood still": {Lag{P99: time.Millisecond, Beat: 30 * time.Millisecond}, ms(0), false, time.Second, token, []string{"up to 30ms"}},
		"as long as any wake":        {Lag{P99: 500 * time.Microsecond}, ms(0), false, time.Second, 2 * time.Millisecond, nil},
		"short for quick tokens":     {Lag{P99: 600 * time.Microsecond}, ms(0), false, time.Second, 2 * time.Millisecond, []string{"30% of the median TPOT"}},
		"late":                       {Lag{}, ms(150), false, time.Second, 0, []string{"the bench was late"}},
		"hardly late":                {Lag{}, ms(5), false, 20 * time.Millisecond, 0, nil},
		"one of 100 late":            {Lag{}, append(make([]time.Duration, 99), time.Second), false, time.Second, 0, nil},
		"two of 100 late":            {Lag{}, append(make([]time.Duration, 98), ms(500, 500)...), false, time.Second, 0, []string{"the bench was late"}},
		"short and late":             {Lag{P99: time.Second}, ms(150), false, time.Second, token, []string{"short of processors", "late"}},
		"kernel, longer than tokens": {Lag{P99: 40 * time.Millisecond}, nil, true, time.Second, token, nil},
		"kernel, much of TTFT":       {Lag{P99: 150 * time.Millisecond}, nil, true, time.Second, token, []string{"15% of the median TTFT"}},
		"kernel, little TTFT":        {Lag{P99: 4 * time.Millisecond}, nil, true, 20 * time.Millisecond, token, nil},
		"nothing measured":           {Lag{P99: time.Second}, nil, false, 0, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := Doubt(test.lag, test.late, test.kernel, test.ttft, test.tpot)
			if !slices.EqualFunc(got, test.want, strings.Contains) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestDoubtInWords(t *testing.T) {
	const token = 50 * time.Millisecond
	equal(t, "tails", Doubt(Lag{P99: 7_123_456}, ms(250), false, time.Second, token), []string{
		"the bench was short of processors, and arrivals have no timestamps of the kernel: what arrived waited up to 7.12ms (p99) until it was read, 14% of the median TPOT: the longest gaps and the tail of ITL are its own as much as the server's, TPOT and the median of ITL hold; ask less at once, or run it where more processors are free",
		"the bench was late: requests began up to 250ms (p99) after they were due, 25% of the median TTFT, which does not hold that and may be too long by as much",
	})
	equal(t, "kernel", Doubt(Lag{P99: 80 * time.Millisecond}, nil, true, 200*time.Millisecond, token), []string{
		"the bench was short of processors: it waited up to 80ms (p99) for one, 40% of the median TTFT, which may be too long by as much where a request had to wait before it was sent; gaps, ITL and TPOT are between arrival timestamps of the kernel, which do not wait; ask less at once, or run it where more processors are free",
	})
	equal(t, "all", Doubt(Lag{P99: 80 * time.Millisecond}, nil, false, time.Second, token), []string{
		"the bench was short of processors, and arrivals have no timestamps of the kernel: what arrived waited up to 80ms (p99) until it was read, longer than a token takes (50ms): tokens that arrived together, gaps, ITL and TPOT are its own as much as the server's; ask less at once, or run it where more processors are free",
	})
}
