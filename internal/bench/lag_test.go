package bench

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestLagBetween(t *testing.T) {
	buckets := []float64{math.Inf(-1), 0, 0.001, 0.002, 0.004, math.Inf(1)}
	before := &latencies{Counts: []uint64{0, 100, 5, 5, 5}, Buckets: buckets}
	for name, test := range map[string]struct {
		counts []uint64
		want   Lag
	}{
		"nothing happened":        {[]uint64{0, 100, 5, 5, 5}, Lag{}},
		"99 of 100":               {[]uint64{0, 199, 5, 6, 5}, Lag{P99: time.Millisecond, Waits: 100}},
		"98 of 100":               {[]uint64{0, 198, 5, 7, 5}, Lag{P99: 4 * time.Millisecond, Waits: 100}},
		"one wait":                {[]uint64{0, 100, 6, 5, 5}, Lag{P99: 2 * time.Millisecond, Waits: 1}},
		"longer than is measured": {[]uint64{0, 100, 5, 5, 9}, Lag{P99: 4 * time.Millisecond, Waits: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			equal(t, "lag", before.until(&latencies{Counts: test.counts, Buckets: buckets}), test.want)
		})
	}
	equal(t, "of nothing", (&latencies{}).until(&latencies{}), Lag{})
}

// TestLagIsMeasured holds that goroutines that have to wait for a processor are
// seen: far more of them than there are processors.
func TestLagIsMeasured(t *testing.T) {
	before := readLatencies()
	done := make(chan int)
	for range 100 {
		go func() { done <- spin() }()
	}
	for range 100 {
		<-done
	}
	if lag := before.until(readLatencies()); lag.Waits == 0 || lag.P99 == 0 {
		t.Errorf("%+v", lag)
	}
}

func spin() int {
	list := make([]int, 100_000)
	for i := range list {
		list[i] = i * 7919 % 100_003
	}
	slices.Sort(list)
	return list[0]
}

func TestDoubt(t *testing.T) {
	const short, late = "the bench was short of processors", "the bench was late"
	for name, test := range map[string]struct {
		lag        Lag
		late       []time.Duration
		ttft, tpot time.Duration
		want       []string
	}{
		"in time":          {Lag{P99: 2 * time.Millisecond}, ms(1, 2, 3), time.Second, 40 * time.Millisecond, nil},
		"short":            {Lag{P99: 5 * time.Millisecond}, ms(0), time.Second, 40 * time.Millisecond, []string{short}},
		"below notice":     {Lag{P99: 900 * time.Microsecond}, ms(0), time.Second, 4 * time.Millisecond, nil},
		"late":             {Lag{}, ms(150), time.Second, 0, []string{late}},
		"one of 100 late":  {Lag{}, append(make([]time.Duration, 99), time.Second), time.Second, 0, nil},
		"two of 100 late":  {Lag{}, append(make([]time.Duration, 98), ms(500, 500)...), time.Second, 0, []string{late}},
		"nothing measured": {Lag{P99: time.Second}, nil, 0, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := Doubt(test.lag, test.late, test.ttft, test.tpot)
			if len(got) != len(test.want) {
				t.Fatalf("%q, want %q", got, test.want)
			}
			for i := range got {
				if got[i][:len(test.want[i])] != test.want[i] {
					t.Errorf("%q, want %q", got[i], test.want[i])
				}
			}
		})
	}
	equal(t, "words", Doubt(Lag{P99: 7_123_456}, ms(250), time.Second, 50*time.Millisecond), []string{
		"the bench was short of processors: what it read waited up to 7.12ms (p99) to be stamped, 14% of the median TPOT: gaps and ITL are its own as much as the server's; ask less at once, or run it where more processors are free",
		"the bench was late: requests began up to 250ms (p99) after they were due, 25% of the median TTFT, which does not hold it",
	})
}
