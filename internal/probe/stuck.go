package probe

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// A stuckCount counts requests of a target that did not return at their limit. A request ends with its context, but a
// server can hang the HTTP client itself: for net/http of Go 1.26 two frames of HTTP/2 are enough. Such a request is
// left behind with its goroutine and its connection, so that it holds up no probe, no reload and no shutdown. The zero
// value has counted nothing.
type stuckCount struct{ n atomic.Int32 }

const (
	mostStuck = 2                       // requests of a target that may be left behind: then no more are sent
	patience  = 1500 * time.Millisecond // how long after its limit a request may take to return
)

// full reports whether so many requests are left behind that no more may be sent.
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
