package stream

import "time"

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
	several bool      // the last read brought more than one packet, and nothing came after it
}

// foundNothing notes an attempt to read that brought no bytes.
func (e *evidence) foundNothing(r receipt) {
	if r.empty.After(e.empty) {
		e.empty = r.empty
	}
}

// add notes a read into a buffer of room bytes. It returns the moment at which none of its bytes had been received,
// zero if none is known, and reports whether all of them came in one packet.
func (e *evidence) add(r receipt, room int) (notBefore time.Time, onePacket bool) {
	e.foundNothing(r)
	notBefore = e.empty
	e.read += uint64(r.n)
	if r.n < room {
		e.empty = r.began
	}
	e.several = r.counted && r.packets-e.packets > 1 && r.bytes == e.read
	if !r.counted {
		return notBefore, false
	}
	// A packet that came before an earlier one is counted when it comes, but cannot be read until the gap is filled.
	onePacket = r.packets-e.packets == 1 && r.outOfOrder == 0
	if r.bytes == e.read {
		e.packets = r.packets
	}
	return notBefore, onePacket
}
