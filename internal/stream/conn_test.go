package stream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// TestConnStampsWhileNobodyReads holds that a stamp is the arrival, not the
// moment at which somebody came to read.
func TestConnStampsWhileNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		conn := NewConn(client)
		defer conn.Close()
		start := time.Now()
		for _, text := range []string{"one", "two"} {
			time.Sleep(time.Second)
			if _, err := io.WriteString(server, text); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		for i, want := range []string{"one", "two"} {
			buf := make([]byte, 64)
			n, err := conn.Read(buf)
			stamp := conn.Last()
			if string(buf[:n]) != want || err != nil {
				t.Errorf("read %d: %q, %v; want %q alone", i, buf[:n], err, want)
			}
			if stamp.Read != uint64(i+1) || stamp.At.Sub(start) != time.Duration(i+1)*time.Second {
				t.Errorf("read %d: stamp %d at %v", i, stamp.Read, stamp.At.Sub(start))
			}
		}
	})
}

func TestConnReturnsDataBeforeTheError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		conn := NewConn(client)
		go func() {
			_, _ = io.WriteString(server, "last words")
			_ = server.Close()
		}()
		synctest.Wait()
		got, err := io.ReadAll(conn)
		if string(got) != "last words" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		_ = conn.Close()
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// TestConnLeavesTheSocketAloneWhenFull holds that a server that sends without
// end to a client that does not read is stopped, and nothing is lost.
func TestConnLeavesTheSocketAloneWhenFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		conn := NewConn(client)
		sent := make(chan int, 1)
		go func() {
			total := 0
			for range 100 {
				n, _ := server.Write(bytes.Repeat([]byte("x"), 32<<10))
				total += n
			}
			_ = server.Close()
			sent <- total
		}()
		synctest.Wait()
		if held := len(conn.pending); held > maxPending+32<<10 {
			t.Errorf("%d bytes held, limit %d", held, maxPending)
		}
		got, err := io.ReadAll(conn)
		if err != nil || len(got) != <-sent || len(got) != 100*32<<10 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		_ = conn.Close()
	})
}

// TestConnDoesNotGrow holds that a reader who is always a little behind does not
// make the connection keep all that it has read.
func TestConnDoesNotGrow(t *testing.T) {
	conn := &Conn{}
	conn.changed.L = &conn.mu
	part := bytes.Repeat([]byte("x"), 32<<10)
	conn.keep(part, Stamp{Read: 1}, nil)
	for n := uint64(2); n < 1000; n++ {
		conn.keep(part, Stamp{Read: n}, nil)
		if _, err := io.ReadFull(conn, make([]byte, len(part))); err != nil || conn.Last().Read != n-1 {
			t.Fatalf("read %d: %v", conn.Last().Read, err)
		}
	}
	if size := cap(conn.pending); size > 512<<10 {
		t.Errorf("%d bytes kept for %d unread", size, len(conn.pending)-conn.head)
	}
}

func TestConnCloseEndsAWaitingRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := net.Pipe()
		conn := NewConn(client)
		failed := make(chan error)
		go func() {
			_, err := conn.Read(make([]byte, 1))
			failed <- err
		}()
		synctest.Wait()
		_ = conn.Close()
		if err := <-failed; !errors.Is(err, net.ErrClosed) {
			t.Errorf("read after Close: %v", err)
		}
	})
}

// BenchmarkConn is what a token frame costs from the socket to its stamped
// bytes: reading, keeping and handing on.
func BenchmarkConn(b *testing.B) {
	conn := NewConn(&replay{text: []byte(chunkFrame)})
	defer conn.Close()
	buf := make([]byte, 4096)
	b.SetBytes(int64(len(chunkFrame)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Read(buf); err != nil {
			b.Fatal(err)
		}
	}
}

// replay is a connection on which the same frame arrives for ever.
type replay struct {
	net.Conn
	text []byte
}

func (r *replay) Read(p []byte) (int, error) {
	return copy(p, r.text), nil
}

func (r *replay) Close() error { return nil }
