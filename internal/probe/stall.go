package probe

import (
	"context"
	"sync/atomic"
	"time"
)

// A stallTimer ends a probe whose tokens have stopped. It is not reset at each token, but looks back when it fires.
type stallTimer struct {
	limit time.Duration
	stop  context.CancelCauseFunc
	start time.Time
	last  atomic.Int64 // token, since start; 0: none yet
	timer *time.Timer
}

// newStallTimer calls stop when no token came for limit, from the first token on. Its timer is to be stopped.
func newStallTimer(ctx context.Context, limit time.Duration, stop context.CancelCauseFunc) *stallTimer {
	s := &stallTimer{limit: limit, stop: stop, start: time.Now()}
	s.timer = time.AfterFunc(limit, func() { s.fire(ctx) })
	s.timer.Stop()
	return s
}

// token notes a token's arrival. It is called by one goroutine.
func (s *stallTimer) token(at time.Time) {
	if s.last.Swap(max(1, int64(at.Sub(s.start)))) == 0 {
		s.timer.Reset(s.limit - time.Since(at))
	}
}

func (s *stallTimer) fire(ctx context.Context) {
	left := s.limit - time.Since(s.start.Add(time.Duration(s.last.Load())))
	switch {
	case ctx.Err() != nil:
	case left > 0:
		s.timer.Reset(left)
	default:
		s.stop(errStalled)
	}
}
