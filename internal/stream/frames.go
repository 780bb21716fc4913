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
	reader     lineReader
	lines      bool  // the body is lines
	mislabeled bool  // the body is not what its type says
	detected   bool  // the framing is known, by the first line that is not blank
	err        error // why there are no more frames

	events   events // if the body is events
	returned []byte // if it is lines: memory of the last frame, which is used again
}

// NewSSE returns a reader of server-sent events, by the WHATWG standard
// (https://html.spec.whatwg.org/multipage/server-sent-events.html). It differs from the standard in four ways:
//
//  1. JSON events that a server separates by a single line end, without a blank line, are separate events, and a name
//     between two of them is that of the second: see [events.startsNewEvent].
//  2. An event at the end of the body is returned although its blank line is missing.
//  3. An event named error without data is returned. Its data are the comment that follows the name, if there is one.
//  4. A line that is a JSON text is an event, and other lines without a field are kept: see [Frames.Unfielded].
//
// arrivals is [BodyTracker.Arrival] or a function that does the same. readSize is how many bytes to ask the body for at
// once. It is 1 for a chunked HTTP body if only the last arrival is known, because net/http lets a longer read wait for
// a whole chunk.
func NewSSE(body io.Reader, arrivals func(end int64) Arrival, readSize int) *Frames {
	return &Frames{reader: newLineReader(body, arrivals, readSize)}
}

// NewLines returns a reader of lines, each with a JSON text (NDJSON). It drops blank lines, and white space around the
// others. A body that begins with a field is read as events all the same. Its parameters are those of [NewSSE].
func NewLines(body io.Reader, arrivals func(end int64) Arrival, readSize int) *Frames {
	s := NewSSE(body, arrivals, readSize)
	s.lines = true
	s.reader.onlyLF = true
	return s
}

// Mislabeled reports whether the body begins with another framing than the reader was made for: with a line of JSON
// instead of an event, or with an event instead of a line.
func (s *Frames) Mislabeled() bool { return s.mislabeled || s.events.jsonFirst }

// Unfielded returns the lines of an event stream so far that belong to no field of the standard, without JSON texts of
// a single line, which are frames. Servers and proxies write the text of an error there, or a whole page. At most
// 64 KiB are kept. The result is valid until the next call of [Frames.Next].
func (s *Frames) Unfielded() []byte {
	line := s.reader.line
	if s.lines || len(line) == 0 || isField(line) {
		return s.events.unfielded
	}
	return appendBounded(s.events.unfielded, line)
}

// Next returns the next event that has data, or the next line. At the end of the body it returns [io.EOF], or
// [io.ErrUnexpectedEOF] if the body ends inside an event or a line. It returns [ErrTooLong] for a frame that is too
// long, and the body's own error. After an error, it returns the same error for ever.
func (s *Frames) Next() (Frame, error) {
	for s.err == nil {
		s.err = s.reader.readLine(MaxFrame - s.events.size)
		if s.err != nil {
			break
		}
		f, ok := s.endLine()
		if ok {
			return f, nil
		}
	}
	f, ok := s.flush()
	if ok {
		return f, nil
	}
	return Frame{}, s.err
}

// endLine takes the complete line. It returns the frame that the line completes, if it does.
func (s *Frames) endLine() (Frame, bool) {
	s.detectFraming()
	if s.lines {
		return s.lineFrame()
	}
	f, ok := s.events.add(s.reader.line, s.reader.arrival())
	s.reader.line = s.reader.line[:0]
	return f, ok
}

// detectFraming looks at the line with which the body begins: a body of lines that begins with a field is an event
// stream. It drops a byte order mark.
func (s *Frames) detectFraming() {
	if s.detected {
		return
	}
	line := bytes.TrimPrefix(s.reader.line, []byte("\xef\xbb\xbf"))
	s.detected = len(bytes.TrimSpace(line)) > 0
	if s.lines && isField(line) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		s.lines = false
		s.reader.onlyLF = false
		s.mislabeled = true
	}
	s.reader.line = line
}

// lineFrame returns the complete line as a frame; false if it is blank.
func (s *Frames) lineFrame() (Frame, bool) {
	s.reader.line, s.returned = s.returned[:0], s.reader.line // the frame keeps its memory until the next one is read
	data := bytes.TrimSpace(s.returned)
	return Frame{Data: data, Arrival: s.reader.arrival()}, len(data) > 0
}

// flush returns what the body left without its end, once. If it is incomplete, the error becomes
// [io.ErrUnexpectedEOF]. Of a body that broke off it returns only what is whole without doubt: a JSON text, or [DONE].
func (s *Frames) flush() (Frame, bool) {
	isEnd := errors.Is(s.err, io.EOF)
	brokeOffWhole := s.reader.bodyErr != nil && s.endsWhole()
	if !isEnd && !brokeOffWhole {
		return Frame{}, false
	}
	s.detectFraming()
	line := s.reader.line
	if s.lines {
		if isWhole(line) || len(bytes.TrimSpace(line)) == 0 {
			return s.lineFrame()
		}
		s.err = io.ErrUnexpectedEOF
		return Frame{}, false
	}
	if len(line) > 0 {
		f, ok := s.endLine()
		if ok {
			return f, true
		}
	}
	if len(line) > 0 || !s.events.hasData { // the event goes on after its data, or is an error without any
		s.events.dataEnd = s.reader.arrival()
	}
	f, ok, err := s.events.end()
	if err != nil {
		s.err = err
	}
	return f, ok
}

// endsWhole reports whether the body ends with a JSON text, or [DONE], that only lacks its line end or its blank line.
func (s *Frames) endsWhole() bool {
	line := s.reader.line
	value, isData := bytes.CutPrefix(line, []byte("data:"))
	switch {
	case !s.lines && s.events.hasData:
		return len(line) == 0 && isWhole(s.events.data)
	case !s.lines && isData:
		return isWhole(value)
	}
	return isWhole(line)
}
