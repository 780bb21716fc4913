package stream

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
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
		echo(t, server, conn, buf)
	}
	return conn, server, buf
}

func echo(t *testing.T, server io.Writer, conn io.Reader, buf []byte) {
	t.Helper()
	if _, err := io.WriteString(server, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(buf); err != nil {
		t.Fatal(err)
	}
}

// TestConnOneArrivalHasOneNumber holds that what came at once is one arrival, in how many reads it ever takes.
func TestConnOneArrivalHasOneNumber(t *testing.T) {
	conn, server, buf := stamped(t)
	before := conn.Last().Read
	if _, err := io.WriteString(server, "a frame of many bytes"); err != nil {
		t.Fatal(err)
	}
	for range "a frame of many bytes" {
		if _, err := conn.Read(buf[:1]); err != nil || conn.Last().Read != before+1 {
			t.Fatalf("read %d, %v; want %d", conn.Last().Read, err, before+1)
		}
	}
	echo(t, server, conn, buf)
	if conn.Last().Read != before+2 {
		t.Errorf("the next arrival is read %d, want %d", conn.Last().Read, before+2)
	}
}

// TestConnWhatLayThereHasOneNumber holds the same of many packets that waited together: the kernel has merged some of
// them, and where a read ends in the midst of those it tells the arrival of bytes that the next one returns.
func TestConnWhatLayThereHasOneNumber(t *testing.T) {
	conn, server, buf := stamped(t)
	before, frame := conn.Last().Read, strings.Repeat("x", 320)
	for range 64 { // on loopback the kernel receives within the write
		if _, err := io.WriteString(server, frame); err != nil {
			t.Fatal(err)
		}
	}
	for range 64 * len(frame) / len(buf) {
		if n, err := conn.Read(buf); n != len(buf) || err != nil || conn.Last().Read != before+1 {
			t.Fatalf("%d bytes, read %d, %v; want %d", n, conn.Last().Read, err, before+1)
		}
	}
	echo(t, server, conn, buf)
	if conn.Last().Read != before+2 {
		t.Errorf("what came later is read %d, want %d", conn.Last().Read, before+2)
	}
}

func TestConnTellsWhyItCannotRead(t *testing.T) {
	client, server := dialled(t)
	conn := NewConn(client)
	if err := server.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	_ = server.Close() // resets it
	_, err := conn.Read(make([]byte, 1))
	var op *net.OpError
	if !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, &op) || op.Op != "read" {
		t.Errorf("%v", err)
	}
}

func TestConnReadsToTheEnd(t *testing.T) {
	client, server := dialled(t)
	if _, err := io.WriteString(server, "last words"); err != nil {
		t.Fatal(err)
	}
	_ = server.Close()
	got, err := io.ReadAll(NewConn(client))
	if string(got) != "last words" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestTimestampIn reads control messages as the kernel lays them out.
func TestTimestampIn(t *testing.T) {
	message := func(level, kind int32, data ...uint64) []byte {
		b := binary.NativeEndian.AppendUint64(nil, uint64(syscall.SizeofCmsghdr+8*len(data)))
		b = binary.NativeEndian.AppendUint32(b, uint32(level))
		b = binary.NativeEndian.AppendUint32(b, uint32(kind))
		for _, d := range data {
			b = binary.NativeEndian.AppendUint64(b, d)
		}
		return b
	}
	stamp := message(syscall.SOL_SOCKET, syscall.SCM_TIMESTAMPNS, 1763700000, 123456789)
	other := message(syscall.IPPROTO_TCP, 7, 42)
	const want = 1763700000123456789
	for _, test := range []struct {
		name    string
		control []byte
		want    int64
	}{
		{"none", nil, 0},
		{"a stamp", stamp, want},
		{"one after another message", append(other, stamp...), want},
		{"another message", other, 0},
		{"one that is cut", stamp[:len(stamp)-1], 0},
		{"a length of nothing", make([]byte, 64), 0},
	} {
		if got := timestampIn(test.control); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}
