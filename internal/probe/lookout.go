package probe

import (
	"slices"
	"sync"
	"time"
)

// A lookout decides whether the next probe of a target looks at its socket while it waits, and from when on. A look
// that finds nothing is evidence of when an answer cannot have begun yet: see docs/decisions.md. It costs
// processor time, so that only those probes look whose forerunners read so late that the arrival of a token was not
// known.
type lookout struct {
	mu    sync.Mutex
	left  int             // number of the next probes that look
	waits []time.Duration // of the last probes for their first token: at most recentWaits, the newest last
}

const (
	firstLooks  = 4  // probes of a target that look because nothing is known of it
	needLooks   = 16 // probes that look after one that needed it
	recentWaits = 4
)

func newLookout() lookout { return lookout{left: firstLooks} }

// next decides for a probe that starts now. It returns the first part of the wait for an answer, in which none is
// expected and no look is worthwhile: a bit less than the shortest of the last waits. ok is false if the probe need not
// look at all.
func (l *lookout) next() (quiet time.Duration, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		return 0, false
	}
	l.left-- // now and not at the end: of many probes at once only so many look
	if len(l.waits) == 0 {
		return 50 * time.Millisecond, true // the first answer is looked for nearly all the time
	}
	return slices.Min(l.waits) * 17 / 20, true
}

// probed takes a probe that waited so long for its first token. blurred: the arrival of some token is not known.
func (l *lookout) probed(waited time.Duration, blurred bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits = append(l.waits, waited)
	if len(l.waits) > recentWaits {
		l.waits = slices.Delete(l.waits, 0, 1)
	}
	if blurred {
		l.left = needLooks
	}
}
