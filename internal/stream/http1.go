package stream

import (
	"bufio"
	"bytes"
	"net/http"
	"strconv"
	"strings"
)

// An http1 parses responses of HTTP/1.1 (https://www.rfc-editor.org/rfc/rfc9112) whose bodies are chunked or of a known
// length. One that lasts until the connection is closed is not understood: no other response can follow it.
type http1 struct {
	state part
	line  []byte // the current line
	head  []byte // the complete lines of the header
	left  int64  // bytes that the body, or its chunk, still has
	seen  seen
}

// A part of a response is what its next bytes are.
type part int

// The parts: lines, but for chunk and content.
const (
	headerLine part = iota // the status line as well
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

func (h *http1) body(p []byte) []byte {
	n := int(min(int64(len(p)), h.left))
	h.left -= int64(n)
	h.seen.body += n
	switch {
	case h.left > 0:
	case h.state == chunk:
		h.state = chunkEnd
	default:
		h.state = headerLine
	}
	return p[n:]
}

// text consumes bytes of a line. What does not begin as a response is not understood before its line ends: it may have none.
func (h *http1) text(p []byte) []byte {
	const start, longest = "HTTP/1.1 ", 1 << 20 // bytes of a header, of a line as well
	more, rest, ended := bytes.Cut(p, []byte("\n"))
	h.line = append(h.line, more...)
	begins := h.state == headerLine && len(h.head) == 0
	switch known := min(len(h.line), len(start)); {
	case len(h.head)+len(h.line) > longest, begins && string(h.line[:known]) != start[:known]:
		h.state = unknown
	case ended:
		h.state = h.after(string(bytes.TrimSuffix(h.line, []byte("\r"))))
		h.line = h.line[:0]
	}
	return rest
}

// after takes a complete line, and says what comes after it.
func (h *http1) after(line string) part {
	switch {
	case h.state == headerLine:
		if h.head = append(append(h.head, line...), '\n'); line == "" {
			return h.begin()
		}
		return headerLine
	case h.state == chunkSize:
		return h.size(line)
	case h.state == chunkEnd && line == "":
		return chunkSize
	case h.state == trailerLine && line == "":
		return headerLine
	case h.state == trailerLine:
		return trailerLine
	}
	return unknown
}

func (h *http1) begin() part {
	response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(h.head)), nil) //nolint:bodyclose // there is none: the head alone is read
	h.head = nil
	if err != nil || response.StatusCode == http.StatusSwitchingProtocols {
		return unknown
	}
	h.seen, h.left = seen{begun: true, header: true}, response.ContentLength
	switch {
	case response.Body == http.NoBody:
		return headerLine
	case len(response.TransferEncoding) > 0: // net/http knows none but chunked
		return chunkSize
	case h.left > 0:
		return content
	}
	return unknown
}

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
