package stream

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestConnStampsEachRead holds that where the kernel gives no stamps each read has one
// of its own, taken when it returned.
func TestConnStampsEachRead(t *testing.T) {
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
			stamp := conn.Last()
			if stamp.Read != uint64(i+1) || stamp.At.Sub(start) != time.Duration(i+1)*time.Second || stamp.Kernel {
				t.Errorf("read %d: stamp %+v", i, stamp)
			}
		}
		before := conn.Last()
		if n, err := conn.Read(buf); n != 0 || !errors.Is(err, io.EOF) || conn.Last() != before {
			t.Errorf("at the end: %d bytes, %v, stamp %+v", n, err, conn.Last())
		}
	})
}

func TestConnCloseEndsAWaitingRead(t *testing.T) {
	client, server := dialled(t)
	defer server.Close()
	conn := NewConn(client)
	failed := make(chan error)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		failed <- err
	}()
	_ = conn.Close()
	if err := <-failed; !errors.Is(err, net.ErrClosed) {
		t.Errorf("read after Close: %v", err)
	}
}

// dialled is a connection through this machine's sockets.
func dialled(t testing.TB) (client, server net.Conn) {
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

// BenchmarkConn is what a token frame costs from the socket to its stamped bytes, with
// stamps of the kernel, with those of the prober, and without any.
func BenchmarkConn(b *testing.B) {
	for _, bench := range []struct {
		name string
		wrap func(net.Conn) net.Conn
	}{
		{"Kernel", func(c net.Conn) net.Conn { return NewConn(c) }},
		{"User", func(c net.Conn) net.Conn { return NewConn(struct{ net.Conn }{c}) }},
		{"Bare", func(c net.Conn) net.Conn { return c }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			client, server := dialled(b)
			conn := bench.wrap(client)
			frame, buf := []byte(chunkFrame), make([]byte, 4096)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := server.Write(frame); err != nil {
					b.Fatal(err)
				}
				if _, err := conn.Read(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
