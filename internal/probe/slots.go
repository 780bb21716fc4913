package probe

import (
	"slices"
	"sync"
	"time"
)

// Slots are the probes of one target that may be under way at once. They are
// safe for concurrent use.
type Slots struct {
	limit int

	mu      sync.Mutex
	started []time.Time // of the probes under way, oldest first
}

// NewSlots returns free slots for limit probes.
func NewSlots(limit int) *Slots { return &Slots{limit: limit} }

// Take takes a slot for a probe that starts now. ok is false, and there is
// nothing to release, if all are taken.
func (s *Slots) Take(now time.Time) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.started) >= s.limit {
		return nil, false
	}
	s.started = append(s.started, now)
	return func() { s.release(now) }, true
}

func (s *Slots) release(started time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.started, started); i >= 0 {
		s.started = slices.Delete(s.started, i, i+1)
	}
}

// InFlight is the number of probes under way and the start of the oldest: the
// zero time if there is none.
func (s *Slots) InFlight() (n int, oldest time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.started) == 0 {
		return 0, time.Time{}
	}
	return len(s.started), s.started[0]
}
