// Package status keeps the last results of each target in memory and shows them
// to people (the page) and to scripts (JSON), together with the health of the
// prober itself. Medians and quantiles of the results it happens to hold are all
// the statistics it ever does: history and rates are the metrics' business.
package status

import (
	"maps"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// A Board holds the last results of each target. It is safe for concurrent use.
type Board struct {
	started time.Time
	version string
	hint    func(*probe.Result) string
	ready   atomic.Bool

	mu        sync.Mutex // guards all below
	rejected  *Rejection // nil: the configuration as it is now is right
	names     []string   // in the order in which they were first set
	histories map[string]*history
	recorded  uint64 // results so far; numbers the entries
}

// NewBoard returns a board without targets that is not ready yet. The page shows
// version and the time since started. The function hint returns what to do about a
// failed result, in one sentence or empty; it does not retain the result, and may
// be nil.
func NewBoard(started time.Time, version string, hint func(*probe.Result) string) *Board {
	return &Board{started: started, version: version, hint: hint, histories: map[string]*history{}}
}

// Set adds a target or, if its name is known, replaces its description and keeps
// its results.
func (b *Board) Set(t probe.Description) {
	t.URL = redact(t.URL)
	t.Objectives = slices.Clone(t.Objectives)
	t.Notes = slices.Clone(t.Notes)
	b.mu.Lock()
	defer b.mu.Unlock()
	if h, ok := b.histories[t.Name]; ok {
		h.target = t
		return
	}
	b.names = append(b.names, t.Name)
	b.histories[t.Name] = newHistory(t)
}

// Remove forgets a target and its results. An unknown name is no mistake.
func (b *Board) Remove(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.histories, name)
	b.names = slices.DeleteFunc(b.names, func(n string) bool { return n == name })
}

// Skipped counts a slot in which the target was not probed. Unknown targets are
// ignored.
func (b *Board) Skipped(target, reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h, ok := b.histories[target]; ok {
		h.skipped[reason]++
	}
}

// SetReady says whether /-/ready answers 200.
func (b *Board) SetReady(ready bool) { b.ready.Store(ready) }

// A Rejection is a configuration that the prober was to take and found wrong.
type Rejection struct {
	At          time.Time
	Consequence string // what the prober does meanwhile
	Problem     string // no secrets; may have several lines
}

// SetRejected makes the page show that the configuration as it is now is wrong; nil
// says that it is right.
func (b *Board) SetRejected(r *Rejection) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rejected = r
}

func (b *Board) rejection() *Rejection {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rejected
}

// Record keeps what the board needs of r and no pointer to it. Canceled results
// and those of unknown targets are dropped.
func (b *Board) Record(r *probe.Result) {
	t, ok := b.target(r.Target)
	if !ok || r.Outcome == probe.Canceled {
		return
	}
	e := newEntry(r, t.Objectives, time.Now())
	if b.hint != nil && r.Outcome != probe.OK {
		e.hint = b.hint(r)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	h, ok := b.histories[r.Target]
	if !ok {
		return // removed meanwhile
	}
	b.recorded++
	e.number = b.recorded
	h.add(e, shareOf(len(b.names)))
}

func (b *Board) target(name string) (probe.Description, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h, ok := b.histories[name]
	if !ok {
		return probe.Description{}, false
	}
	return h.target, true
}

// A snapshot is one target at one moment. The entries are shared and only read.
type snapshot struct {
	target  probe.Description
	now     time.Time
	kept    []*entry // everything there is, oldest first
	recent  []*entry // those of the last hour, without failures that outlived the ring
	ring    []*entry // the last results, whatever their age, oldest first
	dropped bool     // ring had no room for all results
	skipped map[string]int
	summary summary

	inFlight int
	oldest   time.Duration // age of the oldest probe in flight; 0 if there is none
	state    state
}

// last is the latest result.
func (s *snapshot) last() (e *entry, ok bool) {
	if len(s.ring) == 0 {
		return nil, false
	}
	return s.ring[len(s.ring)-1], true
}

// window is the age up to which results count: an hour, or that of the oldest
// where older ones had no room.
func (s *snapshot) window() time.Duration {
	if s.dropped && len(s.recent) == len(s.ring) {
		return s.now.Sub(s.ring[0].at)
	}
	return window
}

// snapshots are all targets as they are now, in the order in which they were
// set. The arithmetic is done after the lock is released, so that readers never
// make a probe wait.
func (b *Board) snapshots() []snapshot {
	now := time.Now()
	list, caches := b.copies(now)
	for i := range list {
		s := &list[i]
		s.summary = caches[i].of(s.recent)
		if s.target.InFlight != nil {
			n, oldest := s.target.InFlight()
			if s.inFlight = n; n > 0 {
				s.oldest = max(0, now.Sub(oldest))
			}
		}
		s.state = s.judge()
	}
	return list
}

func (b *Board) copies(now time.Time) ([]snapshot, []*cache) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]snapshot, 0, len(b.names))
	caches := make([]*cache, 0, len(b.names))
	for _, name := range b.names {
		h := b.histories[name]
		list = append(list, snapshot{
			target: h.target, now: now,
			kept: h.kept(), recent: h.since(now.Add(-window)), ring: slices.Clone(h.ring),
			dropped: h.dropped, skipped: maps.Clone(h.skipped),
		})
		caches = append(caches, h.cache)
	}
	return list, caches
}

// redact hides the password of a URL; what is no URL stays as it is.
func redact(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.User == nil {
		return raw
	}
	return u.Redacted()
}
