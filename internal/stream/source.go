package stream

import "io"

// A source is a body that is read in pieces, none of which is asked for before it is needed.
type source struct {
	body     io.Reader
	arrivals func(end int64) Stamp // arrival of the first end bytes of the body, which have been read; end never decreases
	ask      int                   // bytes to ask for at once
	in       []byte                // read, not yet consumed
	buf      []byte                // where in lies
	total    int64                 // bytes read so far
	err      error                 // why no more can be read
}

// stretch is how many bytes of a line are gathered where they are asked for one by one.
const stretch = 512

// newSource asks body for at most ask bytes at once.
func newSource(body io.Reader, arrivals func(end int64) Stamp, ask int) source {
	return source{body: body, arrivals: arrivals, ask: ask, buf: make([]byte, max(ask, stretch))}
}

// stamp is the arrival of what was consumed so far.
func (s *source) stamp() Stamp { return s.arrivals(s.total - int64(len(s.in))) }

// fill asks the body for more bytes. Where they are asked for one by one, it gives
// all up to the end of a line, before which none is of use.
func (s *source) fill() {
	s.stamp() // so that arrivals are forgotten also where nothing is a frame
	n := 0
	for s.err == nil && (n == 0 || s.ask == 1 && n < len(s.buf) && s.buf[n-1] != '\n' && s.buf[n-1] != '\r') {
		var more int
		more, s.err = s.body.Read(s.buf[n:min(n+s.ask, len(s.buf))])
		n += more
	}
	s.total += int64(n)
	if s.in = s.buf[:n]; n > 0 && s.err != nil {
		s.body, s.err = failed{s.err}, nil
	}
}

// failed is a body of which nothing is left but its error.
type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }
