package stream

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A wallClock is that of a machine, as a test sets it.
type wallClock struct{ offset time.Duration } // from the monotonic clock

// clock returns the clock of a connection that opens now.
func (w *wallClock) clock() *clock {
	return &clock{measure: func() time.Duration { return w.offset }, offset: w.offset}
}

// TestClockBelieves holds which timestamps are believed, in a sequence of reads on one connection.
func TestClockBelieves(t *testing.T) {
	const ms = time.Millisecond
	type read struct {
		received, read time.Duration // by the monotonic clock
		step           time.Duration // by which the wall clock was set between the two
		lost           time.Duration // between the readings of the two clocks
		rejected       bool
	}
	for _, test := range []struct {
		name  string
		reads []read
	}{
		{"bytes are read at once", []read{{received: 10 * ms, read: 10 * ms}}},
		{"bytes are read late, and later ones at the same moment", []read{
			{received: 10 * ms, read: 500 * ms},
			{received: 10 * ms, read: 500 * ms},
			{received: 400 * ms, read: 500 * ms},
		}},
		{"the processor is lost between the readings of the clocks", []read{
			{received: 10 * ms, read: 11 * ms, lost: 80 * ms},
			{received: 100 * ms, read: 101 * ms},
		}},
		{"the wall clock is set forward", []read{
			{received: 10 * ms, read: 11 * ms},
			{received: 20 * ms, read: 21 * ms, step: time.Hour, rejected: true},
			{received: 500 * ms, read: 501 * ms, rejected: true},
			{received: 2000 * ms, read: 2001 * ms},
		}},
		{"the wall clock is set back", []read{
			{received: 10 * ms, read: 11 * ms},
			{received: 20 * ms, read: 21 * ms, step: -time.Hour, rejected: true},
			{received: 500 * ms, read: 501 * ms, rejected: true},
			{received: 2000 * ms, read: 2001 * ms},
		}},
		{"the wall clock is set back by less than the bytes lay unread", []read{
			{received: 10 * ms, read: 60 * ms, step: -20 * ms, rejected: true},
			{received: 2000 * ms, read: 2001 * ms},
		}},
		{"the wall clock is set while nothing is read", []read{
			{received: 10 * ms, read: 11 * ms},
			{received: 5000 * ms, read: 5001 * ms, step: 40 * ms, rejected: true},
			{received: 7000 * ms, read: 7001 * ms},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := wallClock{offset: 1763700000 * time.Second}
			c := w.clock()
			for i, r := range test.reads {
				kernel := r.received + w.offset
				w.offset += r.step
				at, ok := c.believe(r.read+r.lost, w.offset-r.lost, kernel)
				if ok == r.rejected || ok && at != r.received {
					t.Errorf("read %d: %v, %t; was received at %v", i, at, ok, r.received)
				}
			}
		})
	}
}

// TestClockFollowsASlewedWallClock holds that a wall clock that runs a little faster is never taken for one that was
// set.
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
			at, ok := c.believe(last, w.offset, kernel)
			if !ok {
				continue
			}
			believed++
			if at != received {
				t.Fatalf("received at %v, believed %v", received, at)
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
	for _, test := range []struct {
		name     string
		kernel   int64
		rejected int64 // so far
	}{
		{"no timestamp", 0, 0},
		{"the future", read.Add(time.Second).UnixNano(), 1},
		{"long before the connection", read.Add(-time.Hour).UnixNano(), 2},
	} {
		got := c.timestamp(read, test.kernel)
		if diff := cmp.Diff(Timestamp{At: read}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if rejected := c.rejected.Load(); rejected != test.rejected {
			t.Errorf("%s: %d rejected, want %d", test.name, rejected, test.rejected)
		}
	}
}
