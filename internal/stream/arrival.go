package stream

import (
	"math"
	"sync/atomic"
	"time"
)

// An Arrival is when the bytes of one read of a socket arrived.
type Arrival struct {
	At     time.Time     // when the kernel received them; if that is not known, right after they were read
	Read   uint64        // number of this arrival on its connection, from 1
	Kernel bool          // At is the kernel's timestamp
	Delay  time.Duration // from the kernel's timestamp until the bytes were read; 0 unless Kernel

	// Hidden is how much longer the first of several packets may have waited than Delay, which is that of the last; 0
	// if there was one packet.
	Hidden time.Duration

	// NotBefore is a moment at which none of the bytes of this arrival had been received, so that all of them came
	// between it and At. It equals At if they came in one packet. It is zero if nothing is known, as where the kernel
	// gives no timestamps. So if it is set and Kernel is not, the kernel's timestamp was rejected.
	NotBefore time.Time
}

// A receipt is what one read of a socket brought, and what the kernel said of the connection right after it.
type receipt struct {
	n      int       // bytes
	kernel int64     // receive time of the last packet among them, in nanoseconds since 1970; 0 if the kernel gave none
	empty  time.Time // right before the last attempt that found nothing; zero if none did
	began  time.Time // right before the attempt that brought the bytes
	at     time.Time // right after it

	// Counts since the connection was opened, if counted is set.
	counted    bool
	packets    uint32 // that brought data
	bytes      uint64 // received in order, read or not
	outOfOrder uint32 // packets that came out of order
}

// A readHistory finds when the bytes of each read of one connection arrived, by what the reads before it left.
type readHistory struct {
	clock    clock
	rejected atomic.Int64 // number of the kernel's timestamps that were not believed

	evidence   evidence
	last       time.Duration // the kernel's timestamp that was believed last, on the clock
	lastSize   int           // bytes of the last read
	outOfOrder uint32        // packets that came out of order, when they were looked at last
}

const (
	tolerance       = 100 * time.Microsecond // how far the offset of two clocks may be off although nobody set one
	suspiciousDelay = time.Millisecond       // bytes that lay unread for longer may have waited for a missing packet
)

// arrival returns the arrival of what a read brought into a buffer of room bytes, without its number: the kernel's
// timestamp, or the moment of the read where there is none that can be right.
func (h *readHistory) arrival(r receipt, room int) Arrival {
	notBefore, packets := h.evidence.add(r, room)
	isLonger := r.n > h.lastSize+h.lastSize/2
	h.lastSize = r.n
	if r.kernel == 0 { // nobody knows how late the read is, so that the bound says nothing
		return Arrival{At: r.at}
	}
	reject := func() Arrival {
		h.rejected.Add(1)
		return Arrival{At: r.at, NotBefore: notBefore}
	}

	read := r.at.Sub(h.clock.base)
	offset := time.Duration(r.at.UnixNano()) - read
	received, ok := h.clock.monotonic(read, offset, time.Duration(r.kernel))
	if !ok { // the wall clock was set, and the timestamp may be older than that
		return reject()
	}
	if received > read+tolerance || received < h.last-tolerance { // from the future, or from before the previous one
		return reject()
	}
	received = min(max(received, h.last), read)
	h.last = received
	delay := read - received

	// TCP holds packets back while an earlier one is missing. Then the timestamp is older than the moment at which the
	// bytes could be read, which is the network's delay and not the reader's. Such a read brings several packets at
	// once, so that one which is no longer than the read before is not suspected. Kernels before 5.4 do not count.
	if r.counted && isLonger && delay > suspiciousDelay {
		isHeldBack := r.outOfOrder != h.outOfOrder
		h.outOfOrder = r.outOfOrder
		if isHeldBack {
			return reject()
		}
	}

	at := r.at.Add(-delay)
	if notBefore.After(at.Add(tolerance)) { // the bytes could not be read yet at the time of the timestamp
		return reject()
	}
	arrival := Arrival{At: at, Kernel: true, Delay: delay, NotBefore: notBefore}
	if packets == severalPackets && !notBefore.IsZero() {
		arrival.Hidden = max(0, at.Sub(notBefore))
	}
	if packets == onePacket || notBefore.After(at) {
		arrival.NotBefore = at
	}
	return arrival
}

// evidence is what the reads so far prove about the bytes that the next one will bring. There are two proofs:
//
//   - An attempt to read that found nothing, or less than there was room for, left the socket empty. What comes with
//     the next read had not been received when that attempt began.
//   - If only one packet with data has been received since the socket was empty, all bytes came in that one.
//
// Both are about packets of the whole connection. So they hold for whatever a layer above puts together: a TLS record,
// a frame of HTTP/2 or an event is complete when its last byte is there, and that byte came with this read.
type evidence struct {
	empty   time.Time // the latest moment at which the socket is known to have been empty
	read    uint64    // bytes so far
	packets uint32    // packets that had been received when the socket was known to be empty
}

// foundNothing notes an attempt to read that brought no bytes.
func (e *evidence) foundNothing(r receipt) {
	if r.empty.After(e.empty) {
		e.empty = r.empty
	}
}

// A packetCount says in how many packets the bytes of a read came.
type packetCount int

const (
	unknownPackets packetCount = iota
	onePacket
	severalPackets
)

// add notes a read into a buffer of room bytes. It returns the moment at which none of its bytes had been received,
// zero if none is known, and in how many packets they came.
func (e *evidence) add(r receipt, room int) (notBefore time.Time, count packetCount) {
	e.foundNothing(r)
	notBefore = e.empty
	e.read += uint64(r.n)
	if r.n < room {
		e.empty = r.began
	}
	if !r.counted {
		return notBefore, unknownPackets
	}
	packets := r.packets - e.packets
	isAll := r.bytes == e.read // nothing came after these bytes and was counted with them
	// A packet that came before an earlier one is counted when it comes, but cannot be read until the gap is filled.
	switch {
	case packets == 1 && r.outOfOrder == 0:
		count = onePacket
	case packets > 1 && isAll:
		count = severalPackets
	}
	if isAll {
		e.packets = r.packets
	}
	return notBefore, count
}

// A clock converts readings of the wall clock, which the kernel's timestamps are, into times of the monotonic clock. It
// serves one connection.
//
// The wall clock is ahead of the monotonic one by a constant, unless somebody sets it. The two clocks cannot be read at
// the same moment: any delay between the two readings makes the difference look too small. So the largest difference
// that was measured is used, and a jump of it means that the wall clock was set.
type clock struct {
	base    time.Time            // monotonic times count from here
	measure func() time.Duration // measures the offset with care

	offset      time.Duration // wall clock, counted from 1970, minus monotonic clock
	unsureUntil time.Duration // until then timestamps may be older than a step of the wall clock
}

// settleTime is how long after the wall clock was set timestamps from before may still come.
const settleTime = time.Second

func newClock() clock {
	base := time.Now()
	// A reading of both clocks can only make the offset too small, so that the largest of five is the best.
	measure := func() time.Duration {
		largest := time.Duration(math.MinInt64)
		for range 5 {
			now := time.Now()
			largest = max(largest, time.Duration(now.UnixNano())-now.Sub(base))
		}
		return largest
	}
	return clock{base: base, measure: measure, offset: measure()}
}

// monotonic converts a reading of the wall clock that was taken before now, when one reading of both clocks gave
// offset. ok is false if the wall clock may have been set since then.
func (c *clock) monotonic(now, offset, wall time.Duration) (at time.Duration, ok bool) {
	if offset < c.offset-tolerance { // the wall clock was set back, or this reading was interrupted
		offset = max(offset, c.measure())
	}
	if offset > c.offset+tolerance || offset < c.offset-tolerance {
		c.offset = offset
		c.unsureUntil = now + settleTime
	}
	c.offset = max(c.offset, offset)
	return wall - c.offset, now >= c.unsureUntil
}
