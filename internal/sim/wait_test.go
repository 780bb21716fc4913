package sim

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestManyRequestsWaitByTimers checks that with many requests none waits busily. In virtual time a busy wait has no end.
func TestManyRequestsWaitByTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var under atomic.Int64
		under.Store(few + 1)
		start := time.Now()
		if err := sleepUntil(withPrecision(t.Context(), &under), start.Add(time.Hour)); err != nil || time.Since(start) != time.Hour {
			t.Errorf("waited %v, %v", time.Since(start), err)
		}
	})
}

// TestRequestsUnderWayAreCounted holds that the count falls to zero again, also for requests that are refused or cut.
func TestRequestsUnderWayAreCounted(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, r *rig) {
		r.post(t, "/v1/chat/completions", chatFour)
		r.post(t, "/v1/chat/completions", "no JSON")
		r.inject(t, "cut_after=2")
		r.post(t, "/v1/chat/completions", chatFour)
		synctest.Wait()
		if n := r.sim.under.Load(); n != 0 {
			t.Errorf("%d requests are under way", n)
		}
	})
}
