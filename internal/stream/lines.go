package stream

import (
	"bytes"
	"errors"
	"io"
)

// A Lines cuts a body into lines with a JSON text each (NDJSON). Blank lines are
// none; white space around a text, a CR before the LF for example, is dropped. A
// text that the end of the body leaves without its line end is still returned.
type Lines struct {
	source

	line  []byte // of the line being read
	taken bool   // line was returned
}

// NewLines reads lines from body. arrivals and ask are those of [NewSSE].
func NewLines(body io.Reader, arrivals Arrivals, ask int) *Lines {
	return &Lines{source: newSource(body, arrivals, ask)}
}

// Next returns the next line that is not blank: [io.EOF] when the body ends between
// lines, [io.ErrUnexpectedEOF] when it ends inside a JSON text, [ErrTooLong], or
// the body's own error. A frame is never returned together with an error, and an
// error is returned for ever after.
func (l *Lines) Next() (Frame, error) {
	for l.err == nil {
		if f, ok := l.scan(); ok {
			return f, nil
		}
		if l.err == nil {
			l.fill()
		}
	}
	if f, ok := l.flush(); ok {
		return f, nil
	}
	return Frame{}, l.err
}

// scan consumes bytes that were read until a line is complete.
func (l *Lines) scan() (Frame, bool) {
	for len(l.in) > 0 {
		end := bytes.IndexByte(l.in, '\n')
		if end < 0 {
			l.append(l.in)
			l.in = nil
			return Frame{}, false
		}
		if l.append(l.in[:end]); l.err != nil {
			return Frame{}, false
		}
		l.in = l.in[end+1:]
		if f, ok := l.endLine(); ok {
			return f, true
		}
	}
	return Frame{}, false
}

// append adds bytes to the line being read.
func (l *Lines) append(b []byte) {
	if l.taken {
		l.line, l.taken = l.line[:0], false
	}
	if len(l.line)+len(b) > MaxFrame {
		l.err, l.in, l.line = ErrTooLong, nil, nil
		return
	}
	l.line = append(l.line, b...)
}

// endLine returns the complete line, unless it is blank.
func (l *Lines) endLine() (Frame, bool) {
	l.taken = true
	data := bytes.TrimSpace(l.line)
	return Frame{Data: data, Stamp: l.stamp()}, len(data) > 0
}

// flush returns the line that the body's end left without its line end. One that
// the end cut, so that its JSON is not complete, is an unexpected end instead.
func (l *Lines) flush() (Frame, bool) {
	data := bytes.TrimSpace(l.line)
	if !errors.Is(l.err, io.EOF) || l.taken || len(data) == 0 {
		return Frame{}, false
	}
	if !complete(data) {
		l.err = io.ErrUnexpectedEOF
		return Frame{}, false
	}
	return l.endLine()
}
