package probe

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/stream"
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

const (
	typeSSE    = "text/event-stream"
	typeNDJSON = "application/x-ndjson"
	typeJSON   = "application/json"
)

// framingOfType returns how an answer is framed by its type, whatever type was asked for.
func framingOfType(resp *http.Response) framing {
	switch mediaType(resp) {
	case typeSSE:
		return eventStream
	case typeNDJSON:
		return jsonLines
	}
	return notFramed
}

// mediaType returns the type of the answer's body, without parameters; the first if a proxy made several.
func mediaType(resp *http.Response) string {
	first, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ",")
	name, _, _ := strings.Cut(first, ";")
	const longest = 100 // characters; the ellipsis after them shows redact where a key was cut
	return format.Shorten(strings.ToLower(strings.TrimSpace(name)), longest)
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

func (b *openBody) frames(f framing) *stream.Frames {
	if f == jsonLines {
		return stream.NewLines(b, b.arrival, b.ask)
	}
	return stream.NewSSE(b, b.arrival, b.ask)
}
