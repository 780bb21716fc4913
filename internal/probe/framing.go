package probe

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"regexp"
	"time"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// A framing is how a body is cut into frames.
type framing int

const (
	notFramed framing = iota // one JSON text, a page, or words
	eventStream
	jsonLines
)

// String returns the framing in words, for a warning.
func (f framing) String() string {
	return [...]string{"no stream", "an event stream", "lines of JSON"}[f]
}

// other returns the other way in which a stream may be framed.
func (f framing) other() framing {
	if f == eventStream {
		return jsonLines
	}
	return eventStream
}

// framingOf returns how a body is framed, by its first bytes; known is false if more are needed. A JSON text alone is
// no stream, but the whole answer or an error: there must be a second line.
func framingOf(start []byte) (f framing, known bool) {
	mark := []byte("\xef\xbb\xbf") // byte order mark
	if bytes.HasPrefix(mark, start) {
		return notFramed, false
	}
	start = bytes.TrimLeft(bytes.TrimPrefix(start, mark), " \t\r\n")
	for _, field := range []string{":", "data:", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(start, []byte(field)) {
			return eventStream, true
		}
		if bytes.HasPrefix([]byte(field), start) {
			return notFramed, false
		}
	}
	if start[0] != '{' {
		return notFramed, true
	}
	first, rest, isComplete := bytes.Cut(start, []byte("\n"))
	rest = bytes.TrimLeft(rest, " \t\r\n")
	switch {
	case !isComplete:
		return notFramed, false
	case !json.Valid(first):
		return notFramed, true
	case len(rest) == 0:
		return notFramed, false
	case rest[0] == '{':
		return jsonLines, true
	}
	return notFramed, true
}

// An openBody is the body of an answer. Its first bytes can be looked at before it is read.
type openBody struct {
	io.ReadCloser
	arrivals func(end int64) stream.Arrival // of the first end bytes of the body
	ask      int                            // bytes to ask for at once
	unread   []byte                         // what was looked at and not read yet
	err      error                          // comes after unread

	// Where only the last arrival is known, those of the bytes that were looked at are kept.
	onlyLast bool
	reads    []readArrival
}

// A readArrival is the arrival of the first end bytes of a body.
type readArrival struct {
	end     int64
	arrival stream.Arrival
}

// framing returns how the body is framed, by its first bytes.
func (b *openBody) framing() framing {
	const longest = 4 << 10 // bytes that are looked at; no first line of a stream is longer
	for {
		found, known := framingOf(b.unread)
		if known || b.err != nil || len(b.unread) >= longest {
			return found
		}
		start := len(b.unread)
		b.unread = append(b.unread, make([]byte, b.ask)...)
		var n int
		n, b.err = b.ReadCloser.Read(b.unread[start:])
		b.unread = b.unread[:start+n]
		if b.onlyLast {
			end := int64(len(b.unread))
			b.reads = append(b.reads, readArrival{end, b.arrivals(end)})
		}
	}
}

// Read returns what was looked at, then the rest of the body.
func (b *openBody) Read(p []byte) (int, error) {
	switch {
	case len(b.unread) > 0:
		n := copy(p, b.unread)
		b.unread = b.unread[n:]
		return n, nil
	case b.err != nil:
		return 0, b.err
	}
	return b.ReadCloser.Read(p)
}

// arrival returns that of the first end bytes of the body, as [stream.NewSSE] wants it.
func (b *openBody) arrival(end int64) stream.Arrival {
	for _, read := range b.reads {
		if end <= read.end {
			return read.arrival
		}
	}
	b.reads = nil
	return b.arrivals(end)
}

// frames returns the reader of the body's frames.
func (b *openBody) frames(f framing) *stream.Frames {
	if f == jsonLines {
		return stream.NewLines(b, b.arrival, b.ask)
	}
	return stream.NewSSE(b, b.arrival, b.ask)
}

// addUnfielded judges what stood in an event stream outside of events: an error of the server, or of something before
// it. It is none once the answer has its finish reason: no client reads such lines.
func (x *exchange) addUnfielded() {
	if x.frames == nil || x.answer.serverErr != nil || x.result.Finish != "" {
		return
	}
	text := x.frames.Unfielded()
	failure := wire.ParseError(text)
	if failure == nil {
		failure = wire.ParseWords(text)
	}
	if failure == nil {
		x.answer.unfielded = len(text)
		return
	}
	x.answer.serverErr = failure
	x.answer.serverErrAt = cmp.Or(x.result.Elapsed, time.Since(x.result.Start))
}

// mayGoOn matches the first line of a JSON text over several lines, or of an event.
var mayGoOn = regexp.MustCompile(`^(\{|\[|event:|data:)`)

// errorOverLines reports whether a frame that is not understood is the first of several that make an error together,
// and notes that error: one that is written over several lines, or as an event among lines of JSON. It waits a moment
// for the others.
func (x *exchange) errorOverLines(first []byte, next func() (stream.Frame, error)) bool {
	if !mayGoOn.Match(first) || x.frames == nil || x.answer.serverErr != nil {
		return false
	}
	x.endAnswer()
	var text []byte
	add := func(line []byte) {
		if !bytes.HasPrefix(line, []byte("event:")) {
			text = append(text, bytes.TrimPrefix(line, []byte("data:"))...)
			text = append(text, '\n')
		}
	}
	add(first)
	for len(text) < maxErrorBody {
		frame, err := next()
		if err != nil {
			break
		}
		add(frame.Data)
	}
	add(x.frames.Unfielded())
	x.answer.serverErr = wire.ParseError(text)
	x.answer.serverErrAt = x.result.Elapsed
	if x.answer.serverErr == nil {
		return false
	}
	x.errorFrame = text
	return true
}
