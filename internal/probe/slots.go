package probe

import (
	"slices"
	"sync"
	"time"
)

// slots are the probes of one target that may be in flight at once. They are safe for concurrent
// use.
type slots struct {
	limit int

	mu      sync.Mutex
	started []time.Time // of the probes in flight, oldest first
}

// take takes a slot for a probe that starts now. ok is false if all are taken.
func (s *slots) take(now time.Time) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.started) >= s.limit {
		return nil, false
	}
	s.started = append(s.started, now)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if i := slices.Index(s.started, now); i >= 0 {
			s.started = slices.Delete(s.started, i, i+1)
		}
	}, true
}

func (s *slots) inFlight() (n int, oldest time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.started) == 0 {
		return 0, time.Time{}
	}
	return len(s.started), s.started[0]
}
