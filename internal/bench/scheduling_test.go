package bench

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestLatencyBetween(t *testing.T) {
	buckets := []float64{math.Inf(-1), 0, 0.001, 0.002, 0.004, math.Inf(1)}
	before := &latencies{Counts: []uint64{0, 100, 5, 5, 5}, Buckets: buckets}
	for name, test := range map[string]struct {
		counts []uint64
		want   SchedulingLatency
	}{
		"nothing happened":        {[]uint64{0, 100, 5, 5, 5}, SchedulingLatency{}},
		"99 of 100":               {[]uint64{0, 199, 5, 6, 5}, SchedulingLatency{P99: time.Millisecond, Waits: 100}},
		"98 of 100":               {[]uint64{0, 198, 5, 7, 5}, SchedulingLatency{P99: 4 * time.Millisecond, Waits: 100}},
		"one wait":                {[]uint64{0, 100, 6, 5, 5}, SchedulingLatency{P99: 2 * time.Millisecond, Waits: 1}},
		"longer than is measured": {[]uint64{0, 100, 5, 5, 9}, SchedulingLatency{P99: 4 * time.Millisecond, Waits: 4}},
	} {
		t.Run(name, func(t *testing.T) {
			equal(t, "latency", before.until(&latencies{Counts: test.counts, Buckets: buckets}), test.want)
		})
	}
	equal(t, "of nothing", (&latencies{}).until(&latencies{}), SchedulingLatency{})
}

// TestLatencyIsMeasured holds that goroutines that have to wait for a processor are
// seen: far more of them than there are processors.
func TestLatencyIsMeasured(t *testing.T) {
	before := readLatencies()
	done := make(chan int)
	for range 100 {
		go func() { done <- spin() }()
	}
	for range 100 {
		<-done
	}
	if latency := before.until(readLatencies()); latency.Waits == 0 || latency.P99 == 0 {
		t.Errorf("%+v", latency)
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
