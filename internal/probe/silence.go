package probe

import (
	"context"
	"sync/atomic"
	"time"
)

// A silence ends a probe whose tokens have stopped coming. Its timer is not set anew at each
// token: when it ends, it looks how long the silence is.
type silence struct {
	limit time.Duration
	stop  context.CancelCauseFunc
	start time.Time
	last  atomic.Int64 // token, since start; 0: none yet
	timer *time.Timer
}

// watch calls stop when no token was heard for as long as limit, from the first token on
// and until ctx ends.
func watch(ctx context.Context, limit time.Duration, stop context.CancelCauseFunc) *silence {
	s := &silence{limit: limit, stop: stop, start: time.Now()}
	s.timer = time.AfterFunc(limit, func() { s.look(ctx) })
	s.timer.Stop()
	return s
}

// heard notes a token. It is called by one goroutine.
func (s *silence) heard(at time.Time) {
	if s.last.Swap(max(1, int64(at.Sub(s.start)))) == 0 {
		s.timer.Reset(s.limit - time.Since(at))
	}
}

// look ends the probe, or waits for what is left of the limit.
func (s *silence) look(ctx context.Context) {
	left := s.limit - time.Since(s.start.Add(time.Duration(s.last.Load())))
	switch {
	case ctx.Err() != nil:
	case left > 0:
		s.timer.Reset(left)
	default:
		s.stop(errStalled)
	}
}

// end ends the watch.
func (s *silence) end() { s.timer.Stop() }
