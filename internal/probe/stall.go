package probe

import (
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/timing"
)

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
