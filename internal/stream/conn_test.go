package stream

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestConnTimestampsEachRead holds that where the kernel gives no timestamps each read has one
// of its own, taken when it returned.
func TestConnTimestampsEachRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		conn := NewConn(client)
		defer conn.Close()
		start := time.Now()
		go func() {
			for _, text := range []string{"one", "two"} {
				time.Sleep(time.Second)
				_, _ = io.WriteString(server, text)
			}
			_ = server.Close()
		}()
		buf := make([]byte, 64)
		for i, want := range []string{"one", "two"} {
			n, err := conn.Read(buf)
			if string(buf[:n]) != want || err != nil {
				t.Errorf("read %d: %q, %v; want %q alone", i, buf[:n], err, want)
			}
			timestamp := conn.Last()
			if timestamp.Read != uint64(i+1) || timestamp.At.Sub(start) != time.Duration(i+1)*time.Second || timestamp.Kernel {
				t.Errorf("read %d: timestamp %+v", i, timestamp)
			}
		}
		before := conn.Last()
		if n, err := conn.Read(buf); n != 0 || !errors.Is(err, io.EOF) || conn.Last() != before {
			t.Errorf("at the end: %d bytes, %v, timestamp %+v", n, err, conn.Last())
		}
	})
}

// TestConnEnds holds why a read ends that waits: the server is done, it reset the connection, or it is closed here.
func TestConnEnds(t *testing.T) {
	for want, end := range map[error]func(conn *Conn, server *net.TCPConn){
		io.EOF:             func(_ *Conn, server *net.TCPConn) { _ = server.Close() },
		syscall.ECONNRESET: func(_ *Conn, server *net.TCPConn) { _ = server.SetLinger(0); _ = server.Close() },
		net.ErrClosed:      func(conn *Conn, _ *net.TCPConn) { _ = conn.Close() },
	} {
		client, server := dialled(t)
		conn := NewConn(client)
		failed := make(chan error)
		go func() {
			_, err := conn.Read(make([]byte, 1))
			failed <- err
		}()
		end(conn, server.(*net.TCPConn))
		err, op := <-failed, new(net.OpError)
		if !errors.Is(err, want) || errors.Is(want, syscall.ECONNRESET) && (!errors.As(err, &op) || op.Op != "read") {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// dialled returns both ends of a connection through this machine's sockets.
func dialled(t *testing.T) (client, server net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if client, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = client.Close(), server.Close() })
	return client, server
}
