package stream

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestConnTimestampsEachRead holds that where the kernel gives no timestamps each read has the moment at which it
// returned.
func TestConnTimestampsEachRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		conn := NewConn(client)
		defer conn.Close()
		start := time.Now()
		NewLookout().Watch().Begin(conn, start) // there are no looks, which would say nothing
		go func() {
			for _, text := range []string{"one", "two"} {
				time.Sleep(time.Second)
				_, _ = io.WriteString(server, text)
			}
			_ = server.Close()
		}()
		read(t, conn, "one")
		first := Arrival{At: start.Add(time.Second), Read: 1}
		if diff := cmp.Diff(first, conn.Last()); diff != "" {
			t.Errorf("first read (-want +got):\n%s", diff)
		}
		read(t, conn, "two")
		second := Arrival{At: start.Add(2 * time.Second), Read: 2}
		if diff := cmp.Diff(second, conn.Last()); diff != "" {
			t.Errorf("second read (-want +got):\n%s", diff)
		}
		n, err := conn.Read(make([]byte, 1))
		if n != 0 || !errors.Is(err, io.EOF) {
			t.Errorf("at the end: %d bytes, %v", n, err)
		}
		if diff := cmp.Diff(second, conn.Last()); diff != "" {
			t.Errorf("at the end (-want +got):\n%s", diff)
		}
	})
}

// TestConnEnds holds why a read ends that waits, and that it then returns no bytes: buffered readers panic where their
// number is negative.
func TestConnEnds(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(conn *Conn, server *net.TCPConn)
		want error
		says string // how the error begins
	}{
		{"the server is done", func(_ *Conn, server *net.TCPConn) { _ = server.Close() }, io.EOF, "EOF"},
		{"the server resets", func(_ *Conn, server *net.TCPConn) { reset(server) }, syscall.ECONNRESET, "read tcp"},
		{"it is closed here", func(conn *Conn, _ *net.TCPConn) { _ = conn.Close() }, net.ErrClosed, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			client, server := dialled(t)
			conn := NewConn(client)
			var n int
			var err error
			var reader sync.WaitGroup
			reader.Go(func() { n, err = conn.Read(make([]byte, 1)) })
			test.end(conn, server.(*net.TCPConn))
			reader.Wait()
			if n != 0 || !errors.Is(err, test.want) || !strings.HasPrefix(err.Error(), test.says) {
				t.Errorf("%d bytes, error %v; want %v, which begins with %q", n, err, test.want, test.says)
			}
		})
	}
}

// reset closes a connection so that the other end sees a reset.
func reset(conn *net.TCPConn) {
	_ = conn.SetLinger(0)
	_ = conn.Close()
}

// dialled returns both ends of a connection through this machine's sockets.
func dialled(t *testing.T) (client, server net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err = net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err = listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, server
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
