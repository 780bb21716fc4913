package sim

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewListener()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Dial(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("dial that is not accepted: %v", err)
		}
		accepted := make(chan net.Conn, 1)
		go func() {
			c, _ := l.Accept()
			accepted <- c
		}()
		near, err := l.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		far := <-accepted
		go func() { _, _ = far.Write([]byte("hello")); far.Close() }()
		if got, err := io.ReadAll(near); string(got) != "hello" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		near.Close()
	})
}

func TestCloseUnblocksTheListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting, other := NewListener(), NewListener()
		errs := make(chan error, 2)
		go func() { _, err := waiting.Accept(); errs <- err }()
		go func() { _, err := other.Dial(t.Context()); errs <- err }()
		synctest.Wait()
		waiting.Close()
		if err := <-errs; !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept: %v, want net.ErrClosed", err)
		}
		other.Close()
		if err := <-errs; !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial: %v, want a refused connection", err)
		}
		if _, err := waiting.Dial(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial later: %v", err)
		}
		if err := waiting.Close(); err != nil {
			t.Errorf("second close: %v", err)
		}
	})
}
