package stream

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A wallClock is that of a machine, as a test sets it.
type wallClock struct{ offset time.Duration } // from the monotonic clock

// clock returns the clock of a connection that opens now.
func (w *wallClock) clock() *clock {
	return &clock{measure: func() time.Duration { return w.offset }, offset: w.offset}
}

// TestClockBelieves is one read after another on one connection: the kernel received
// bytes at a moment, and they were read later.
func TestClockBelieves(t *testing.T) {
	const ms = time.Millisecond
	type read struct {
		received, read time.Duration // monotonic, by their true times
		step           time.Duration // of the wall clock between the two
		late           time.Duration // by which the second clock is read after the first
		rejected       bool
	}
	for _, test := range []struct {
		name  string
		reads []read
	}{
		{"at once", []read{{10 * ms, 10 * ms, 0, 0, false}}},
		{"late", []read{{10 * ms, 500 * ms, 0, 0, false}, {400 * ms, 500 * ms, 0, 0, false}}},
		{"in heaps", []read{{10 * ms, 50 * ms, 0, 0, false}, {10 * ms, 50 * ms, 0, 0, false}}},
		{"the processor is lost between the clocks", []read{
			{10 * ms, 11 * ms, 0, 80 * ms, false}, {100 * ms, 101 * ms, 0, 0, false},
		}},
		{"the wall clock is set forward", []read{
			{10 * ms, 11 * ms, 0, 0, false}, {20 * ms, 21 * ms, time.Hour, 0, true},
			{500 * ms, 501 * ms, 0, 0, true}, {2000 * ms, 2001 * ms, 0, 0, false},
		}},
		{"the wall clock is set back", []read{
			{10 * ms, 11 * ms, 0, 0, false}, {20 * ms, 21 * ms, -time.Hour, 0, true},
			{500 * ms, 501 * ms, 0, 0, true}, {2000 * ms, 2001 * ms, 0, 0, false},
		}},
		{"set back by less than the bytes lay unread", []read{
			{10 * ms, 60 * ms, -20 * ms, 0, true}, {2000 * ms, 2001 * ms, 0, 0, false},
		}},
		{"set while nothing is read", []read{
			{10 * ms, 11 * ms, 0, 0, false}, {5000 * ms, 5001 * ms, 40 * ms, 0, true}, {7000 * ms, 7001 * ms, 0, 0, false},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := wallClock{offset: 1763700000 * time.Second}
			c := w.clock()
			for i, r := range test.reads {
				kernel := r.received + w.offset
				w.offset += r.step
				at, ok := c.believe(r.read+r.late, w.offset-r.late, kernel)
				if ok == r.rejected || ok && at != r.received {
					t.Errorf("read %d: %v, %t; was received at %v", i, at, ok, r.received)
				}
			}
		})
	}
}

// TestClockFollowsASlewedWallClock holds that a wall clock which runs a little faster is not taken for one that was set,
// however far it gets.
func TestClockFollowsASlewedWallClock(t *testing.T) {
	w := wallClock{offset: 1763700000 * time.Second}
	c := w.clock()
	for i := range 10 {
		w.offset += tolerance * 4 / 5
		received := time.Duration(i) * time.Second
		at, ok := c.believe(received, w.offset, received+w.offset)
		if !ok || at != received {
			t.Errorf("read %d: %v, %t; was received at %v", i, at, ok, received)
		}
	}
}

// TestClockNeverBendsAGap steps the wall clock at random between and within reads: whatever is believed is true.
func TestClockNeverBendsAGap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	believed := 0
	for range 2000 {
		w := wallClock{offset: 1763700000 * time.Second}
		c := w.clock()
		received, last := time.Duration(0), time.Duration(0)
		for range 20 {
			received += time.Duration(random.Int64N(int64(300 * time.Millisecond)))
			kernel := received + w.offset
			if random.IntN(10) == 0 { // from below to far above what lies unread
				size := time.Duration(1) << (17 + random.IntN(25))
				w.offset += size * time.Duration(1-2*random.IntN(2))
			}
			last = max(last, received) + time.Duration(random.Int64N(int64(30*time.Millisecond)))
			if at, ok := c.believe(last, w.offset, kernel); ok {
				believed++
				if at != received {
					t.Fatalf("received at %v, believed %v", received, at)
				}
			}
		}
	}
	if believed < 1000 {
		t.Errorf("only %d timestamps were believed", believed)
	}
}

// TestClockRejects holds that timestamps that cannot be right are counted, and replaced by the moment of the read.
func TestClockRejects(t *testing.T) {
	c := newClock()
	read := time.Now()
	wall := read.UnixNano()
	for _, test := range []struct {
		name   string
		kernel int64
	}{
		{"the future", wall + int64(time.Second)},
		{"long before the connection", wall - int64(time.Hour)},
	} {
		before := c.rejected.Load()
		if s := c.timestamp(read, test.kernel); s != (Timestamp{At: read}) || c.rejected.Load() != before+1 {
			t.Errorf("%s: %+v, %d rejected", test.name, s, c.rejected.Load()-before)
		}
	}
	if s := c.timestamp(read, 0); s != (Timestamp{At: read}) || c.rejected.Load() != 2 {
		t.Errorf("no timestamp: %+v, %d rejected", s, c.rejected.Load())
	}
}
