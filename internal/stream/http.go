package stream

import (
	"bufio"
	"bytes"
	"encoding/binary"
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

// An http2 parses a server's HTTP/2 frames (https://www.rfc-editor.org/rfc/rfc9113#section-4.1), for the newest stream.
type http2 struct {
	head    [9]byte // of the current frame
	got     int     // bytes of head so far
	left    int     // bytes of the frame that are to come after those of head
	padding int     // bytes at the end of the frame that are none of the body's
	padded  bool    // the frame's next byte tells its padding
	stream  uint32  // newest so far
	header  bool    // the frame is of the header of the response
	body    bool    // the frame is of its body
	begun   bool    // the first frame was seen, with which a server settles
	unknown bool
	seen    seen
}

// What matters of the frames.
const (
	frameData     = 0x0
	frameHeaders  = 0x1
	frameSettings = 0x4
	flagPadded    = 0x8

	longestFrame = 16 << 10 // a longer one must be allowed, and net/http does not
)

func (h *http2) parse(p []byte) (seen, bool) {
	h.seen = seen{}
	for len(p) > 0 && !h.unknown {
		if h.got < len(h.head) {
			n := copy(h.head[h.got:], p)
			h.got += n
			p = p[n:]
			if h.got == len(h.head) {
				h.begin()
			}
		} else {
			p = h.payload(p)
		}
		if h.got == len(h.head) && h.left == 0 {
			h.got = 0
			h.seen.header = h.seen.header || h.header
		}
	}
	return h.seen, !h.unknown
}

func (h *http2) begin() {
	h.left = int(h.head[0])<<16 | int(h.head[1])<<8 | int(h.head[2])
	kind, flags := h.head[3], h.head[4]
	stream := binary.BigEndian.Uint32(h.head[5:]) &^ (1 << 31)
	if !h.begun && (kind != frameSettings || stream != 0) || h.left > longestFrame {
		h.unknown = true
		return
	}
	h.begun = true
	if kind == frameHeaders && stream > h.stream {
		h.stream = stream
		h.seen = seen{begun: true}
	}
	h.header = kind == frameHeaders && stream == h.stream && h.seen.body == 0 // else a trailer
	h.body = kind == frameData && stream == h.stream
	h.padded, h.padding = h.body && flags&flagPadded != 0, 0
}

func (h *http2) payload(p []byte) []byte {
	if h.padded {
		h.padded, h.padding = false, int(p[0])
		h.left--
		return p[1:]
	}
	n := min(len(p), h.left)
	if h.body {
		h.seen.body += max(0, min(n, h.left-h.padding))
	}
	h.left -= n
	return p[n:]
}
