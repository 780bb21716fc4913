package probe

import (
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/stream"
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
			stall: newStallTimer(30*time.Second, cancel),
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
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(canceled) > 0 {
			t.Error("canceled after its end")
		}
	})
}
