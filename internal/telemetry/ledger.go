package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

// A ledger is what both recorders are: the targets that are set, each with its
// series resolved, and the loop that lets every row of the catalog record a
// result. The library beneath is its backend.
type ledger struct {
	rows     []Instrument // all of them are fed by results
	back     backend
	failures *failures // of exports

	mu       sync.Mutex
	own      []map[point]sink // by row; of the prober's own rows
	accounts map[string]*account
	self     self
}

// A backend is a metrics library.
type backend interface {
	// open makes one series of a row, at zero where the library can show that.
	open(row int, t probe.Description, p point) sink

	// close ends what open made, where the library can.
	close(row int, t probe.Description, p point)
}

// A sink takes the values of one series. Its methods are safe for concurrent use.
type sink interface {
	add(value float64)
	mark(value float64, l link) // add, and keep as an exemplar
}

// A link names the span of a probe.
type link struct {
	trace trace.TraceID
	span  trace.SpanID
}

// linkOf is the link of a result. ok is false if it names no span.
func linkOf(r *probe.Result) (l link, ok bool) {
	var errTrace, errSpan error
	l.trace, errTrace = trace.TraceIDFromHex(r.TraceID)
	l.span, errSpan = trace.SpanIDFromHex(r.SpanID)
	return l, errTrace == nil && errSpan == nil
}

// An account is one target that is set.
type account struct {
	facts    facts
	replaced string           // the model before Set changed it; empty if it did not
	series   []map[point]sink // by row
}

func newLedger(b Build, rows []Instrument, back backend, f *failures) *ledger {
	l := &ledger{
		rows: rows, back: back, failures: f,
		own:      make([]map[point]sink, len(rows)),
		accounts: map[string]*account{},
		self:     self{build: b, since: time.Now()},
	}
	for row := range rows {
		if rows[row].Scope == ScopeProber {
			l.own[row] = l.reopen(row, nil, probe.Description{}, probe.Description{})
		}
	}
	return l
}

// Set implements [Recorder].
func (l *ledger) Set(t probe.Description) {
	t = clean(t)
	l.mu.Lock()
	defer l.mu.Unlock()
	old, known := l.accounts[t.Name]
	if known {
		t = inherit(t, old.facts.target)
	}
	now := l.set(t)
	if known && t.Model != old.facts.target.Model {
		now.replaced = old.facts.target.Model
	}
}

// set makes t what is known of the target. The account is a new one if the
// target is, or if its labels changed.
func (l *ledger) set(t probe.Description) *account {
	a, known := l.accounts[t.Name]
	if known && !slices.Equal(labels(a.facts.target), labels(t)) {
		l.end(a)
		known = false
	}
	if !known {
		a = &account{
			facts:  facts{since: time.Now(), skipped: map[Skip]int{}},
			series: make([]map[point]sink, len(l.rows)),
		}
		l.accounts[t.Name] = a
	}
	before := a.facts.target
	a.facts.target = t
	for row := range l.rows {
		a.series[row] = l.reopen(row, a.series[row], before, t)
	}
	return a
}

// reopen ends the series that t no longer has, makes those that it lacks, and
// returns all that it has now.
func (l *ledger) reopen(row int, had map[point]sink, before, t probe.Description) map[point]sink {
	i := l.rows[row]
	if i.Scope == ScopeProber && l.own[row] != nil {
		return l.own[row]
	}
	anew := i.Scope == ScopeGenAI // all of its attributes may have changed
	has := map[point]sink{}
	for _, p := range i.points(t) {
		if has[p] = had[p]; anew || has[p] == nil {
			has[p] = l.back.open(row, t, p)
		}
	}
	for p := range had {
		if anew || has[p] == nil {
			l.back.close(row, before, p)
		}
	}
	return has
}

// Remove implements [Recorder].
func (l *ledger) Remove(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a, ok := l.accounts[name]; ok {
		l.end(a)
	}
}

// end ends all series of an account.
func (l *ledger) end(a *account) {
	delete(l.accounts, a.facts.target.Name)
	for row, series := range a.series {
		if l.rows[row].Scope == ScopeProber {
			continue
		}
		for p := range series {
			l.back.close(row, a.facts.target, p)
		}
	}
}

// Record implements [Recorder].
func (l *ledger) Record(r *probe.Result) { l.record(r) }

// record records r, and returns the target it is of. ok is false if it was not
// to be counted.
func (l *ledger) record(r *probe.Result) (t probe.Description, ok bool) {
	if r.Outcome == probe.Canceled {
		return probe.Description{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.accounts[r.Target]
	if !ok || a.late(r) {
		return probe.Description{}, false
	}
	if t, ok := told(a.facts.target, r); ok {
		a = l.set(t)
	}
	a.facts.note(r)
	exemplar, linked := linkOf(r)
	for row := range l.rows {
		feed(l.rows[row], a, row, r, exemplar, linked)
	}
	return a.facts.target, true
}

// feed lets one row record r.
func feed(i Instrument, a *account, row int, r *probe.Result, exemplar link, linked bool) {
	var at point
	to := a.series[row][at]
	for s := range i.ofResult(a.facts.target, r) {
		if s.at != at {
			at, to = s.at, a.series[row][s.at]
		}
		switch {
		case to == nil: // no label value of the closed set
		case s.marked && linked:
			to.mark(s.value, exemplar)
		default:
			to.add(s.value)
		}
	}
}

// late reports whether r is of a probe that began before Set changed the target.
func (a *account) late(r *probe.Result) bool {
	return r.Prompt != a.facts.target.Prompt ||
		a.replaced != "" && r.Model == a.replaced && r.Timeline.Start.Before(a.facts.since)
}

// told returns t with the model and the API of a result, and who stamped its token
// frames, if it had any. ok is false if that changes nothing.
func told(t probe.Description, r *probe.Result) (now probe.Description, ok bool) {
	now = t
	now.Model, now.API, now.Stamp = cmp.Or(r.Model, t.Model), cmp.Or(r.API, t.API), cmp.Or(r.Stamp, t.Stamp)
	return now, now.Model != t.Model || now.API != t.API || now.Stamp != t.Stamp
}

// Skipped implements [Recorder].
func (l *ledger) Skipped(target string, reason Skip) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a, ok := l.accounts[target]; ok {
		a.facts.skipped[reason]++
	}
}

// Reloaded implements [Recorder].
func (l *ledger) Reloaded(at time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.self.reloads++
	l.self.reloadOK = ok
	if ok {
		l.self.reloadedAt = at
	}
}

// LookupsFailed implements [Recorder].
func (l *ledger) LookupsFailed(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.self.lookupFailures += uint64(n) //nolint:gosec // a count is not negative
}

// look is everything known now, targets by name.
func (l *ledger) look() ([]facts, self) {
	l.mu.Lock()
	all := make([]facts, 0, len(l.accounts))
	for _, a := range l.accounts {
		f := a.facts
		f.skipped = maps.Clone(f.skipped)
		all = append(all, f)
	}
	me := l.self
	l.mu.Unlock()

	me.exportFailures = l.failures.count.Load()
	slices.SortFunc(all, func(a, b facts) int { return cmp.Compare(a.target.Name, b.target.Name) })
	now := time.Now()
	for n := range all {
		all[n].lookInFlight(now)
	}
	return all, me
}

func (f *facts) lookInFlight(now time.Time) {
	if f.target.InFlight == nil {
		return
	}
	var oldest time.Time
	if f.inFlight, oldest = f.target.InFlight(); f.inFlight > 0 {
		f.oldest = max(0, now.Sub(oldest))
	}
}
