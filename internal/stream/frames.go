// Package stream cuts a response body into frames, each with the arrival timestamp of the socket read that
// completed it. It never waits for a byte that it does not need, and does not know what the frames mean.
package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// MaxFrame is the size of the largest frame, in bytes: vLLM's first may hold all token ids of the prompt.
const MaxFrame = 16 << 20

// ErrTooLong is returned for a frame, comments included, above [MaxFrame].
var ErrTooLong = errors.New("frame is longer than 16 MiB")

// A Frame is one unit of a streamed answer.
type Frame struct {
	Event string // SSE "event" field; empty means "message"
	Data  []byte // "data" lines joined by LF; valid until the next frame is read
	Stamp        // of the read that completed the frame
}

// Frames cuts a body into frames. One kind of body is server-sent events, by the WHATWG standard
// (https://html.spec.whatwg.org/multipage/server-sent-events.html), but that events which a server ends with a single line end
// are told apart (see [Frames.separate]), and one that the body leaves without its blank line, or one called error without
// data, is returned as well. The other kind is lines with a JSON text each (NDJSON).
type Frames struct {
	lines bool // NDJSON

	// The body is read in pieces, and no piece is asked for before it is needed.
	body     io.Reader
	arrivals func(end int64) Stamp // arrival of the first end bytes of the body, which have been read; end never decreases
	ask      int                   // bytes to ask for at once
	in       []byte                // read, not yet consumed
	buf      []byte                // where in lies
	total    int64                 // bytes read so far
	later    error                 // came with the last bytes: why no more can be read
	err      error                 // why there are no more frames

	line    []byte // of the line being read
	afterCR bool   // a LF that comes next belongs to the line end before it
	begun   bool   // the first line has been read, so no BOM can follow

	event   []byte
	data    []byte
	hasData bool   // a data field was seen since the last frame
	dataEnd Stamp  // of the last data line
	out     []byte // of the last frame
	size    int    // bytes since that
}

// NewSSE reads events from body. arrivals is [BodyTracker.Arrival] or the like. ask is how many bytes to ask body for at once: 1
// for a chunked HTTP body of which only the last arrival is known, since net/http lets a longer read wait for a whole chunk.
func NewSSE(body io.Reader, arrivals func(end int64) Stamp, ask int) *Frames {
	const stretch = 512 // bytes of a line that are gathered where they are asked for one by one
	return &Frames{body: body, arrivals: arrivals, ask: ask, buf: make([]byte, max(ask, stretch))}
}

// NewLines reads lines from body, as [NewSSE] does events, and drops blank ones and white space around the others.
func NewLines(body io.Reader, arrivals func(end int64) Stamp, ask int) *Frames {
	s := NewSSE(body, arrivals, ask)
	s.lines = true
	return s
}

// Next returns the next event that has data, or the next line: [io.EOF] when the body ends between them,
// [io.ErrUnexpectedEOF] when it ends inside one, [ErrTooLong], or the body's own error, which is then returned for ever.
func (s *Frames) Next() (Frame, error) {
	for s.err == nil {
		if f, ok := s.scan(); ok {
			return f, nil
		}
		if s.err == nil {
			s.fill()
		}
	}
	if f, ok := s.flush(); ok {
		return f, nil
	}
	return Frame{}, s.err
}

// stamp is the arrival of what was consumed so far.
func (s *Frames) stamp() Stamp { return s.arrivals(s.total - int64(len(s.in))) }

// fill asks the body for more bytes. Where they are asked for one by one, it gives all up to the end of a line.
func (s *Frames) fill() {
	s.stamp() // so that arrivals are forgotten also where nothing is a frame
	n := 0
	for s.later == nil && (n == 0 || s.ask == 1 && n < len(s.buf) && s.buf[n-1] != '\n' && s.buf[n-1] != '\r') {
		var more int
		more, s.later = s.body.Read(s.buf[n:min(n+s.ask, len(s.buf))])
		n += more
	}
	s.total += int64(n)
	if s.in = s.buf[:n]; n == 0 {
		s.err = s.later
	}
}

// scan consumes bytes that were read until a frame is complete.
func (s *Frames) scan() (Frame, bool) {
	for len(s.in) > 0 {
		if s.afterCR {
			s.afterCR = false
			if s.in[0] == '\n' {
				s.in = s.in[1:]
				continue
			}
		}
		end := s.lineEnd()
		if end < 0 {
			s.append(s.in)
			s.in = nil
			return Frame{}, false
		}
		if s.append(s.in[:end]); s.err != nil {
			return Frame{}, false
		}
		s.afterCR = s.in[end] == '\r'
		s.in = s.in[end+1:]
		if f, ok := s.endLine(); ok {
			return f, true
		}
	}
	return Frame{}, false
}

// lineEnd is the index of the first LF, or CR in events, of what was read; −1 if there is none.
// Looking for one and then the other is quicker than looking for both.
func (s *Frames) lineEnd() int {
	lf := bytes.IndexByte(s.in, '\n')
	if s.lines {
		return lf
	}
	before := s.in
	if lf >= 0 {
		before = s.in[:lf]
	}
	if cr := bytes.IndexByte(before, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

func (s *Frames) append(b []byte) {
	s.size += len(b)
	if s.size > MaxFrame {
		s.err = ErrTooLong
		return
	}
	s.line = append(s.line, b...)
}

func (s *Frames) endLine() (Frame, bool) {
	if s.lines {
		s.out, s.line, s.size = s.line, s.out[:0], 0
		data := bytes.TrimSpace(s.out)
		return Frame{Data: data, Stamp: s.stamp()}, len(data) > 0
	}
	if !s.begun {
		s.begun = true
		s.line = bytes.TrimPrefix(s.line, []byte("\xef\xbb\xbf"))
	}
	if len(s.line) == 0 {
		return s.dispatch(s.stamp())
	}
	if !s.separate() {
		s.field()
		return Frame{}, false
	}
	before, _ := s.dispatch(s.dataEnd)
	s.field()
	return before, true
}

// field takes the complete line's field into the pending event.
func (s *Frames) field() {
	name, value, _ := bytes.Cut(s.line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch {
	case len(name) == 0:
		if string(s.event) == "error" && !s.hasData { // Dynamo tells an error in a comment
			s.data = append(s.data[:0], value...)
		}
		if !s.hasData {
			s.size = 0
		}
	case string(name) == "data":
		if s.hasData {
			s.data = append(s.data, '\n')
		} else {
			s.data = s.data[:0]
		}
		s.data = append(s.data, value...)
		s.hasData, s.dataEnd = true, s.stamp()
	case string(name) == "event":
		s.event = append(s.event[:0], value...)
	}
	s.line = s.line[:0]
}

// separate reports whether the complete line starts an event of its own although no blank line came before: the
// pending data are a JSON value, or [DONE], and the line brings another.
func (s *Frames) separate() bool {
	value, isData := bytes.CutPrefix(s.line, []byte("data:"))
	return s.hasData && isData && structured(bytes.TrimPrefix(value, []byte(" "))) && complete(s.data)
}

// complete reports whether data is a JSON object or list, or [DONE]; structured, whether it starts as one.
func complete(data []byte) bool {
	data = bytes.TrimSpace(data)
	return string(data) == "[DONE]" || structured(data) && json.Valid(data)
}

func structured(data []byte) bool {
	return len(data) > 0 && (data[0] == '{' || data[0] == '[')
}

// dispatch returns the pending event, if it has data, and starts the next.
func (s *Frames) dispatch(stamp Stamp) (Frame, bool) {
	f := Frame{Event: string(s.event), Data: s.data, Stamp: stamp}
	ok := s.hasData || f.Event == "error"
	s.out, s.data = s.data, s.out[:0]
	s.event, s.hasData, s.size = s.event[:0], false, len(s.line)
	return f, ok
}

// flush returns the event or the line that the body left without its end; one with incomplete JSON is an unexpected end.
func (s *Frames) flush() (Frame, bool) {
	if !errors.Is(s.err, io.EOF) {
		return Frame{}, false
	}
	if len(s.line) > 0 && !s.lines {
		if f, ok := s.endLine(); ok {
			return f, true
		}
		s.dataEnd = s.stamp()
	}
	switch {
	case s.lines && (complete(s.line) || len(bytes.TrimSpace(s.line)) == 0):
		return s.endLine()
	case !s.lines && !s.hasData:
		return Frame{}, false
	case !s.lines && (!structured(s.data) || complete(s.data)):
		return s.dispatch(s.dataEnd)
	}
	s.err = io.ErrUnexpectedEOF
	return Frame{}, false
}
