package stream

import "io"

// A source is a body that is read in pieces, none of which is asked for before it
// is needed.
type source struct {
	body io.Reader
	in   []byte // read, not yet consumed
	buf  []byte // where in lies
	err  error  // why no more can be read
}

// newSource asks body for at most ask bytes at once.
func newSource(body io.Reader, ask int) source {
	return source{body: body, buf: make([]byte, ask)}
}

// fill asks the body for more bytes.
func (s *source) fill() {
	for s.err == nil && len(s.in) == 0 {
		n, err := s.body.Read(s.buf)
		s.in, s.err = s.buf[:n], err
	}
	if len(s.in) > 0 && s.err != nil {
		err := s.err
		s.err = nil
		s.body = failed{err}
	}
}

// failed is a body of which nothing is left but its error.
type failed struct{ err error }

func (f failed) Read([]byte) (int, error) { return 0, f.err }
