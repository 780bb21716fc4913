package stream

import "encoding/binary"

// An http2 parses a server's HTTP/2 frames (https://www.rfc-editor.org/rfc/rfc9113#section-4.1), for the newest stream.
type http2 struct {
	head    [9]byte // of the current frame
	got     int     // bytes of head so far
	left    int     // bytes of the frame after its head that are still to come
	padding int     // bytes at the end of the frame that do not belong to the body
	padded  bool    // the frame's next byte is the length of its padding
	stream  uint32  // the newest stream so far
	header  bool    // the frame belongs to the header of the response
	body    bool    // the frame belongs to its body
	settled bool    // the server's first frame was seen, which holds its settings
	unknown bool    // the bytes are not understood
	found   contents
}

// The types of frames and the flags that matter here.
const (
	frameData     = 0x0
	frameHeaders  = 0x1
	frameSettings = 0x4
	flagEndStream = 0x1
	flagPadded    = 0x8
)

// longestFrame is the largest payload that a server may send unless the client allows more, which net/http does not.
const longestFrame = 16 << 10

func (h *http2) parse(p []byte) (contents, bool) {
	h.found = contents{}
	for len(p) > 0 && !h.unknown {
		if h.got < len(h.head) {
			p = h.readHead(p)
		} else {
			p = h.readPayload(p)
		}
		if h.got == len(h.head) && h.left == 0 {
			h.got = 0
			h.found.header = h.found.header || h.header
		}
	}
	return h.found, !h.unknown
}

// readHead consumes bytes of a frame's head, and returns what follows them.
func (h *http2) readHead(p []byte) []byte {
	n := copy(h.head[h.got:], p)
	h.got += n
	if h.got == len(h.head) {
		h.beginFrame()
	}
	return p[n:]
}

// beginFrame reads the complete head of a frame.
func (h *http2) beginFrame() {
	h.left = int(h.head[0])<<16 | int(h.head[1])<<8 | int(h.head[2])
	kind := h.head[3]
	flags := h.head[4]
	stream := binary.BigEndian.Uint32(h.head[5:]) &^ (1 << 31)
	isSettings := kind == frameSettings && stream == 0
	if !h.settled && !isSettings || h.left > longestFrame {
		h.unknown = true
		return
	}
	h.settled = true
	if kind == frameHeaders && stream > h.stream {
		h.stream = stream
		h.found = contents{begun: true}
	}
	h.header = kind == frameHeaders && stream == h.stream && h.found.body == 0 // a later one holds trailers
	h.body = kind == frameData && stream == h.stream
	h.padded = h.body && flags&flagPadded != 0
	h.padding = 0
}

// readPayload consumes bytes of a frame after its head, and returns what follows them.
func (h *http2) readPayload(p []byte) []byte {
	if h.padded {
		h.padded = false
		h.padding = int(p[0])
		h.left--
		return p[1:]
	}
	n := min(len(p), h.left)
	if h.body {
		h.found.body += max(0, min(n, h.left-h.padding))
	}
	h.left -= n
	return p[n:]
}

// A requestEnd finds the end of requests in what is written on a connection of HTTP/2
// (https://www.rfc-editor.org/rfc/rfc9113#section-4.1): other frames follow it.
type requestEnd struct {
	preface int     // bytes of the client's preface so far
	head    [9]byte // of the current frame
	got     int     // bytes of head so far
	left    int     // bytes of the frame after its head that are still to come
	ends    bool    // the frame ends a request
}

const prefaceLength = len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// in reports whether the end of a request is in the bytes that are written next.
func (r *requestEnd) in(p []byte) (found bool) {
	n := min(len(p), prefaceLength-r.preface)
	r.preface += n
	p = p[n:]
	for len(p) > 0 {
		if r.got < len(r.head) {
			n := copy(r.head[r.got:], p)
			r.got += n
			p = p[n:]
			if r.got < len(r.head) {
				break
			}
			kind := r.head[3]
			r.left = int(r.head[0])<<16 | int(r.head[1])<<8 | int(r.head[2])
			r.ends = (kind == frameData || kind == frameHeaders) && r.head[4]&flagEndStream != 0
		}
		n := min(len(p), r.left)
		r.left -= n
		p = p[n:]
		if r.left == 0 {
			r.got = 0
			found = found || r.ends
		}
	}
	return found
}
