// Package status keeps the last results of each target in memory and shows them. Targets come in through [Board.Set],
// their results through [Board.Record]. They go out as a page, as JSON below /api/v1/, and as the health of the prober:
// see [Board.Register].
//
// Its statistics are those of package report over the results of the last hour. Longer times are left to the metrics.
//
// Results come in through board.go: entry.go is one of them as it is kept, history.go decides how long. state.go says
// how a target is: objective.go which of its objectives are missed, slowdown.go whether it takes longer than usual.
// view.go is all that is shown of a prompt at one moment, and target.go what is shown of a target with all its prompts:
// as JSON by api.go and json.go, and as a page by page.go, fleet.go (many targets), plot.go (bars and strips) and
// probe.go (one probe). The pages are written by the templates.
package status

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
)

// A Board holds the last results of each target. It is safe for concurrent use.
type Board struct {
	Simulated bool // are all servers, so that nothing is paid for their tokens; it is set before the page is served

	started  time.Time
	version  string
	vantage  string
	links    Links
	ready    atomic.Bool
	rejected atomic.Pointer[Rejection] // nil if the present configuration is valid
	sources  atomic.Pointer[[]FailedSource]

	mu        sync.Mutex // guards histories
	histories []*history // in the order in which their targets were first set; the prompts of a target stand together
}

// NewBoard returns a board without targets that is not ready yet. The page shows version, the time since started, and
// the vantage: where the prober stands, empty if nobody said.
func NewBoard(started time.Time, version, vantage string, links Links) *Board {
	return &Board{started: started, version: version, vantage: vantage, links: links}
}

// Set adds a prompt of a target. If it is known, Set replaces its description and keeps its results.
func (b *Board) Set(t probe.Description) {
	t.Objectives = slices.Clone(t.Objectives)
	t.Notes = append([]string{}, t.Notes...)
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.historyOrNew(t.Name, t.Prompt)
	if asksOtherwise(h.target, t) {
		h.usual = &usual{}
		h.health = health{}
	}
	h.target, h.problems, h.rejectedSince = t, nil, time.Time{}
	h.disabledSince = sinceWhen(t.Disabled, h.disabledSince, time.Now())
	h.assess()
}

// asksOtherwise reports whether what is usual for one description of a target need not be so for another one.
func asksOtherwise(before, now probe.Description) bool {
	return before.URL != now.URL || !before.AsksTheSame(now)
}

// RejectTarget shows that a target is not probed because its settings have problems, until it is set or removed. If its
// name is known, its results stay.
func (b *Board) RejectTarget(name string, labels map[string]string, problems usage.Problems) {
	b.mu.Lock()
	defer b.mu.Unlock()
	isKnown := false
	for _, h := range b.histories {
		if h.target.Name == name {
			isKnown = true
			h.reject(labels, problems)
		}
	}
	if !isKnown {
		b.historyOrNew(name, "").reject(labels, problems)
	}
}

func (h *history) reject(labels map[string]string, problems usage.Problems) {
	h.target.Labels, h.problems = labels, problems
	h.rejectedSince = cmp.Or(h.rejectedSince, time.Now())
}

// Remove forgets a prompt of a target and its results. It ignores unknown names.
func (b *Board) Remove(target, prompt string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.histories = slices.DeleteFunc(b.histories, func(h *history) bool {
		return h.target.Name == target && h.target.Prompt == prompt
	})
}

// RemoveTarget forgets all prompts of a target.
func (b *Board) RemoveTarget(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.histories = slices.DeleteFunc(b.histories, func(h *history) bool { return h.target.Name == name })
}

// Skipped counts a slot in which a prompt of a target was not asked. It ignores an unknown one.
func (b *Board) Skipped(target, prompt, reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.history(target, prompt)
	if h == nil {
		return
	}
	h.skipped[reason]++
	h.health.skipped(reason, h.target.Interval)
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

// A FailedSource is what the page says of a source of targets (http_sd) whose last request failed.
type FailedSource struct {
	URL     string // no secrets
	Problem string // no secrets
	Since   time.Time
	Targets int // of its last list, which are still probed
}

// SetFailedSources makes the page show these sources, and no others.
func (b *Board) SetFailedSources(all []FailedSource) { b.sources.Store(&all) }

// Record keeps a result, and returns why it is worth a look: see [history.notable]. It copies what it needs. It ignores
// canceled probes and unknown targets.
func (b *Board) Record(r *probe.Result) (notable []string) {
	if r.Outcome == probe.Canceled {
		return nil
	}
	target, isKnown := b.description(r.Target, r.Prompt)
	if !isKnown {
		return nil
	}
	e := newEntry(r, target) // without the lock, so that probes of other targets do not wait for it

	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.history(r.Target, r.Prompt)
	if h == nil {
		return nil // it was removed meanwhile
	}
	e.At = time.Now() // with the lock, so that entries are in the order of their times
	e.Notable = h.notable(e)
	h.add(e, shareOf(len(b.histories)))
	h.usual.add(e)
	h.assess()
	h.health.add(e, h.condition.e2el, h.target)
	return e.Notable
}

// description returns the description of a prompt of a target. ok is false if there is none.
func (b *Board) description(target, prompt string) (d probe.Description, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.history(target, prompt)
	if h == nil {
		return probe.Description{}, false
	}
	return h.target, true
}

// history returns the history of a prompt of a target; nil if there is none. The lock is held.
func (b *Board) history(target, prompt string) *history {
	i := slices.IndexFunc(b.histories, func(h *history) bool {
		return h.target.Name == target && h.target.Prompt == prompt
	})
	if i < 0 {
		return nil
	}
	return b.histories[i]
}

// historyOrNew returns the history of a prompt of a target, which is new if it is not known. That of a target which was
// rejected before anybody knew its prompts becomes that of the first one. The lock is held.
func (b *Board) historyOrNew(target, prompt string) *history {
	h := cmp.Or(b.history(target, prompt), b.history(target, ""))
	if h != nil {
		return h
	}
	h = &history{
		target:  probe.Description{Name: target, Prompt: prompt, Notes: []string{}},
		skipped: map[string]int{},
		cache:   &atomic.Pointer[cachedSummary]{},
		added:   time.Now(),
		usual:   &usual{},
	}
	at := len(b.histories)
	for i, other := range b.histories {
		if other.target.Name == target {
			at = i + 1
		}
	}
	b.histories = slices.Insert(b.histories, at, h)
	return h
}

// copies returns the histories as they are now, so that no probe waits for arithmetic on them. Entries and caches are
// shared, which is safe. So is usual, which only the holder of the lock may use.
func (b *Board) copies() []history {
	b.mu.Lock()
	defer b.mu.Unlock()
	prompts := map[string]int{}
	for _, h := range b.histories {
		prompts[h.target.Name]++
	}
	list := make([]history, len(b.histories))
	for i, h := range b.histories {
		list[i] = *h
		list[i].several = prompts[h.target.Name] > 1
		list[i].ring, list[i].earlier = slices.Clone(h.ring), slices.Clone(h.earlier)
		list[i].skipped = maps.Clone(h.skipped)
	}
	return list
}

// find returns the result in memory that has a trace id, and a copy of the history of its prompt. The entry is nil if
// there is none.
func (b *Board) find(id string) (*entry, history) {
	for _, h := range b.copies() {
		for _, e := range h.results() {
			if e.TraceID == id {
				return e, h
			}
		}
	}
	return nil, history{}
}
