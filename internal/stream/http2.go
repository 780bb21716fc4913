package stream

import "encoding/binary"

// An http2 parses the frames of HTTP/2 (https://www.rfc-editor.org/rfc/rfc9113#section-4.1)
// that a server sends. The response is that of the newest stream.
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
