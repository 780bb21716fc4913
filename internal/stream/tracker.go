package stream

import (
	"net"
	"slices"
	"sync"
)

// A BodyTracker is a client's connection beneath HTTP, and above TLS if there is any. It parses the framing of what is
// read to know which bytes of a body came with which read of the socket: the layers above may read early, late and in
// any pieces.
type BodyTracker struct {
	net.Conn
	socket  *Conn
	framing framing
	ending  *requestEnd // where requests end; nil for HTTP/1.1, where nothing is written after one

	mu      sync.Mutex
	sent    Sent    // the end of the last request
	header  Arrival // of the read that completed the response header
	parts   []bodyPart
	current int   // index in parts of the one that was asked for last
	size    int64 // bytes of the body so far
	lost    bool  // the framing is not understood
}

// A bodyPart is what one read of the socket brought of a body.
type bodyPart struct {
	arrival Arrival
	end     int64 // length of the body up to the end of these bytes
}

// A framing parses the bytes that a server sends on a connection, to find where responses and their bodies lie in them.
type framing interface {
	// parse takes the next bytes and returns what it found in them. It returns false once it does not understand the
	// bytes, and for all bytes after that.
	parse(p []byte) (found contents, ok bool)
}

// The contents of a block of bytes are what it holds of responses.
type contents struct {
	begun  bool // a new response begins in the block: the rest describes that one
	header bool // its header is complete
	body   int  // number of bytes of its body
}

// Track returns a tracker of the responses on conn: of HTTP/2 if isHTTP2 is set, else of HTTP/1.1. The bytes of conn
// come from socket, which is the same connection or the one beneath TLS. At most one request may be in flight at a
// time.
func Track(conn net.Conn, socket *Conn, isHTTP2 bool) *BodyTracker {
	t := &BodyTracker{Conn: conn, socket: socket, framing: &http1{}}
	if isHTTP2 {
		t.framing = &http2{}
		t.ending = &requestEnd{}
	}
	return t
}

// NetConn returns the tracked connection.
func (t *BodyTracker) NetConn() net.Conn { return t.Conn }

// Read reads from the tracked connection.
func (t *BodyTracker) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	if n > 0 {
		t.note(p[:n], t.socket.Last())
	}
	return n, err
}

// Write writes to the tracked connection. One goroutine writes at a time.
func (t *BodyTracker) Write(p []byte) (int, error) {
	mayEnd := t.ending == nil || t.ending.in(p)
	n, err := t.Conn.Write(p)
	if mayEnd && n > 0 {
		t.mu.Lock()
		t.sent = t.socket.Sent()
		t.mu.Unlock()
	}
	return n, err
}

// Sent returns when the last request ended. It is known once the request has been written whole.
func (t *BodyTracker) Sent() Sent {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent
}

// note parses bytes that came with a read of the socket.
func (t *BodyTracker) note(p []byte, arrival Arrival) {
	t.mu.Lock()
	defer t.mu.Unlock()
	found, ok := t.framing.parse(p)
	t.lost = !ok
	if found.begun {
		t.parts = t.parts[:0]
		t.current = 0
		t.size = 0
	}
	if found.header && t.size == 0 { // after the body these are HTTP/2's trailers
		t.header = arrival
	}
	if found.body == 0 {
		return
	}
	if t.current > 32 && t.current > len(t.parts)/2 { // nobody will ask for the first ones again
		t.parts = slices.Delete(t.parts, 0, t.current)
		t.current = 0
	}
	t.size += int64(found.body)
	t.parts = append(t.parts, bodyPart{arrival: arrival, end: t.size})
}

// Header returns the arrival of the response header.
func (t *BodyTracker) Header() Arrival {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost || t.header.Read == 0 {
		return t.socket.Last()
	}
	return t.header
}

// Understands reports whether the framing of the current response is understood. If not, arrivals are those of the last
// read.
func (t *BodyTracker) Understands() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.lost
}

// Arrival returns the arrival of the read that completed the first end bytes of the body. These bytes must have been
// read, and end must never decrease. If the framing is not understood, it returns the arrival of the last read.
func (t *BodyTracker) Arrival(end int64) Arrival {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.current < len(t.parts)-1 && t.parts[t.current].end < end {
		t.current++
	}
	if t.lost || t.current == len(t.parts) {
		return t.socket.Last()
	}
	return t.parts[t.current].arrival
}
