package stream

import "time"

// A receipt is what one read of a socket brought, and what the kernel said of the connection right after it.
type receipt struct {
	n      int       // bytes
	kernel int64     // receive time of the last packet among them, in nanoseconds since 1970; 0 if the kernel gave none
	empty  time.Time // right before the last attempt that found nothing; zero if none did
	began  time.Time // right before the attempt that brought the bytes
	at     time.Time // right after it

	counted    bool   // the following are known: counts since the connection was opened
	packets    uint32 // that brought data
	bytes      uint64 // received in order, read or not
	outOfOrder uint32 // packets that came out of order
}

// evidence is what the reads so far prove of the bytes that the next one will bring. There are two proofs:
//
//   - An attempt to read that found nothing, or less than there was room for, left the socket empty. What comes with the
//     next read had not been received when that attempt began.
//   - If only one packet with data has been received since the socket was empty, all bytes came in that one.
//
// Both are about packets of the whole connection. So they hold for whatever a layer above puts together: a TLS record,
// a frame of HTTP/2 or an event is complete when its last byte is there, and that byte came with this read.
type evidence struct {
	empty   time.Time // the socket was empty then: the latest such moment that is known
	read    uint64    // bytes so far
	packets uint32    // that had been received when the socket was known to be empty
}

// looked takes an attempt that found nothing.
func (e *evidence) looked(r receipt) {
	if r.empty.After(e.empty) {
		e.empty = r.empty
	}
}

// take takes a read into a buffer with so much room. It returns the moment at which none of its bytes had been
// received, zero if none is known, and reports whether all of them came in one packet.
func (e *evidence) take(r receipt, room int) (notBefore time.Time, onePacket bool) {
	e.looked(r)
	notBefore = e.empty
	e.read += uint64(r.n)
	if r.n < room {
		e.empty = r.began
	}
	if !r.counted {
		return notBefore, false
	}
	// A packet behind a gap in the order is counted when it comes, but can be read only once the gap is filled.
	onePacket = r.packets-e.packets == 1 && r.outOfOrder == 0
	if r.bytes == e.read {
		e.packets = r.packets
	}
	return notBefore, onePacket
}
