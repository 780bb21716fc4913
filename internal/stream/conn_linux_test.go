package stream

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestConnTakesTheKernelsTimestamp holds that a timestamp is the arrival, not the moment at which
// somebody came to read: it lies between the write and the one after it, however late
// the read. The moments are this machine's own, in their order; none is tolerated.
func TestConnTakesTheKernelsTimestamp(t *testing.T) {
	conn, server, buf := timestamped(t)
	for range 100 {
		before := time.Now()
		if _, err := io.WriteString(server, "frame"); err != nil {
			t.Fatal(err)
		}
		after := time.Now() // on loopback the kernel receives within the write
		if _, err := conn.Read(buf); err != nil {
			t.Fatal(err)
		}
		read := time.Now()
		timestamp := conn.Last()
		// The kernel's clock and ours agree to what one reading of both is off.
		if timestamp.At.Before(before.Add(-tolerance)) || timestamp.At.After(after.Add(tolerance)) || !timestamp.Kernel {
			t.Errorf("timestamp %+v; written between %v and %v", timestamp, before, after)
		}
		if late := timestamp.At.Add(timestamp.Delay); timestamp.Delay < 0 || late.After(read) {
			t.Errorf("timestamp %+v is read after %v", timestamp, read)
		}
	}
	if conn.Rejected() != 0 {
		t.Errorf("%d timestamps rejected", conn.Rejected())
	}
}

// timestamped returns a connection whose reads have timestamps of the kernel, and a buffer for them. Where the kernel
// gives none, it skips the test.
func timestamped(t *testing.T) (conn *Conn, server net.Conn, buf []byte) {
	t.Helper()
	client, server := dialled(t)
	conn, buf = NewConn(client), make([]byte, 64)
	EnableTimestamps()
	for range 1000 { // the first socket of a machine that asks for timestamps may be given them a little later
		write(t, server, 1, "x")
		if _, err := conn.Read(buf); err != nil {
			t.Fatal(err)
		}
		if conn.Last().Kernel {
			return conn, server, buf
		}
	}
	t.Skip("no timestamps of the kernel here")
	return nil, nil, nil
}

func write(t *testing.T, server io.Writer, times int, text string) {
	t.Helper()
	for range times { // on loopback the kernel receives within the write
		if _, err := io.WriteString(server, text); err != nil {
			t.Fatal(err)
		}
	}
}

// TestConnOneArrivalHasOneNumber holds that what came at once is one arrival, in how many reads it ever takes, and so
// are many packets that waited together: the kernel has merged some of them, and where a read ends in the midst of
// those it tells the arrival of bytes that the next one returns.
func TestConnOneArrivalHasOneNumber(t *testing.T) {
	for _, writes := range []int{1, 64} {
		conn, server, buf := timestamped(t)
		before := conn.Last().Read
		write(t, server, writes, strings.Repeat("x", 320))
		for range writes * 320 / len(buf) {
			if n, err := conn.Read(buf); n != len(buf) || err != nil || conn.Last().Read != before+1 {
				t.Fatalf("%d writes: %d bytes, read %d, %v; want %d", writes, n, conn.Last().Read, err, before+1)
			}
		}
		write(t, server, 1, "x")
		if _, err := conn.Read(buf); err != nil || conn.Last().Read != before+2 {
			t.Errorf("what came later is read %d, %v; want %d", conn.Last().Read, err, before+2)
		}
	}
}

// TestConnKnowsWhenBytesCame holds, however late the read: bytes of one packet all came at its timestamp, those of
// several packets between that of the last and a moment before the first.
func TestConnKnowsWhenBytesCame(t *testing.T) {
	conn, server, buf := timestamped(t)
	for range 20 {
		write(t, server, 1, "frame and another")
		if _, err := conn.Read(buf); err != nil {
			t.Fatal(err)
		}
		if s := conn.Last(); !s.NotBefore.Equal(s.At) {
			t.Errorf("one packet: %+v", s)
		}
		before := time.Now()
		write(t, server, 2, "frame")
		if _, err := conn.Read(buf); err != nil {
			t.Fatal(err)
		}
		if s := conn.Last(); s.NotBefore.IsZero() || s.NotBefore.After(before) || !s.At.After(s.NotBefore) {
			t.Errorf("two packets, written from %v on: %+v", before, s)
		}
	}
}

// TestConnLooks holds that a look at a socket is evidence of its own moment, and costs the bytes nothing: nothing had
// come at a moment that is later than the request, and not later than the first write, within which it came.
func TestConnLooks(t *testing.T) {
	conn, server, buf := timestamped(t)
	start := time.Now()
	conn.Watch(start, 0)
	defer conn.StopWatching()
	firstWritten := make(chan time.Time, 1)
	var writer sync.WaitGroup
	defer writer.Wait()
	writer.Go(func() {
		time.Sleep(20 * time.Millisecond) // looks begin after a part of that
		write(t, server, 1, "frame")
		firstWritten <- time.Now()
		write(t, server, 1, "frame")
	})
	if n, err := conn.Read(buf); n == 0 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	s, came := conn.Last(), <-firstWritten
	if !s.NotBefore.After(start) || s.NotBefore.After(came) {
		t.Errorf("asked at %v, wrote by %v: %+v", start, came, s)
	}
}

// TestAResetIsAnErrorAndNoBytes holds that a read which a reset ends returns no bytes: buffered readers panic where
// their number is negative, and nobody recovers from that.
func TestAResetIsAnErrorAndNoBytes(t *testing.T) {
	conn, server, buf := timestamped(t)
	if err := server.(*net.TCPConn).SetLinger(0); err != nil { // its end is a reset
		t.Fatal(err)
	}
	_ = server.Close()
	if n, err := conn.Read(buf); n != 0 || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%d bytes, %v", n, err)
	}
}
