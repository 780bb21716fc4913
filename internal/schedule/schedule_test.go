package schedule

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var patterns = []Pattern{Constant, Poisson}

// take returns the first n offsets of a plan.
func take(p Plan, n int) (offsets []time.Duration) {
	for offset := range p.Offsets() {
		offsets = append(offsets, offset)
		if len(offsets) == n {
			break
		}
	}
	return offsets
}

// TestOffsets holds that starts come in order, and one in each interval on average. Plans have fixed names, and so
// their offsets are the same in each run.
func TestOffsets(t *testing.T) {
	const n = 20000
	for _, pattern := range patterns {
		for _, interval := range []time.Duration{time.Millisecond, 10 * time.Second, 100 * time.Second} {
			offsets := take(Plan{Interval: interval, Pattern: pattern, Name: "a"}, n)
			if !slices.IsSorted(offsets) {
				t.Errorf("%s, %v: an offset comes before its predecessor", pattern, interval)
			}
			mean := float64(offsets[n-1]-offsets[0]) / (n - 1) / float64(interval)
			if math.Abs(mean-1) > 0.03 {
				t.Errorf("%s, %v: mean distance is %.4f intervals", pattern, interval, mean)
			}
		}
	}
}

// TestPoissonHasExponentialGaps holds that as many gaps are above the mean as in an exponential distribution.
func TestPoissonHasExponentialGaps(t *testing.T) {
	last, longer := time.Duration(0), 0
	for _, offset := range take(Plan{Interval: time.Second, Pattern: Poisson}, 20000) {
		if offset-last > time.Second {
			longer++
		}
		last = offset
	}
	if share := float64(longer) / 20000; math.Abs(share-1/math.E) > 0.01 {
		t.Errorf("%.3f of the gaps are above the mean, want 1/e", share)
	}
}

// TestPlansSpreadAndKeepTheirPhase holds that plans start at different places in the interval, and keep them when
// the process restarts.
func TestPlansSpreadAndKeepTheirPhase(t *testing.T) {
	a, b := Plan{Interval: time.Minute, Name: "a"}, Plan{Interval: time.Minute, Name: "b"}
	if a.First() == b.First() || a.First() >= time.Minute {
		t.Errorf("the first starts are due at %v and %v", a.First(), b.First())
	}
	if got, want := take(a, 4)[3], a.First()+3*time.Minute; got != want {
		t.Errorf("start 3 is due at %v, want %v", got, want)
	}
	start := time.Date(2026, 3, 1, 12, 0, 7, 0, time.UTC)
	first, restarted := a.Epoch(start), a.Epoch(start.Add(17*time.Minute))
	if restarted.Sub(first)%time.Minute != 0 {
		t.Errorf("epochs %v and %v differ by no whole intervals", first, restarted)
	}
}

// A recording notes what was started.
type recording struct {
	mu     sync.Mutex
	starts []time.Duration // since the epoch
	delays []time.Duration
	late   []uint64
}

// work returns work that is noted, and then done.
func (r *recording) work(epoch time.Time, do func(n uint64)) Work {
	return Work{
		Do: func(n uint64, due time.Time) {
			r.mu.Lock()
			r.starts = append(r.starts, time.Since(epoch))
			r.delays = append(r.delays, time.Since(due))
			r.mu.Unlock()
			do(n)
		},
		Late: func(n uint64) { r.late = append(r.late, n) },
	}
}

// TestRunStartsAVirtualDayOnTime holds that no start of a day is late, lost or made twice, the first of which is due at
// once.
func TestRunStartsAVirtualDayOnTime(t *testing.T) {
	for _, pattern := range patterns {
		t.Run(string(pattern), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := Plan{Interval: 10 * time.Second, Pattern: pattern, Name: "day"}
				ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour-time.Second)
				defer cancel()
				epoch, r := time.Now().Add(-p.First()), &recording{} // the first start is due now
				Run(ctx, p, epoch, r.work(epoch, func(uint64) { time.Sleep(time.Second) }))
				if pattern != Poisson && len(r.starts) != 8640 {
					t.Errorf("%d starts in a day, want 8640", len(r.starts))
				}
				for i, delay := range r.delays {
					if delay != 0 {
						t.Fatalf("start %d was late by %v", i, delay)
					}
				}
				if len(r.late) != 0 {
					t.Errorf("%d late starts", len(r.late))
				}
			})
		})
	}
}

// TestRunStartsAlthoughTheOneBeforeIsNotDone holds that work does not delay the next start, and that Run waits for it.
func TestRunStartsAlthoughTheOneBeforeIsNotDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		epoch, r := time.Now(), &recording{}
		Run(ctx, Plan{Interval: time.Second}, epoch, r.work(epoch, func(uint64) { time.Sleep(time.Minute) }))
		if len(r.starts) != 10 {
			t.Errorf("%d starts, want 10", len(r.starts))
		}
		if since := time.Since(epoch); since < time.Minute {
			t.Errorf("Run returned after %v, before its work was done", since)
		}
	})
}

// TestStartsThatWereMissedArePassedOver holds that a start is passed over only if the next one is due as well and the
// delay is longer than the slack. So starts that are close together are all made, although timers are late.
func TestStartsThatWereMissedArePassedOver(t *testing.T) {
	for name, test := range map[string]struct {
		delay, gap time.Duration // since the start was due, and from then to the next one
		late       bool
	}{
		"on time":                                   {0, 10 * time.Second, false},
		"far too late, the next is not due":         {10*time.Second - 1, 10 * time.Second, false},
		"far too late, the next is due":             {10 * time.Second, 10 * time.Second, true},
		"as late as is allowed, the next is due":    {slack, 500 * time.Microsecond, false},
		"later than is allowed, the next is due":    {slack + 1, 500 * time.Microsecond, true},
		"a timer's delay, the next is due long ago": {time.Millisecond, 0, false},
	} {
		due := time.Now()
		late := isLate(due.Add(test.delay), due, due.Add(test.gap))
		if late != test.late {
			t.Errorf("%s: late %t, want %t", name, late, test.late)
		}
	}
}

// TestRunGoesOnAfterAPause holds what happens to the starts of a time in which the process stood still. Those of the
// last 50 ms are made at once, the ones before are passed over, and the next one is on time.
func TestRunGoesOnAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const interval = 10 * time.Millisecond
		p := Plan{Interval: interval, Name: "pause"}
		epoch, r := time.Now(), &recording{}
		work := r.work(epoch, func(uint64) {})
		work.Starts = 40
		paused := pausingContext{Context: t.Context(), after: 10, pause: 205 * time.Millisecond}
		Run(&paused, p, epoch, work)
		var onTime, caughtUp int
		for i, delay := range r.delays {
			switch {
			case delay == 0:
				onTime++
			case delay <= slack:
				caughtUp++
			default:
				t.Errorf("start %d was %v late", i, delay)
			}
		}
		if onTime != 19 || caughtUp != 5 || len(r.late) != 16 {
			t.Errorf("%d on time, %d caught up, %d passed over", onTime, caughtUp, len(r.late))
		}
	})
}

// A pausingContext stands still once, at a given call of Err, as a process that gets no processor.
type pausingContext struct {
	context.Context
	after int // calls of Err
	pause time.Duration
}

func (c *pausingContext) Err() error {
	c.after--
	if c.after == 0 {
		time.Sleep(c.pause)
	}
	return c.Context.Err()
}
