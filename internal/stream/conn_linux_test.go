package stream

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/testing/kerneltest"
)

// TestConnTakesTheKernelsTimestamp holds that a timestamp is the arrival, and not the moment at which somebody came to
// read: it lies between the write and the one after it, however late the read. Moments may be compared as exactly as
// the offset of the two clocks is known.
func TestConnTakesTheKernelsTimestamp(t *testing.T) {
	conn, server := timestamped(t)
	for range 100 {
		before := time.Now()
		write(t, server, 1, "frame")
		after := time.Now()
		read(t, conn, "frame")
		now := time.Now()
		got := conn.Last()
		if !got.Kernel || got.At.Before(before.Add(-tolerance)) || got.At.After(after.Add(tolerance)) {
			t.Errorf("timestamp %+v; written between %v and %v", got, before, after)
		}
		if got.Delay < 0 || got.At.Add(got.Delay).After(now) {
			t.Errorf("timestamp %+v is read after %v", got, now)
		}
	}
	if conn.Rejected() != 0 {
		t.Errorf("%d timestamps rejected", conn.Rejected())
	}
}

// timestamped returns both ends of a connection whose reads have timestamps of the kernel. Without
// them the test ends.
func timestamped(t *testing.T) (conn *Conn, server net.Conn) {
	t.Helper()
	client, server := dialled(t)
	conn = NewConn(client)
	EnableTimestamps()
	for began := time.Now(); time.Since(began) < kerneltest.Patience; {
		write(t, server, 1, "x")
		read(t, conn, "x")
		if conn.Last().Kernel {
			return conn, server
		}
	}
	kerneltest.MissTimestamps(t)
	return nil, nil
}

// write writes a text some times. On loopback the kernel receives within the write.
func write(t *testing.T, server io.Writer, times int, text string) {
	t.Helper()
	for range times {
		_, err := io.WriteString(server, text)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestConnOneArrivalHasOneNumber holds that what came at once is one arrival, in however many reads. So are many
// packets that waited together: the kernel has merged some of them, and a read that ends within these has the
// timestamp of bytes that the next one returns.
func TestConnOneArrivalHasOneNumber(t *testing.T) {
	for _, writes := range []int{1, 64} {
		conn, server := timestamped(t)
		before := conn.Last().Read
		part := strings.Repeat("x", 64)
		write(t, server, writes, strings.Repeat(part, 5))
		for range writes * 5 {
			read(t, conn, part)
			if got := conn.Last().Read; got != before+1 {
				t.Fatalf("%d writes: read %d, want %d", writes, got, before+1)
			}
		}
		write(t, server, 1, "later")
		read(t, conn, "later")
		if got := conn.Last().Read; got != before+2 {
			t.Errorf("%d writes: what came later is read %d, want %d", writes, got, before+2)
		}
	}
}

// TestConnKnowsWhenBytesCame holds, however late the read: bytes of one packet all came at its timestamp, those of
// several packets between that of the last and a moment before the first.
func TestConnKnowsWhenBytesCame(t *testing.T) {
	conn, server := timestamped(t)
	for range 20 {
		write(t, server, 1, "one packet")
		read(t, conn, "one packet")
		if got := conn.Last(); !got.NotBefore.Equal(got.At) {
			t.Errorf("one packet: %+v", got)
		}
		before := time.Now()
		write(t, server, 2, "frame")
		read(t, conn, "frameframe")
		got := conn.Last()
		if got.NotBefore.IsZero() || got.NotBefore.After(before) || !got.At.After(got.NotBefore) {
			t.Errorf("two packets, written from %v on: %+v", before, got)
		}
	}
}

// TestConnLooks holds that a look at a socket proves that nothing had come at its own moment: later than the request,
// and earlier than the first write ends. The server writes after three looks.
func TestConnLooks(t *testing.T) {
	conn, server := timestamped(t)
	looks := 0
	looked := make(chan struct{})
	receive := conn.receive
	conn.receive = func(p []byte) (receipt, error) {
		r, err := receive(p)
		looks++
		if looks == 3 {
			close(looked)
		}
		return r, err
	}
	written := make(chan time.Time, 1)
	go func() {
		select {
		case <-looked:
		case <-t.Context().Done():
			return
		}
		_, _ = io.WriteString(server, "frame")
		written <- time.Now()
	}()
	start := time.Now()
	_ = conn.SetReadDeadline(start.Add(10 * time.Second)) // only if there are no looks
	watch := new(Watch)
	watch.Begin(conn, start)
	defer watch.End()
	read(t, conn, "frame")
	end := <-written
	got := conn.Last()
	if !got.NotBefore.After(start) || got.NotBefore.After(end) {
		t.Errorf("asked at %v, wrote by %v: %+v", start, end, got)
	}
}
