package stream

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
)

// An http1 parses responses of HTTP/1.1 (https://www.rfc-editor.org/rfc/rfc9112) whose
// bodies are chunked or of a known length. One that lasts until the connection is
// closed is not understood: no other response can follow it.
type http1 struct {
	state   part
	line    []byte // the current line, its first maxKept bytes
	status  int
	chunked bool
	length  int64 // of the body by its header; −1 if it does not say
	left    int64 // bytes that the body, or its chunk, still has
	seen    seen
}

// maxKept is how many bytes of a line are kept: no line that matters is longer.
const maxKept = 256

// A part of a response is what its next bytes are.
type part int

// The parts: lines, but for chunk and content.
const (
	statusLine part = iota
	headerLine
	chunkSize
	chunk
	chunkEnd
	trailerLine
	content // of a known length
	unknown
)

func (h *http1) parse(p []byte) (seen, bool) {
	h.seen = seen{}
	for len(p) > 0 && h.state != unknown {
		if h.state == chunk || h.state == content {
			p = h.body(p)
		} else {
			p = h.text(p)
		}
	}
	return h.seen, h.state != unknown
}

// body consumes bytes of the body.
func (h *http1) body(p []byte) []byte {
	n := int(min(int64(len(p)), h.left))
	h.left -= int64(n)
	h.seen.body += n
	switch {
	case h.left > 0:
	case h.state == chunk:
		h.state = chunkEnd
	default:
		h.state = statusLine
	}
	return p[n:]
}

// text consumes bytes of a line, and looks at the line when it is complete.
func (h *http1) text(p []byte) []byte {
	more, rest, ended := bytes.Cut(p, []byte("\n"))
	h.line = append(h.line, more[:min(len(more), maxKept-len(h.line))]...)
	if ended {
		h.state = h.after(string(bytes.TrimSuffix(h.line, []byte("\r"))))
		h.line = h.line[:0]
	}
	return rest
}

// after takes a complete line, and says what comes after it.
func (h *http1) after(line string) part {
	switch h.state {
	case statusLine:
		return h.begin(line)
	case headerLine:
		if line == "" {
			return h.end()
		}
		return h.field(line)
	case chunkSize:
		return h.size(line)
	case chunkEnd:
		if line == "" {
			return chunkSize
		}
	case trailerLine:
		if line == "" {
			return statusLine
		}
		return trailerLine
	}
	return unknown
}

// begin takes a status line.
func (h *http1) begin(line string) part {
	version, rest, _ := strings.Cut(line, " ")
	code, _, _ := strings.Cut(rest, " ")
	status, err := strconv.Atoi(code)
	if err != nil || version != "HTTP/1.1" {
		return unknown
	}
	h.status, h.chunked, h.length = status, false, -1
	h.seen = seen{begun: true}
	return headerLine
}

// field takes a line of the header.
func (h *http1) field(line string) part {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	switch {
	case strings.EqualFold(name, "Transfer-Encoding"):
		h.chunked = strings.EqualFold(value, "chunked")
	case strings.EqualFold(name, "Content-Length"):
		length, err := strconv.ParseInt(value, 10, 64)
		if err != nil || length < 0 {
			return unknown
		}
		h.length = length
	}
	return headerLine
}

// end takes the end of the header.
func (h *http1) end() part {
	h.seen.header = true
	switch {
	case h.status == http.StatusSwitchingProtocols:
		return unknown
	case h.status < http.StatusOK, h.status == http.StatusNoContent, h.status == http.StatusNotModified:
		return statusLine
	case h.chunked:
		return chunkSize
	case h.length > 0:
		h.left = h.length
		return content
	case h.length == 0:
		return statusLine
	}
	return unknown
}

// size takes the line before a chunk.
func (h *http1) size(line string) part {
	digits, _, _ := strings.Cut(line, ";")
	size, err := strconv.ParseInt(strings.TrimSpace(digits), 16, 64)
	switch {
	case err != nil || size < 0:
		return unknown
	case size == 0:
		return trailerLine
	}
	h.left = size
	return chunk
}
