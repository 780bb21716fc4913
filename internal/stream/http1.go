package stream

import (
	"bufio"
	"bytes"
	"net/http"
	"strconv"
	"strings"
)

// An http1 parses responses of HTTP/1.1 (https://www.rfc-editor.org/rfc/rfc9112) whose bodies are chunked or of a known
// length. It does not understand a body that lasts until the connection is closed: no other response can follow it.
type http1 struct {
	next  http1Part // what the next bytes are
	line  []byte    // the current line, as far as it was read
	head  []byte    // the complete lines of the header
	left  int64     // bytes that the body, or its chunk, still has
	found contents
}

// An http1Part is a part of a response.
type http1Part int

// The parts. All but chunkData and sizedBody are lines.
const (
	headerLine http1Part = iota // the status line as well
	chunkSize
	chunkData
	chunkEnd
	trailerLine
	sizedBody // a body of a known length
	notUnderstood
)

func (h *http1) parse(p []byte) (contents, bool) {
	h.found = contents{}
	for len(p) > 0 && h.next != notUnderstood {
		if h.next == chunkData || h.next == sizedBody {
			p = h.readBody(p)
		} else {
			p = h.readLine(p)
		}
	}
	return h.found, h.next != notUnderstood
}

// readBody consumes bytes of a body, and returns what follows them.
func (h *http1) readBody(p []byte) []byte {
	n := int(min(int64(len(p)), h.left))
	h.left -= int64(n)
	h.found.body += n
	switch {
	case h.left > 0:
	case h.next == chunkData:
		h.next = chunkEnd
	default:
		h.next = headerLine
	}
	return p[n:]
}

const (
	http1Start   = "HTTP/1.1 "
	http1Longest = 1 << 20 // bytes of a header with its current line
)

// readLine consumes bytes of a line, and returns what follows them. Bytes that do not begin as a response are refused
// before their line ends: in another protocol it may never end.
func (h *http1) readLine(p []byte) []byte {
	more, rest, ended := bytes.Cut(p, []byte("\n"))
	h.line = append(h.line, more...)
	switch {
	case len(h.head)+len(h.line) > http1Longest, h.next == headerLine && !h.mayBegin():
		h.next = notUnderstood
	case ended:
		line := string(bytes.TrimSuffix(h.line, []byte("\r")))
		h.line = h.line[:0]
		h.next = h.after(line)
	}
	return rest
}

// mayBegin reports whether the first line of a header begins as that of a response, as far as it was read.
func (h *http1) mayBegin() bool {
	if len(h.head) > 0 {
		return true
	}
	n := min(len(h.line), len(http1Start))
	return string(h.line[:n]) == http1Start[:n]
}

// after takes a complete line, and returns what comes after it.
func (h *http1) after(line string) http1Part {
	switch {
	case h.next == headerLine:
		h.head = append(h.head, line...)
		h.head = append(h.head, '\n')
		if line != "" {
			return headerLine
		}
		return h.afterHeader()
	case h.next == chunkSize:
		return h.afterChunkSize(line)
	case h.next == chunkEnd && line == "":
		return chunkSize
	case h.next == trailerLine && line == "":
		return headerLine
	case h.next == trailerLine:
		return trailerLine
	}
	return notUnderstood
}

// afterHeader takes the complete header, and returns what comes after it.
func (h *http1) afterHeader() http1Part {
	reader := bufio.NewReader(bytes.NewReader(h.head))
	response, err := http.ReadResponse(reader, nil) //nolint:bodyclose // there is no body: only the header is read
	h.head = nil
	if err != nil || response.StatusCode == http.StatusSwitchingProtocols {
		return notUnderstood
	}
	h.found = contents{begun: true, header: true}
	h.left = response.ContentLength
	switch {
	case response.Body == http.NoBody:
		return headerLine
	case len(response.TransferEncoding) > 0: // net/http accepts only chunked
		return chunkSize
	case h.left > 0:
		return sizedBody
	}
	return notUnderstood
}

// afterChunkSize takes the line with the size of a chunk, and returns what comes after it.
func (h *http1) afterChunkSize(line string) http1Part {
	digits, _, _ := strings.Cut(line, ";")
	size, err := strconv.ParseInt(strings.TrimSpace(digits), 16, 64)
	switch {
	case err != nil || size < 0:
		return notUnderstood
	case size == 0:
		return trailerLine
	}
	h.left = size
	return chunkData
}
