package stream

import (
	"bytes"
	"io"
)

// A lineReader cuts a body into lines, and knows when each of them arrived. It asks for no piece of the body before it
// is needed.
type lineReader struct {
	body     io.Reader
	arrivals func(end int64) Arrival // returns the arrival of the first end bytes of the body; end never decreases
	readSize int                     // bytes to ask for at once
	buf      []byte                  // holds what was read last
	unread   []byte                  // the part of buf that was not consumed yet
	total    int64                   // bytes read so far
	bodyErr  error                   // the body's error, or its end: nothing comes after the bytes in buf

	line    []byte // the current line, as far as it was read; it is emptied when a complete one is taken
	onlyLF  bool   // CR ends no line
	afterCR bool   // the line before ended with CR, so that a LF which comes next belongs to it
}

func newLineReader(body io.Reader, arrivals func(end int64) Arrival, readSize int) lineReader {
	const leastBuffer = 512 // bytes of a line that are collected before they are parsed, where they are asked for singly
	return lineReader{body: body, arrivals: arrivals, readSize: readSize, buf: make([]byte, max(readSize, leastBuffer))}
}

// arrival returns the arrival of the bytes that were consumed so far.
func (r *lineReader) arrival() Arrival {
	return r.arrivals(r.total - int64(len(r.unread)))
}

// readLine reads until the current line is complete. It returns [ErrTooLong] if the line is longer than limit bytes,
// and the body's error if that comes first.
func (r *lineReader) readLine(limit int) error {
	for {
		if r.afterCR && len(r.unread) > 0 {
			r.afterCR = false
			r.unread = bytes.TrimPrefix(r.unread, []byte("\n"))
		}
		end := r.lineEnd()
		more := r.unread
		if end >= 0 {
			more = r.unread[:end]
		}
		if len(r.line)+len(more) > limit {
			return ErrTooLong
		}
		r.line = append(r.line, more...)
		if end >= 0 {
			r.afterCR = r.unread[end] == '\r'
			r.unread = r.unread[end+1:]
			return nil
		}
		if !r.fill() {
			return r.bodyErr
		}
	}
}

// lineEnd returns the index in unread of the first byte that ends a line; −1 if there is none. Looking for LF and then
// for CR is quicker than looking for both at once.
func (r *lineReader) lineEnd() int {
	lf := bytes.IndexByte(r.unread, '\n')
	if r.onlyLF {
		return lf
	}
	before := r.unread
	if lf >= 0 {
		before = r.unread[:lf]
	}
	cr := bytes.IndexByte(before, '\r')
	if cr >= 0 {
		return cr
	}
	return lf
}

// fill asks the body for more bytes; false if there are none. Where they are asked for singly, it collects them up to
// the end of a line. All that was read before is consumed.
func (r *lineReader) fill() bool {
	r.arrivals(r.total) // lets the tracker forget old arrivals, although no frame may ever be complete
	n := 0
	for r.bodyErr == nil && r.wantsMore(n) {
		var more int
		more, r.bodyErr = r.body.Read(r.buf[n:min(n+r.readSize, len(r.buf))])
		n += more
	}
	r.total += int64(n)
	r.unread = r.buf[:n]
	return n > 0
}

// wantsMore reports whether fill goes on reading when it has read n bytes.
func (r *lineReader) wantsMore(n int) bool {
	if n == 0 {
		return true
	}
	if r.readSize > 1 || n == len(r.buf) {
		return false
	}
	last := r.buf[n-1]
	return last != '\n' && last != '\r'
}
