package stream

import (
	"net"
	"slices"
	"sync"
	"time"
)

// This file holds looks. A read that waits is interrupted now and then to look at the socket. A look that finds it
// empty proves that nothing has arrived so far. If the reader then loses its processor and finds several packets
// together, all of them came after the last look: TTFT is known well enough, although the arrival of the first packet
// is not. docs/decisions.md says what looks earn.
//
// A look costs up to 200 µs of processor time where the process sleeps otherwise. So only some requests are watched,
// none before its answer is expected, and there are few looks while bytes come as usual:
//
//	request                      expected              first token           gap
//	   |------------ quiet ---------|.....|.....|......|  |  |  |----------|.|.|.|..|
//	                                  looks: each 1/40    reads  10 × usual  looks
//	                                  of the wait so far

// A Lookout decides which requests to a target are watched, and from when on: the first ones, and those after one that
// was read so late that the arrival of a token was not known. It is safe for concurrent use.
type Lookout struct {
	mu    sync.Mutex
	left  int             // number of the next requests that are watched
	waits []time.Duration // of the last recentWaits answers until their first token, the newest last
}

const (
	firstWatched = 4  // requests that are watched because nothing is known of the target
	needWatched  = 16 // requests that are watched after one that needed it
	recentWaits  = 4
)

// NewLookout returns the lookout of a target that has not been asked anything yet.
func NewLookout() *Lookout { return &Lookout{left: firstWatched} }

// Watch returns the watch of a request that is about to be sent; nil if the request need not be watched. The number of
// requests that are watched at once is limited.
func (l *Lookout) Watch() *Watch {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == 0 {
		return nil
	}
	l.left--
	if len(l.waits) == 0 {
		return &Watch{quiet: 50 * time.Millisecond} // the first answer is looked for nearly all the time
	}
	return &Watch{quiet: slices.Min(l.waits) * 17 / 20} // a bit less than the shortest of the last waits
}

// Answered takes how long a request, watched or not, waited for its first token. isBlurred: the arrival of some token
// is not known.
func (l *Lookout) Answered(waited time.Duration, isBlurred bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits = append(l.waits, waited)
	if len(l.waits) > recentWaits {
		l.waits = slices.Delete(l.waits, 0, 1)
	}
	if isBlurred {
		l.left = needWatched
	}
}

// A Watch is the wait for one answer, in which the connection looks at its socket. A nil Watch does nothing. It is safe
// for concurrent use.
type Watch struct {
	quiet time.Duration // the first part of the wait, in which no answer is expected and there are no looks

	mu    sync.Mutex
	conn  *Conn // that the request was sent on; nil until then
	ended bool
}

// Begin begins the wait for the answer to a request that was started at a moment, and is about to be sent on a
// connection. Where the kernel gives no timestamps there are no looks: they would prove nothing.
func (w *Watch) Begin(c *Conn, started time.Time) {
	if w == nil || c.receive == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return
	}
	w.conn = c
	c.looks.change(func(s *lookSchedule) { s.begin(started, w.quiet) })
}

// AnswerBegan ends the wait for the first token. From now on, only a read that waits for unusually long is interrupted.
func (w *Watch) AnswerBegan() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn != nil && !w.ended {
		w.conn.looks.change(func(s *lookSchedule) { s.answerBegan(time.Now()) })
	}
}

// End ends the looks: a connection that waits for nothing wakes nobody.
func (w *Watch) End() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	if w.conn != nil {
		w.conn.looks.change(func(s *lookSchedule) { *s = lookSchedule{} })
	}
}

// A lookSchedule says when a read that waits is interrupted. The first wait is the one for an answer to begin, however
// many reads it takes. After that, each read begins a new wait, with no look until it is unusually long.
type lookSchedule struct {
	on    bool
	begun bool            // the answer has begun: the first wait is over
	from  time.Time       // when the current wait began
	quiet time.Duration   // the first part of the current wait, without looks
	gaps  []time.Duration // the last recentGaps gaps between reads, in any order
	next  int             // index in gaps of the one that is replaced next
}

const (
	minLook    = time.Millisecond // the shortest time between two looks
	lookPart   = 40               // looks are 1/40 of the time waited so far apart
	recentGaps = 8
	longGap    = 10 // there are looks in a gap that is longer than this many usual ones
)

// begin begins the first wait.
func (s *lookSchedule) begin(from time.Time, quiet time.Duration) {
	*s = lookSchedule{on: true, from: from, quiet: quiet, gaps: make([]time.Duration, 0, recentGaps)}
}

// answerBegan ends the first wait, and begins the wait for the next read.
func (s *lookSchedule) answerBegan(now time.Time) {
	s.begun = true
	s.from = now
	s.quiet = 0
}

// readSome notes that a read brought bytes.
func (s *lookSchedule) readSome(now time.Time) {
	if !s.on || !s.begun {
		return
	}
	gap := now.Sub(s.from)
	if len(s.gaps) < recentGaps {
		s.gaps = append(s.gaps, gap)
	} else {
		s.gaps[s.next] = gap
		s.next = (s.next + 1) % recentGaps
	}
	s.from = now
	s.quiet = longGap * s.usualGap()
}

// usualGap returns the second longest of the last gaps, so that one pause does not hide the next; 0 if fewer than two
// are known.
func (s *lookSchedule) usualGap() time.Duration {
	var longest, second time.Duration
	for _, gap := range s.gaps {
		second = max(second, min(gap, longest))
		longest = max(longest, gap)
	}
	return second
}

// nextLook returns when a read that waits is to be interrupted next; zero if it is not.
func (s *lookSchedule) nextLook(now time.Time) time.Time {
	isUsualUnknown := s.begun && s.quiet == 0 // gaps are not interrupted before it is known how long they usually are
	if !s.on || isUsualUnknown {
		return time.Time{}
	}
	waited := now.Sub(s.from)
	return now.Add(max(s.quiet-waited, waited/lookPart, minLook))
}

// looks interrupts the reads of one connection, by a read deadline. The deadline of the connection's user keeps
// its meaning.
type looks struct {
	conn net.Conn // beneath

	mu       sync.Mutex
	schedule lookSchedule
	at       time.Time // when a read that waits is interrupted; zero if it is not
	owner    time.Time // the owner's deadline; zero for none
	set      time.Time // the deadline that was set on conn; zero for none
}

// change changes the schedule, even for a read that is waiting already.
func (l *looks) change(change func(*lookSchedule)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.schedule)
	l.plan(time.Now())
}

// beforeRead decides when a read that begins now is to be interrupted. A look that is planned already stays, although
// the wait has begun anew: it costs less to look once too early than to set a deadline for each read.
func (l *looks) beforeRead() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if !l.at.After(now) {
		l.plan(now)
	}
}

// afterRead notes that a read brought bytes.
func (l *looks) afterRead(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.schedule.readSome(now)
}

// plan plans the next look. The caller holds the lock.
func (l *looks) plan(now time.Time) {
	l.at = l.schedule.nextLook(now)
	if !l.deadline().Equal(l.set) {
		_ = l.setDeadline() // if this fails, so does the next read
	}
}

// setOwner sets the owner's deadline.
func (l *looks) setOwner(deadline time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owner = deadline
	return l.setDeadline()
}

// deadline returns the owner's deadline or the next look, whichever is earlier; zero if there is neither.
func (l *looks) deadline() time.Time {
	isOwnerFirst := !l.owner.IsZero() && l.owner.Before(l.at)
	if l.at.IsZero() || isOwnerFirst {
		return l.owner
	}
	return l.at
}

// setDeadline sets the deadline of the connection beneath. The caller holds the lock, so that a deadline which is set
// while a read waits is never lost.
func (l *looks) setDeadline() error {
	l.set = l.deadline()
	return l.conn.SetReadDeadline(l.set)
}

// isExpired reports whether the owner's deadline has passed. If not, a read that met its deadline was interrupted for a
// look.
func (l *looks) isExpired() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.owner.IsZero() && !time.Now().Before(l.owner)
}
