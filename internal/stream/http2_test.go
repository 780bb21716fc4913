package stream

import (
	"bytes"
	"testing"
)

// TestEndsOfRequests holds where a request of HTTP/2 ends among the other frames that a client sends, however they are
// cut into writes.
func TestEndsOfRequests(t *testing.T) {
	frame := func(kind, flags byte, payload int) string {
		return string([]byte{0, byte(payload >> 8), byte(payload), kind, flags, 0, 0, 0, 1}) +
			string(bytes.Repeat([]byte{flagEndStream}, payload))
	}
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	const ping, windowUpdate = 0x6, 0x8
	before := preface + frame(frameSettings, 0, 18) + frame(windowUpdate, 0, 4) + frame(frameHeaders, 4, 300) +
		frame(frameData, 0, 9000)
	for name, end := range map[string]string{
		"with data": frame(frameData, flagEndStream, 700), "without": frame(frameData, flagEndStream, 0),
		"of a request without a body": frame(frameHeaders, flagEndStream, 40),
	} {
		after := frame(frameSettings, flagEndStream, 0) + frame(ping, flagEndStream, 8) + frame(windowUpdate, 0, 4)
		all := before + end + after
		for _, size := range []int{1, 2, 7, 4096, len(all)} {
			var r requestEnd
			var ends []int // lengths of what had been written when a request had ended
			for from := 0; from < len(all); from += size {
				to := min(from+size, len(all))
				if r.in([]byte(all[from:to])) {
					ends = append(ends, to)
				}
			}
			at := len(before) + len(end)
			want := min((at+size-1)/size*size, len(all))
			if len(ends) != 1 || ends[0] != want {
				t.Errorf("%s, in pieces of %d: ends in writes up to %d, want %d", name, size, ends, want)
			}
		}
	}
}
