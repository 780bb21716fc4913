// Package stream cuts a response body into frames, each with the arrival timestamp of the socket read that
// completed it. It never waits for a byte that it does not need, and does not know what the frames mean.
package stream

import (
	"errors"
	"time"
)

// MaxFrame is the size of the largest frame, in bytes. vLLM's first frame holds all token ids of the prompt
// when it is asked for them, and SGLang's native frames repeat the whole answer: 64 KiB are not enough.
const MaxFrame = 16 << 20

// ErrTooLong is returned for a frame, comments included, above [MaxFrame].
var ErrTooLong = errors.New("frame is longer than 16 MiB")

// A Stamp is the arrival of some bytes.
type Stamp struct {
	At     time.Time     // when the kernel received them; else right after they were read
	Read   uint64        // number of that arrival on its connection, from 1
	Kernel bool          // At is the kernel's
	Delay  time.Duration // from the kernel's timestamp until they were read; 0 unless Kernel
}

// A Frame is one unit of a streamed answer.
type Frame struct {
	Event string // SSE "event" field; empty means "message"
	Data  []byte // "data" lines joined by LF; valid until the next frame is read
	Stamp        // of the read that completed the frame
}
