package status

import "time"

// A state is how a target is now, in a word.
type state string

// The states, worst first.
const (
	failing state = "failing" // the last result is not ok
	hanging state = "hanging" // a probe has been under way for too long
	waiting state = "waiting" // there is no result yet
	fine    state = "ok"      // the last result is ok
)

// longWait is how long a probe may be under way before its target hangs, where
// nothing better is known.
const longWait = 10 * time.Second

// judge finds the state. Hanging comes first: it is what happens now, while the
// last result is the past.
func (s *snapshot) judge() state {
	last, ok := s.last()
	switch {
	case s.inFlight > 0 && s.oldest > s.patience():
		return hanging
	case !ok:
		return waiting
	case !last.ok():
		return failing
	}
	return fine
}

// patience is how long a probe may be under way before the target counts as
// hanging: twice the 95th percentile of the last hour's E2EL, but no less than
// half an interval or 10 s, whichever is shorter. So a server that just is slow
// does not hang, and one that hangs shows it in the first probe after the fault.
// Without a success in the last hour it is 10 s.
func (s *snapshot) patience() time.Duration {
	p95 := s.summary.e2el.P95
	if p95 == nil {
		return longWait
	}
	least := longWait
	if s.target.Interval > 0 {
		least = min(least, s.target.Interval/2)
	}
	return max(least, time.Duration(2**p95*float64(time.Second)))
}
