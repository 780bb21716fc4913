package probe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/testing/memconn"
	"github.com/llm-prober/prober/internal/wire"
)

// A stuckConn is a connection whose Read does not return once it is closed, until it is released. So a request hangs as it
// does where net/http waits for itself. (For its lock a bubble would wait as well.)
type stuckConn struct {
	net.Conn
	released <-chan struct{}
}

func (c stuckConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		<-c.released
	}
	return n, err
}

// TestARequestThatDoesNotReturnIsLeftBehind holds that whatever hangs the HTTP client ends no later than a moment after
// its limit, that at most two requests are left behind, that slots are skipped then, and that all goes on once they
// have returned.
func TestARequestThatDoesNotReturnIsLeftBehind(t *testing.T) {
	inBubble(t, "probes", func(t *testing.T) {
		memory := memconn.Listen(memconn.Buffer)
		memconn.ServeOn(t, &http.Server{Handler: http.HandlerFunc(tokens(1, ms).hangs().stream)}, memory)
		released := make(chan struct{})
		dials := 0
		target := newTarget(func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			conn, err := memory.Dial(ctx, network, address)
			return stuckConn{conn, released}, err
		})
		target.Timeout = 10 * time.Second
		target.Stall = time.Minute
		target.Server = must(wire.LookupServer("vllm"))
		m := NewMember(target, "m", 1)
		m.known.Identified = true // so that nothing but the probe is sent
		for i := range mostStuck {
			r := m.Probe(t.Context(), question(5))
			endsAs(t, r, Timeout, "did not return")
			if want := target.Timeout + patience; r.Elapsed != want {
				t.Errorf("probe %d took %v, want %v", i, r.Elapsed, want)
			}
			equal(t, "source of tokens", FromNothing, r.Source)
			equal(t, "cache", CacheUnknown, r.Cache)
			equal(t, "server", target.Server.Name, r.Server)
			if errors.Unwrap(r.Err) != nil {
				t.Errorf("the error wraps %v", errors.Unwrap(r.Err))
			}
		}
		equal(t, "left behind", mostStuck, m.Stuck())
		equal(t, "slots are skipped", SkipStuck, m.Skipping())
		before := dials
		endsAs(t, m.Probe(t.Context(), question(5)), Timeout, "did not return")
		_, _, err := target.metadata(t.Context(), http.MethodGet, "/health", nil, question(5).Ask)
		if err == nil || dials != before {
			t.Errorf("%d requests more, and %v", dials-before, err)
		}
		close(released)
		time.Sleep(time.Nanosecond)
		equal(t, "left behind after they returned", 0, m.Stuck())
		equal(t, "no slot is skipped", Skip(""), m.Skipping())
	})
	inBubble(t, "a panic", func(t *testing.T) {
		defer func() {
			p, ok := recover().(panicValue)
			if !ok || p.value != "ours" || len(p.stack) == 0 {
				t.Errorf("panicked with %v", p)
			}
		}()
		new(stuckCount).bounded(t.Context(), func() { panic("ours") })
		t.Error("no panic")
	})
}
