package stream

import (
	"net"
	"sync"
)

// A Follower is the plain text of a client's connection, beneath HTTP and above TLS
// if there is any. It reads along, only to know which bytes of an answer's body came
// with which read of the socket: so nobody above needs to ask for bytes one by one, and
// nothing is lost when they are asked for early (HTTP/2) or late.
type Follower struct {
	net.Conn
	socket  *Conn
	framing framing

	mu       sync.Mutex
	header   Stamp // of the read that completed the answer's header
	arrivals []arrival
	oldest   int   // index in arrivals of the one that was asked for last
	size     int64 // bytes of the body so far
	lost     bool  // what came is not understood
}

// An arrival is what one read of the socket brought of a body.
type arrival struct {
	stamp Stamp
	end   int64 // bytes of the body up to there
}

// A framing is how answers and their bodies lie in a connection's bytes.
type framing interface {
	// follow takes the next bytes and says what is in them. ok is false for ever
	// once they are not understood.
	follow(p []byte) (s seen, ok bool)
}

// seen is what some bytes of a connection hold.
type seen struct {
	begun  bool // a new answer begins in them: what follows is of that answer
	header bool // its header is complete
	body   int  // bytes of its body
}

// Follow follows HTTP/1.1, or HTTP/2 if two is set, on conn, whose bytes come from
// socket: the same, or what is beneath TLS. One request at a time must be under way.
func Follow(conn net.Conn, socket *Conn, two bool) *Follower {
	f := &Follower{Conn: conn, socket: socket, framing: &http1{}}
	if two {
		f.framing = &http2{}
	}
	return f
}

// NetConn returns the connection that is followed.
func (f *Follower) NetConn() net.Conn { return f.Conn }

// Read reads from the connection that is followed.
func (f *Follower) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if n > 0 {
		f.note(p[:n], f.socket.Last())
	}
	return n, err
}

func (f *Follower) note(p []byte, stamp Stamp) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.framing.follow(p)
	f.lost = !ok
	if s.begun {
		f.arrivals, f.oldest, f.size = f.arrivals[:0], 0, 0
	}
	if s.header && f.size == 0 { // HTTP/2 has trailers that look like it
		f.header = stamp
	}
	if s.body > 0 {
		f.size += int64(s.body)
		f.keep(arrival{stamp: stamp, end: f.size})
	}
}

// keep appends an arrival, and forgets those that nobody asks for again.
func (f *Follower) keep(a arrival) {
	if f.oldest > 32 && f.oldest > len(f.arrivals)/2 {
		f.arrivals = f.arrivals[:copy(f.arrivals, f.arrivals[f.oldest:])]
		f.oldest = 0
	}
	f.arrivals = append(f.arrivals, a)
}

// Header is the arrival of the answer's header.
func (f *Follower) Header() Stamp {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost || f.header.Read == 0 {
		return f.socket.Last()
	}
	return f.header
}

// Knows reports whether the answer under way is understood, so that Arrival can tell.
func (f *Follower) Knows() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.lost
}

// Arrival is the stamp of the read that completed the first end bytes of the answer's
// body. They must have been read, and end never decreases.
func (f *Follower) Arrival(end int64) Stamp {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.oldest < len(f.arrivals)-1 && f.arrivals[f.oldest].end < end {
		f.oldest++
	}
	if f.oldest == len(f.arrivals) {
		return f.socket.Last()
	}
	return f.arrivals[f.oldest].stamp
}
