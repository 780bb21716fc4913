package probe

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/testing/memconn"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// TestALateReaderIsNoStall: frames that arrived long ago, because this process did not run meanwhile, are a healthy
// stream.
func TestALateReaderIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		chat := must(wire.Lookup("openai-chat"))
		r := &Result{}
		r.Start = time.Now().Add(-time.Hour)
		x := exchange{
			result: r, answer: newAnswer(r, Question{}), target: Target{Dialect: chat}, trace: &trace{},
			frames: framesIn("sse", strings.NewReader("")),
			stall:  newStallTimer(30*time.Second, cancel),
		}
		defer x.stall.end()
		frames := []string{token, token}
		x.read(ctx, func() (stream.Frame, error) {
			time.Sleep(20 * time.Second)
			if ctx.Err() != nil || len(frames) == 0 {
				return stream.Frame{}, io.EOF
			}
			data := frames[0]
			frames = frames[1:]
			old := stream.Arrival{At: time.Now().Add(-time.Minute), Kernel: true, Delay: time.Minute}
			return stream.Frame{Data: []byte(data), Arrival: old}, nil
		}, strings.NewReader(""))
		if ctx.Err() != nil || len(r.Timeline.Frames) != 2 {
			t.Errorf("%d tokens, canceled: %v", len(r.Timeline.Frames), ctx.Err())
		}
	})
}

// TestAStallEnds holds when the limit cancels: not before the first token, not after the end, and not when the timer
// itself fires so late that this process was not running.
func TestAStallEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 30 * time.Second
		start := time.Now()
		canceled := make(chan time.Duration, 1)
		s := newStallTimer(limit, func() { canceled <- time.Since(start) })
		time.Sleep(time.Hour)
		s.restart()
		time.Sleep(limit - 1)
		s.restart()
		s.mu.Lock()
		s.due = s.due.Add(-2 * limit / timing.Precision) // as if it fired so much later
		s.mu.Unlock()
		want := time.Hour + limit - 1 + limit + limit // anew when it fired late
		if got := <-canceled; got != want {
			t.Errorf("canceled after %v, want %v", got, want)
		}
		s.restart()
		s.end()
		time.Sleep(limit)
		s.fire() // as the timer does if it fires while the answer ends
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(canceled) > 0 {
			t.Error("canceled after its end")
		}
	})
}

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
		for i := range 2 {
			r := m.Probe(t.Context(), question(5))
			endsAs(t, r, Timeout, "did not return")
			if want := 11500 * ms; r.Elapsed != want {
				t.Errorf("probe %d took %v, want %v", i, r.Elapsed, want)
			}
			equal(t, "source of tokens", FromNothing, r.Source)
			equal(t, "cache", CacheUnknown, r.Cache)
			equal(t, "server", target.Server.Name, r.Server)
			if errors.Unwrap(r.Err) != nil {
				t.Errorf("the error wraps %v", errors.Unwrap(r.Err))
			}
		}
		equal(t, "left behind", 2, m.Stuck())
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
