package stream

import (
	"net"
	"testing"
	"time"
)

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
			notBefore, onePacket := e.add(receipt{
				n: r.n, empty: moment(r.empty), began: moment(r.began),
				counted: r.packets > 0, packets: r.packets, bytes: r.bytes, outOfOrder: r.outOfOrder,
			}, 100)
			if !notBefore.Equal(moment(r.notBefore)) {
				t.Errorf("%s, read %d: not before %v, want %d ms", name, i, notBefore.Sub(start), r.notBefore)
			}
			if onePacket != r.onePacket {
				t.Errorf("%s, read %d: one packet is %t", name, i, onePacket)
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
		near, _ := net.Pipe()
		c := NewConn(near)
		c.clock.last = -time.Hour
		at := time.Now()
		got := c.timestamp(receipt{
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
