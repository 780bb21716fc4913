package memconn

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// connected returns both ends of a connection.
func connected(t *testing.T, buffer int) (client, server net.Conn) {
	t.Helper()
	listener := Listen(buffer)
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- conn
	}()
	client, err := listener.Dial(t.Context(), "tcp", "anything:80")
	if err != nil {
		t.Fatal(err)
	}
	return client, <-accepted
}

// TestWhatIsWrittenIsRead holds that bytes arrive in order however small the buffer is, and that closing ends the
// stream after them.
func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, buffer := range []int{1, 7, 1 << 16} {
		synctest.Test(t, func(t *testing.T) {
			client, server := connected(t, buffer)
			sent := bytes.Repeat([]byte("0123456789"), 100)
			go func() {
				if n, err := client.Write(sent); n != len(sent) || err != nil {
					t.Errorf("wrote %d, %v", n, err)
				}
				_ = client.Close()
			}()
			got, err := io.ReadAll(server)
			if err != nil || !bytes.Equal(got, sent) {
				t.Errorf("buffer %d: read %d bytes, %v", buffer, len(got), err)
			}
		})
	}
}

// TestDeadlines holds that a read and a write end at their deadline, at once if it has passed, and go on after it was
// moved.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := connected(t, 1)
		begin := time.Now()
		expect := func(what string, err error, after time.Duration) {
			t.Helper()
			var timeout net.Error
			if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
				t.Errorf("%s: %v", what, err)
			}
			if took := time.Since(begin); took != after {
				t.Errorf("%s took %v, want %v", what, took, after)
			}
		}
		_ = client.SetDeadline(begin.Add(time.Second))
		_, err := client.Read(make([]byte, 1))
		expect("read", err, time.Second)
		_, err = client.Write([]byte("ab"))
		expect("write after its deadline", err, time.Second)

		_ = client.SetDeadline(begin.Add(time.Hour)) // and then moved while a reader waits
		go func() {
			time.Sleep(time.Second)
			_ = client.SetReadDeadline(begin.Add(3 * time.Second))
		}()
		_, err = client.Read(make([]byte, 1))
		expect("read with a moved deadline", err, 3*time.Second)

		_ = client.SetDeadline(time.Time{})
		go func() { _, _ = server.Write([]byte("x")) }()
		if n, err := client.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("read %d, %v without a deadline", n, err)
		}
	})
}

// TestClose holds what either end gets after the other closed, and that a closed listener refuses.
func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := connected(t, 10)
		_, _ = server.Write([]byte("last"))
		_ = server.Close()
		if got, err := io.ReadAll(client); string(got) != "last" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		for name, end := range map[string]net.Conn{"client": client, "server": server} {
			if _, err := end.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("%s: write after close: %v", name, err)
			}
		}

		listener := Listen(1)
		_ = listener.Close()
		if _, err := listener.Dial(t.Context(), "", ""); !errors.Is(err, net.ErrClosed) {
			t.Errorf("dial of a closed listener: %v", err)
		}
		if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept of a closed listener: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := Listen(1).Dial(ctx, "", ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial that nobody accepts: %v", err)
		}
	})
}

// TestManyConnectionsUnderRace opens connections and lets their deadlines pass from many goroutines of one bubble. With
// timers of zero length, this crashes the race detector of Go 1.26.
func TestManyConnectionsUnderRace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 100 {
					client, server := connected(t, 16)
					_ = client.SetReadDeadline(time.Now())
					if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Error(err)
					}
					_, _ = client.Close(), server.Close()
				}
			})
		}
		all.Wait()
	})
}
