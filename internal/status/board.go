// Package status keeps the last results of each target in memory and shows them. Targets come in through [Board.Set],
// their results through [Board.Record]. They go out as a page, as JSON below /api/v1/, and as the health of the prober:
// see [Board.Register].
//
// Its statistics are those of package report over the results of the last hour. Longer times are left to the metrics.
//
// Begin reading at [Board], then at history, which decides what is kept, and at view, which is a target as it is shown.
package status

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
)

// A Board holds the last results of each target. It is safe for concurrent use.
type Board struct {
	started  time.Time
	version  string
	vantage  string
	links    Links
	ready    atomic.Bool
	rejected atomic.Pointer[Rejection] // nil if the present configuration is valid

	mu        sync.Mutex // guards histories
	histories []*history // in the order in which their targets were first set
}

// NewBoard returns a board without targets that is not ready yet. The page shows version, the time since started, and
// the vantage: where the prober stands, empty if nobody said.
func NewBoard(started time.Time, version, vantage string, links Links) *Board {
	return &Board{started: started, version: version, vantage: vantage, links: links}
}

// Set adds a target. If its name is known, Set replaces its description and keeps its results.
func (b *Board) Set(t probe.Description) {
	t.Objectives = slices.Clone(t.Objectives)
	t.Notes = append([]string{}, t.Notes...)
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.history(t.Name)
	if h == nil {
		h = b.add(t.Name)
	}
	h.target, h.problems, h.rejectedSince = t, nil, time.Time{}
	h.disabledSince = sinceWhen(t.Disabled, h.disabledSince, time.Now())
}

// RejectTarget shows that a target is not probed because its settings have problems, until it is set or removed. If its
// name is known, its results stay.
func (b *Board) RejectTarget(name string, labels map[string]string, problems usage.Problems) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.history(name)
	if h == nil {
		h = b.add(name)
	}
	h.target.Labels, h.problems = labels, problems
	h.rejectedSince = sinceWhen(true, h.rejectedSince, time.Now())
}

// add adds a target of which only the name is known. The lock is held.
func (b *Board) add(name string) *history {
	h := &history{
		target:  probe.Description{Name: name, Notes: []string{}},
		skipped: map[string]int{},
		cache:   &atomic.Pointer[cachedSummary]{},
		added:   time.Now(),
	}
	b.histories = append(b.histories, h)
	return h
}

// Remove forgets a target and its results. It ignores an unknown name.
func (b *Board) Remove(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.histories = slices.DeleteFunc(b.histories, func(h *history) bool { return h.target.Name == name })
}

// Skipped counts a slot in which a target was not probed. It ignores an unknown target.
func (b *Board) Skipped(target, reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.history(target)
	if h != nil {
		h.skipped[reason]++
	}
}

// SetReady sets whether /-/ready answers 200.
func (b *Board) SetReady(ready bool) { b.ready.Store(ready) }

// A Rejection is what the page says of a configuration that the prober does not use because it is wrong.
type Rejection struct {
	At          time.Time
	Consequence string // what the prober does instead
	Problem     string // no secrets; may have several lines
}

// SetRejection makes the page show that the present configuration is wrong; with nil, that it is valid.
func (b *Board) SetRejection(r *Rejection) { b.rejected.Store(r) }

// Record keeps a result. It copies what it needs, and ignores canceled probes and unknown targets.
func (b *Board) Record(r *probe.Result) {
	if r.Outcome == probe.Canceled {
		return
	}
	e := newEntry(r, b.placesOf(r.Target)) // without the lock, so that probes of other targets do not wait for it
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.history(r.Target)
	if h != nil {
		e.Labels = h.target.Labels
		e.judge(r, h.target.Objectives)
		h.add(e, shareOf(len(b.histories)))
	}
}

// placesOf returns where the settings of a target are written; nil if the target is not known.
func (b *Board) placesOf(target string) report.Places {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.history(target)
	if h == nil {
		return nil
	}
	return h.target.Places
}

// history returns the history of a target; nil if there is none. The lock is held.
func (b *Board) history(target string) *history {
	i := slices.IndexFunc(b.histories, func(h *history) bool { return h.target.Name == target })
	if i < 0 {
		return nil
	}
	return b.histories[i]
}

// copies returns the histories as they are now, so that no probe waits for arithmetic on them. Entries are shared.
func (b *Board) copies() []history {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]history, len(b.histories))
	for i, h := range b.histories {
		list[i] = *h
		list[i].ring, list[i].earlier = slices.Clone(h.ring), slices.Clone(h.earlier)
		list[i].skipped = maps.Clone(h.skipped)
	}
	return list
}
