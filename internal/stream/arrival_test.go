package stream

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestTimestampsOfReorderedPacketsAreRejected holds which late reads are suspected to hold bytes that waited for a
// packet that was missing. All are reads of one connection.
func TestTimestampsOfReorderedPacketsAreRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		history := readHistory{clock: newClock()}
		for _, test := range []struct {
			name       string
			late       time.Duration
			n          int
			outOfOrder uint32 // packets so far
			uncounted  bool
			rejected   bool
		}{
			{name: "a late read", late: 5 * time.Millisecond, n: 100},
			{name: "a longer one with packets out of order", late: 5 * time.Millisecond, n: 200, outOfOrder: 2, rejected: true},
			{name: "a longer one without more of them", late: 5 * time.Millisecond, n: 400, outOfOrder: 2},
			{name: "one that is not longer", late: 5 * time.Millisecond, n: 400, outOfOrder: 3},
			{name: "one that is not late", late: time.Millisecond, n: 800, outOfOrder: 4},
			{name: "one of a kernel that counts nothing", late: 5 * time.Millisecond, n: 1600, uncounted: true},
			{name: "the next one with packets out of order", late: 5 * time.Millisecond, n: 3200, outOfOrder: 5, rejected: true},
		} {
			time.Sleep(time.Second)
			now := time.Now()
			got := history.arrival(receipt{
				n: test.n, kernel: now.Add(-test.late).UnixNano(), at: now,
				counted: !test.uncounted, outOfOrder: test.outOfOrder,
			}, 4096)
			want := Arrival{At: now.Add(-test.late), Kernel: true, Delay: test.late}
			if test.rejected {
				want = Arrival{At: now}
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Arrival{}, "NotBefore")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test.name, diff)
			}
		}
	})
}

// TestEvidence holds what is proved about the bytes of each read. Moments are in milliseconds, 0 for none. Each buffer
// has room for 100 bytes.
func TestEvidence(t *testing.T) {
	type read struct {
		empty, began int    // moments
		n            int    // bytes
		packets      uint32 // counts since the connection was opened; 0: the kernel has none
		bytes        uint64
		outOfOrder   uint32

		notBefore int
		onePacket bool
	}
	for name, reads := range map[string][]read{
		"the socket was empty before": {{empty: 40, began: 50, n: 10, packets: 2, bytes: 10, notBefore: 40}},
		"the socket was never empty":  {{began: 50, n: 10, packets: 2, bytes: 10, notBefore: 0}},
		"a read with room to spare leaves nothing": {
			{empty: 40, began: 50, n: 10, packets: 1, bytes: 10, notBefore: 40, onePacket: true},
			{began: 70, n: 20, packets: 3, bytes: 30, notBefore: 50},
		},
		"a read without room may leave something": {
			{empty: 40, began: 50, n: 100, packets: 2, bytes: 120, notBefore: 40},
			{began: 60, n: 20, packets: 2, bytes: 120, notBefore: 40},
			{began: 80, n: 10, packets: 4, bytes: 130, notBefore: 60},
		},
		"one packet in several reads": {
			{empty: 40, began: 50, n: 100, packets: 1, bytes: 120, notBefore: 40, onePacket: true},
			{began: 60, n: 20, packets: 1, bytes: 120, notBefore: 40, onePacket: true},
			{began: 80, n: 10, packets: 2, bytes: 130, notBefore: 60, onePacket: true},
		},
		"a packet that comes between a read and its counts": {
			{empty: 40, began: 50, n: 10, packets: 2, bytes: 30, notBefore: 40},
			{began: 60, n: 40, packets: 3, bytes: 50, notBefore: 50}, // of the second and the third
			{began: 70, n: 10, packets: 4, bytes: 60, notBefore: 60, onePacket: true},
		},
		"a packet that came again": {
			{empty: 40, began: 50, n: 10, packets: 1, bytes: 10, notBefore: 40, onePacket: true},
			{empty: 60, began: 70, n: 10, packets: 3, bytes: 20, notBefore: 60},
		},
		"packets out of order": {
			{empty: 40, began: 50, n: 10, packets: 2, bytes: 10, outOfOrder: 1, notBefore: 40},
			{empty: 60, began: 70, n: 20, packets: 3, bytes: 30, outOfOrder: 1, notBefore: 60}, // the one that was missing
		},
		"a kernel without counts": {
			{empty: 40, began: 50, n: 10, notBefore: 40}, {empty: 60, began: 70, n: 10, notBefore: 60},
		},
	} {
		start := time.Now()
		moment := func(ms int) time.Time {
			if ms == 0 {
				return time.Time{}
			}
			return start.Add(time.Duration(ms) * time.Millisecond)
		}
		var e evidence
		for i, r := range reads {
			notBefore, count := e.add(receipt{
				n: r.n, empty: moment(r.empty), began: moment(r.began),
				counted: r.packets > 0, packets: r.packets, bytes: r.bytes, outOfOrder: r.outOfOrder,
			}, 100)
			if !notBefore.Equal(moment(r.notBefore)) {
				t.Errorf("%s, read %d: not before %v, want %d ms", name, i, notBefore.Sub(start), r.notBefore)
			}
			if (count == onePacket) != r.onePacket {
				t.Errorf("%s, read %d: packets %d", name, i, count)
			}
		}
	}
}

// TestAReadOfSeveralPacketsMayHaveHiddenTheFirst holds that the delay of such a read, which is that of the last packet,
// comes with how much longer the first may have waited: since the socket was empty.
func TestAReadOfSeveralPacketsMayHaveHiddenTheFirst(t *testing.T) {
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		delay   time.Duration // of the last packet; the socket was found empty 5 ms before the read
		packets uint32
		bytes   uint64
		hidden  bool
	}{
		"several":                      {ms, 2, 10, true},
		"one":                          {2 * ms, 1, 10, false},
		"one, and another was counted": {2 * ms, 2, 20, false},
		"not counted":                  {2 * ms, 0, 0, false},
	} {
		a := readHistory{clock: newClock(), last: -time.Hour}
		at := time.Now()
		got := a.arrival(receipt{
			n: 10, kernel: at.UnixNano() - int64(test.delay), empty: at.Add(-5 * ms), began: at, at: at,
			counted: test.packets > 0, packets: test.packets, bytes: test.bytes,
		}, 100)
		want := time.Duration(0)
		if test.hidden {
			want = 5*ms - got.Delay
		}
		if !got.Kernel || got.Hidden != want {
			t.Errorf("%s: %v hidden, want %v: %+v", name, got.Hidden, want, got)
		}
	}
}

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
				at, ok := c.monotonic(r.read+r.lost, w.offset-r.lost, kernel)
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
		at, ok := c.monotonic(received, w.offset, received+w.offset)
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
			at, ok := c.monotonic(last, w.offset, kernel)
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

// TestArrivalsRejects holds that timestamps that cannot be right are counted, and replaced by the moment of the read.
func TestArrivalsRejects(t *testing.T) {
	a := readHistory{clock: newClock()}
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
		got := a.arrival(receipt{n: 1, at: read, kernel: test.kernel}, 1)
		if diff := cmp.Diff(Arrival{At: read}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
		if rejected := a.rejected.Load(); rejected != test.rejected {
			t.Errorf("%s: %d rejected, want %d", test.name, rejected, test.rejected)
		}
	}
}
