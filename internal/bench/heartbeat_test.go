package bench

import (
	"math"
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"
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

func TestWaitsBetween(t *testing.T) {
	buckets := []float64{math.Inf(-1), 0, 0.001, 0.002, 0.004, math.Inf(1)}
	before := &metrics.Float64Histogram{Counts: []uint64{0, 100, 5, 5, 5}, Buckets: buckets}
	for name, test := range map[string]struct {
		counts []uint64
		want   time.Duration
	}{
		"nothing happened":        {[]uint64{0, 100, 5, 5, 5}, 0},
		"99 of 100":               {[]uint64{0, 199, 5, 6, 5}, time.Millisecond},
		"98 of 100":               {[]uint64{0, 198, 5, 7, 5}, 4 * time.Millisecond},
		"one wait":                {[]uint64{0, 100, 6, 5, 5}, 2 * time.Millisecond},
		"longer than is measured": {[]uint64{0, 100, 5, 5, 9}, 4 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			equal(t, "p99", waitsBetween(before, &metrics.Float64Histogram{Counts: test.counts, Buckets: buckets}), test.want)
		})
	}
}
