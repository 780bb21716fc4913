package bench

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAHeartbeatInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHeartbeat()
		time.Sleep(95 * time.Millisecond)
		equal(t, "lateness", h.end().Heartbeat, time.Duration(0))
		equal(t, "beats", len(h.late), 4)
		equal(t, "seconds", len(h.seconds), 1)
	})
	synctest.Test(t, func(t *testing.T) {
		h := newHeartbeat()
		time.Sleep(3500 * time.Millisecond)
		h.end()
		equal(t, "seconds and what is left", len(h.seconds), 4)
	})
}

// TestABeginningIsNotAll holds that one second of ten may be as full as it likes,
// and that where there are few, all of them count together.
func TestABeginningIsNotAll(t *testing.T) {
	calm, full := SchedulingLatency{P99: time.Millisecond}, SchedulingLatency{P99: time.Second}
	seconds := []SchedulingLatency{full, calm, calm, calm, calm, calm, calm, calm, calm, calm}
	all := SchedulingLatency{P99: 300 * time.Millisecond, Waits: 1090}
	equal(t, "one of ten", usual(all, seconds), SchedulingLatency{P99: time.Millisecond, Waits: 1090})
	equal(t, "one of nine", usual(all, seconds[:9]), all)
	equal(t, "none", usual(SchedulingLatency{}, nil), SchedulingLatency{})
}

// TestAHeartbeatThatStoodStill holds that each beat that was due in a standstill
// counts, and is late by what was left of it, but for what timers are coarse by.
func TestAHeartbeatThatStoodStill(t *testing.T) {
	var h heartbeat
	due := time.Now()
	next := h.catchUp(due, due.Add(75*time.Millisecond))
	equal(t, "lateness", h.late, ms(74, 54, 34, 14))
	equal(t, "next", next.Sub(due), 80*time.Millisecond)
	h.catchUp(next, next.Add(900*time.Microsecond))
	equal(t, "as late as timers are", h.late[4], time.Duration(0))
}

func TestP99(t *testing.T) {
	for name, test := range map[string]struct {
		list []time.Duration
		want time.Duration
	}{
		"none":      {nil, 0},
		"one":       {ms(7), 7 * time.Millisecond},
		"99 of 100": {append(make([]time.Duration, 99), time.Second), 10 * time.Millisecond},
		"98 of 100": {append(ms(500, 500), make([]time.Duration, 98)...), 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) { equal(t, "p99", p99(test.list), test.want) })
	}
}
