// Package stream cuts a response body into frames and says when each of them arrived.
//
// Bytes come in through a [Conn], which wraps the socket and notes an [Arrival] for each read: the kernel's receive
// time where there is one, else the time right after the read. A [BodyTracker] above it, and above TLS, knows which
// bytes of a response body came with which read. [Frames] reads the body and returns one [Frame] at a time, with the
// arrival of the read that completed it. It never waits for a byte that it does not need, and does not know what
// frames mean.
//
// Begin reading at [Frames.Next], then at [BodyTracker.Arrival] and [Conn.Read].
package stream

import (
	"bytes"
	"errors"
	"io"
)

// MaxFrame is the size of the largest frame, in bytes. The first of vLLM may hold all token ids of the prompt: half a
// million have room. A probe holds up to three frames of this size.
const MaxFrame = 4 << 20

// ErrTooLong is returned for a frame, or a comment line, longer than [MaxFrame].
var ErrTooLong = errors.New("frame is longer than 4 MiB")

// A Frame is one unit of a streamed answer.
type Frame struct {
	Event   string // SSE "event" field; empty means "message"
	Data    []byte // "data" lines joined by LF; valid until the next frame is read
	Bare    bool   // a line of an event stream outside of any field, which clients of the standard ignore
	Arrival        // of the read that completed the frame
}

// Frames cuts a body into frames. A body is either server-sent events (see [NewSSE]) or lines (see [NewLines]). One
// goroutine uses it at a time.
type Frames struct {
	lines      bool // the body is lines
	mislabeled bool // the body is not what its type says

	// Reading the body. No piece of it is asked for before it is needed.
	body     io.Reader
	arrivals func(end int64) Arrival // returns the arrival of the first end bytes of the body; end never decreases
	ask      int                     // bytes to ask for at once
	buf      []byte                  // holds what was read last
	unread   []byte                  // the part of buf that was not consumed yet
	total    int64                   // bytes read so far
	bodyErr  error                   // the body's error, or its end: nothing comes after the bytes in buf
	err      error                   // why there are no more frames

	// Cutting lines.
	line    []byte // the current line, as far as it was read
	afterCR bool   // the line before ended with CR, so that a LF which comes next belongs to it
	size    int    // bytes since the last frame

	// Putting events together.
	begun    bool       // a line that is not blank is complete: no byte order mark can follow
	event    []byte     // the pending event's name
	data     []byte     // its data
	hasData  bool       // it has a data field
	extent   jsonExtent // of its data
	bare     bool       // its data stood outside of any field
	dataEnd  Arrival    // arrival of its last data line
	later    []byte     // a name that came after whole data: that of the next event if data follow it
	hasLater bool
	returned []byte // memory of the last frame, which is used again
	framed   bool   // there was an event

	unfielded []byte // lines that belong to no field
}

// NewSSE returns a reader of server-sent events, by the WHATWG standard
// (https://html.spec.whatwg.org/multipage/server-sent-events.html). It differs from the standard in four ways:
//
//  1. JSON events that a server separates by a single line end, without a blank line, are separate events, and a name
//     between two of them is that of the second: see [Frames.startsNewEvent].
//  2. An event at the end of the body is returned although its blank line is missing.
//  3. An event named error without data is returned. Its data are the comment that follows the name, if there is one.
//  4. A line that is a JSON text is an event, and other lines without a field are kept: see [Frames.Unfielded].
//
// arrivals is [BodyTracker.Arrival] or a function that does the same. ask is how many bytes to ask the body for at
// once: 1 for a chunked HTTP body of which only the last arrival is known, since net/http lets a longer read wait for
// a whole chunk.
func NewSSE(body io.Reader, arrivals func(end int64) Arrival, ask int) *Frames {
	const gathered = 512 // bytes of a line that are collected before they are parsed, where they are asked for singly
	return &Frames{body: body, arrivals: arrivals, ask: ask, buf: make([]byte, max(ask, gathered))}
}

// NewLines returns a reader of lines, each with a JSON text (NDJSON). It drops blank lines, and white space around the
// others. A body that begins with a field is read as events all the same. Its parameters are those of [NewSSE].
func NewLines(body io.Reader, arrivals func(end int64) Arrival, ask int) *Frames {
	s := NewSSE(body, arrivals, ask)
	s.lines = true
	return s
}

// Mislabeled reports whether the body begins with another framing than the reader was made for: with a line of JSON
// instead of an event, or with an event instead of a line.
func (s *Frames) Mislabeled() bool { return s.mislabeled }

// Next returns the next event that has data, or the next line. At the end of the body it returns [io.EOF], or
// [io.ErrUnexpectedEOF] if the body ends inside an event or a line. It returns [ErrTooLong] for a frame that is too
// long, and the body's own error. After an error, it returns the same error for ever.
func (s *Frames) Next() (Frame, error) {
	for s.err == nil {
		f, ok := s.scan()
		if ok {
			return f, nil
		}
		if s.err == nil {
			s.fill()
		}
	}
	f, ok := s.flush()
	if ok {
		return f, nil
	}
	return Frame{}, s.err
}

// arrival returns that of the bytes that were consumed so far.
func (s *Frames) arrival() Arrival {
	return s.arrivals(s.total - int64(len(s.unread)))
}

// fill asks the body for more bytes. Where they are asked for singly, it collects them up to the end of a line.
func (s *Frames) fill() {
	s.arrival() // lets the tracker forget old arrivals, also if no frame is ever complete
	n := 0
	for s.bodyErr == nil && s.wantsMore(n) {
		var more int
		more, s.bodyErr = s.body.Read(s.buf[n:min(n+s.ask, len(s.buf))])
		n += more
	}
	s.total += int64(n)
	s.unread = s.buf[:n]
	if n == 0 {
		s.err = s.bodyErr
	}
}

// wantsMore reports whether fill goes on reading when it has read n bytes.
func (s *Frames) wantsMore(n int) bool {
	if n == 0 {
		return true
	}
	if s.ask > 1 || n == len(s.buf) {
		return false
	}
	last := s.buf[n-1]
	return last != '\n' && last != '\r'
}

// scan consumes bytes that were read, until a frame is complete.
func (s *Frames) scan() (Frame, bool) {
	for len(s.unread) > 0 {
		if s.afterCR {
			s.afterCR = false
			if s.unread[0] == '\n' {
				s.unread = s.unread[1:]
				continue
			}
		}
		end := s.lineEnd()
		if end < 0 {
			s.addToLine(s.unread)
			s.unread = nil
			return Frame{}, false
		}
		s.addToLine(s.unread[:end])
		if s.err != nil {
			return Frame{}, false
		}
		s.afterCR = s.unread[end] == '\r'
		s.unread = s.unread[end+1:]
		f, ok := s.endLine()
		if ok {
			return f, true
		}
	}
	return Frame{}, false
}

// lineEnd returns the index in unread of the first byte that ends a line; −1 if there is none. CR ends lines of
// events only. Looking for LF and then for CR is quicker than looking for both at once.
func (s *Frames) lineEnd() int {
	lf := bytes.IndexByte(s.unread, '\n')
	if s.lines {
		return lf
	}
	before := s.unread
	if lf >= 0 {
		before = s.unread[:lf]
	}
	cr := bytes.IndexByte(before, '\r')
	if cr >= 0 {
		return cr
	}
	return lf
}

func (s *Frames) addToLine(b []byte) {
	s.size += len(b)
	if s.size > MaxFrame {
		s.err = ErrTooLong
		return
	}
	s.line = append(s.line, b...)
}

// endLine takes the complete line. It returns the frame that the line completes, if it does.
func (s *Frames) endLine() (Frame, bool) {
	if !s.begun {
		s.begin()
	}
	if s.lines {
		return s.lineFrame()
	}
	return s.endEventLine()
}

// begin looks at a line with which a body may begin: a body of lines that begins with a field is an event stream.
func (s *Frames) begin() {
	s.line = bytes.TrimPrefix(s.line, []byte("\xef\xbb\xbf")) // byte order mark
	s.begun = len(bytes.TrimSpace(s.line)) > 0
	if s.lines && isField(s.line) {
		s.lines = false
		s.mislabeled = true
		s.line = bytes.TrimSuffix(s.line, []byte("\r"))
	}
}

// lineFrame returns the complete line as a frame; false if it is blank.
func (s *Frames) lineFrame() (Frame, bool) {
	s.line, s.returned = s.returned[:0], s.line
	s.size = 0
	data := bytes.TrimSpace(s.returned)
	return Frame{Data: data, Arrival: s.arrival()}, len(data) > 0
}

// flush returns what the body left without its end, once. If it is incomplete, the error becomes
// [io.ErrUnexpectedEOF]. Of a body that broke off it returns only what is whole without doubt: a JSON text, or [DONE].
func (s *Frames) flush() (Frame, bool) {
	switch {
	case errors.Is(s.err, io.EOF):
	case s.bodyErr == nil || !s.endsWhole():
		return Frame{}, false
	}
	if !s.begun {
		s.begin()
	}
	if s.lines {
		return s.flushLine()
	}
	return s.flushEvent()
}

// endsWhole reports whether the body ends with a JSON text, or [DONE], that only lacks its line end or its blank line.
func (s *Frames) endsWhole() bool {
	value, isData := bytes.CutPrefix(s.line, []byte("data:"))
	switch {
	case !s.lines && s.hasData:
		return len(s.line) == 0 && isWhole(s.data)
	case !s.lines && isData:
		return isWhole(value)
	}
	return isWhole(s.line)
}

// flushLine returns the last line if it is a whole JSON text.
func (s *Frames) flushLine() (Frame, bool) {
	if isWhole(s.line) || len(bytes.TrimSpace(s.line)) == 0 {
		return s.lineFrame()
	}
	s.err = io.ErrUnexpectedEOF
	return Frame{}, false
}
