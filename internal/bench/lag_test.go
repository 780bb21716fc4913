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
