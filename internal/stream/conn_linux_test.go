package stream

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// TestConnTakesTheKernelsStamp holds that a stamp is the arrival, not the moment at which
// somebody came to read: it lies between the write and the one after it, however late
// the read. The moments are this machine's own, in their order; none is tolerated.
func TestConnTakesTheKernelsStamp(t *testing.T) {
	conn, server, buf := stamped(t)
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
		stamp := conn.Last()
		// The kernel's clock and ours agree to what one reading of both is off.
		if stamp.At.Before(before.Add(-tolerance)) || stamp.At.After(after.Add(tolerance)) || !stamp.Kernel {
			t.Errorf("stamp %+v; written between %v and %v", stamp, before, after)
		}
		if late := stamp.At.Add(stamp.Delay); stamp.Delay < 0 || late.After(read) {
			t.Errorf("stamp %+v is read after %v", stamp, read)
		}
	}
	if conn.Refused() != 0 {
		t.Errorf("%d stamps refused", conn.Refused())
	}
}

// stamped is a connection whose reads have stamps of the kernel, and a buffer for them.
func stamped(t *testing.T) (conn *Conn, server net.Conn, buf []byte) {
	t.Helper()
	client, server := dialled(t)
	conn, buf = NewConn(client), make([]byte, 64)
	// The first socket of a machine that asks for stamps may be given them a little later.
	for asked := false; !asked; asked = conn.Last().Kernel {
		write(t, server, 1, "x")
		if _, err := conn.Read(buf); err != nil {
			t.Fatal(err)
		}
	}
	return conn, server, buf
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
		conn, server, buf := stamped(t)
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
