package probe

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llm-prober/prober/internal/timing"
)

// This file holds what ends a request that its server does not end: a stallTimer between two tokens, a stuckCount where
// the HTTP client itself hangs. The limit of the whole probe is a context: see [Target.probe].

// A stallTimer cancels a probe if no token frame is read for too long. It counts from when a frame was read and not
// from when it arrived: after a pause of the whole machine the frames that waited meanwhile are old, although the
// stream is healthy.
type stallTimer struct {
	limit  time.Duration
	cancel func()

	mu    sync.Mutex
	timer *time.Timer // nil before the first token frame
	due   time.Time   // when the timer is to fire
	ended bool
}

func newStallTimer(limit time.Duration, cancel func()) *stallTimer {
	return &stallTimer{limit: limit, cancel: cancel}
}

// restart notes that a token frame was read just now.
func (s *stallTimer) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start()
}

// endWithin cancels the probe after another limit, whether or not a token frame has come: its answer has ended.
func (s *stallTimer) endWithin(limit time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit
	s.start()
}

// start starts the timer, or starts it again. The caller holds the lock.
func (s *stallTimer) start() {
	s.due = time.Now().Add(s.limit)
	if s.timer == nil {
		s.timer = time.AfterFunc(s.limit, s.fire)
	} else {
		s.timer.Reset(s.limit)
	}
}

// fire cancels the probe. But a timer that fires much too late shows that this process was not running: frames may have
// arrived in that time and wait to be read. So the limit starts again.
func (s *stallTimer) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := time.Since(s.due)
	switch {
	case s.ended || late < 0: // restarted while it fired
	case late > s.limit/timing.Precision:
		s.start()
	default:
		s.cancel()
	}
}

// end stops the timer for good.
func (s *stallTimer) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// A stuckCount counts requests of a target that did not return at their limit. A request ends with its context, but a
// server can hang the HTTP client itself: for net/http of Go 1.26 two frames of HTTP/2 are enough. Such a request is
// left behind with its goroutine and its connection, so that it holds up no probe, no reload and no shutdown. The zero
// value has counted nothing.
type stuckCount struct{ n atomic.Int32 }

const (
	mostStuck = 2                       // requests of a target that may be left behind: then no more are sent
	patience  = 1500 * time.Millisecond // how long after its limit a request may take to return
)

func (s *stuckCount) full() bool { return s.n.Load() >= mostStuck }

// bounded calls do, which is a request that ends with ctx, and waits for it. ok is false if it did not return soon
// after ctx was done, and all that it works with belongs to it from then on; or if it was not called, because too many
// are left behind already. A panic of do is one of the caller.
func (s *stuckCount) bounded(ctx context.Context, do func()) (ok bool) {
	if s.full() {
		return false
	}
	returned := make(chan *panicValue, 1)
	go func() {
		defer func() {
			value := recover()
			if value == nil {
				returned <- nil
				return
			}
			returned <- &panicValue{value: value, stack: debug.Stack()}
		}()
		do()
	}()
	var panicked *panicValue
	select {
	case panicked = <-returned:
	case <-ctx.Done():
		select {
		case panicked = <-returned:
		case <-time.After(patience):
			s.n.Add(1)
			go func() {
				<-returned
				s.n.Add(-1)
			}()
			return false
		}
	}
	if panicked != nil {
		panic(*panicked)
	}
	return true
}

// A panicValue is a panic of another goroutine, with the stack of that.
type panicValue struct {
	value any
	stack []byte
}

func (p panicValue) String() string { return fmt.Sprintf("%v\n%s", p.value, p.stack) }
