package stream

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
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

// TestSent holds, on a socket and without one, that the last byte is written between the two moments, and that on a
// socket the time for which a write was blocked does not count.
func TestSent(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	for _, hidden := range []bool{false, true} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		far, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer far.Close()
		if hidden {
			conn = struct{ net.Conn }{conn}
		}
		c := NewConn(conn)
		body := make([]byte, 64<<20) // more than the buffers of both sides hold
		begun, ended := make(chan time.Time, 1), make(chan time.Time, 1)
		go func() {
			_, _ = io.ReadFull(far, make([]byte, 1))
			begun <- time.Now()
			_, _ = io.ReadFull(far, make([]byte, len(body)-1))
			ended <- time.Now()
		}()
		n, err := c.Write(body)
		done, sent := time.Now(), c.Sent()
		if n != len(body) || err != nil || sent.Until.Before(sent.From) || sent.Until.After(done) {
			t.Fatalf("wrote %d bytes, %v: %+v", n, err, sent)
		}
		isLastAttempt := sent.From.After(<-begun)
		if isLastAttempt != (c.transmit != nil) {
			t.Errorf("socket hidden %t: From is that of the last attempt: %t", hidden, isLastAttempt)
		}
		if sent.From.After(<-ended) {
			t.Error("the last byte was read before it was written")
		}
	}
}
