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

	mu       sync.Mutex
	header   Stamp // of the read that completed the response header
	arrivals []arrival
	oldest   int   // index in arrivals of the one that was asked for last
	size     int64 // bytes of the body so far
	lost     bool  // the framing was not understood
}

// An arrival is what one read of the socket brought of a body.
type arrival struct {
	stamp Stamp
	end   int64 // bytes of the body up to there
}

// A framing is how responses and their bodies lie in a connection's bytes.
type framing interface { // ok stays false once bytes are not understood
	parse(p []byte) (s seen, ok bool)
}

// seen is what some bytes of a connection hold.
type seen struct {
	begun  bool // a new response begins in them: what follows is of that one
	header bool // its header is complete
	body   int  // bytes of its body
}

// Track parses HTTP/1.1, or HTTP/2 if two is set, on conn, whose bytes come from
// socket: the same, or what is beneath TLS. One request at a time must be in flight.
func Track(conn net.Conn, socket *Conn, two bool) *BodyTracker {
	t := &BodyTracker{Conn: conn, socket: socket, framing: &http1{}}
	if two {
		t.framing = &http2{}
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

func (t *BodyTracker) note(p []byte, stamp Stamp) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, ok := t.framing.parse(p)
	t.lost = !ok
	if s.begun {
		t.arrivals, t.oldest, t.size = t.arrivals[:0], 0, 0
	}
	if s.header && t.size == 0 { // HTTP/2 has trailers that look like it
		t.header = stamp
	}
	if s.body == 0 {
		return
	}
	if t.oldest > 32 && t.oldest > len(t.arrivals)/2 { // those before are asked for no more
		t.arrivals, t.oldest = slices.Delete(t.arrivals, 0, t.oldest), 0
	}
	t.size += int64(s.body)
	t.arrivals = append(t.arrivals, arrival{stamp: stamp, end: t.size})
}

// Header is the arrival of the response header.
func (t *BodyTracker) Header() Stamp {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lost || t.header.Read == 0 {
		return t.socket.Last()
	}
	return t.header
}

// Knows reports whether the current response is understood, so that Arrival can tell.
func (t *BodyTracker) Knows() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.lost
}

// Arrival is that of the read that completed the first end bytes of the body, which have been read; end never
// decreases. Once the framing is not understood, it is that of the last read.
func (t *BodyTracker) Arrival(end int64) Stamp {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.oldest < len(t.arrivals)-1 && t.arrivals[t.oldest].end < end {
		t.oldest++
	}
	if t.lost || t.oldest == len(t.arrivals) {
		return t.socket.Last()
	}
	return t.arrivals[t.oldest].stamp
}
