package stream

import "time"

// A Sent is when the last byte of a request went to the kernel: between two moments around the attempt to write it that
// succeeded. A process that loses its processor in between learns late that it has written, not that it writes.
type Sent struct {
	From, Until time.Time // zero if nothing was sent
}

// A requestEnd finds the end of requests in what is written on a connection of HTTP/2
// (https://www.rfc-editor.org/rfc/rfc9113#section-4.1): other frames follow it.
type requestEnd struct {
	preface int     // bytes of the client's preface so far
	head    [9]byte // of the current frame
	got     int     // bytes of head so far
	left    int     // bytes of the frame after its head that are still to come
	ends    bool    // the frame ends a request
}

const (
	prefaceLength = 24 // of "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	flagEndStream = 0x1
)

// in reports whether the end of a request is in the bytes that are written next.
func (r *requestEnd) in(p []byte) (found bool) {
	n := min(len(p), prefaceLength-r.preface)
	r.preface += n
	p = p[n:]
	for len(p) > 0 {
		if r.got < len(r.head) {
			n := copy(r.head[r.got:], p)
			r.got += n
			p = p[n:]
			if r.got < len(r.head) {
				break
			}
			kind := r.head[3]
			r.left = int(r.head[0])<<16 | int(r.head[1])<<8 | int(r.head[2])
			r.ends = (kind == frameData || kind == frameHeaders) && r.head[4]&flagEndStream != 0
		}
		n := min(len(p), r.left)
		r.left -= n
		p = p[n:]
		if r.left == 0 {
			r.got = 0
			found = found || r.ends
		}
	}
	return found
}
