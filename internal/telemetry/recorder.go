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

// A Recorder keeps the metrics of the targets that are set. Its methods are safe
// for concurrent use, do no I/O and never wait for an export or a scrape.
type Recorder interface {
	// Record records a result of a target that is set. Results of other targets and
	// canceled ones are ignored. If the result's model differs from the one that was
	// set, the target's series end and new ones begin under the result's model.
	Record(r *probe.Result)

	// Set adds a target, with all its series at zero, or changes it. When the model
	// or the prompt changed, the old series end and new ones begin; otherwise the
	// series continue. What t leaves open (model, API, server, source of timestamps)
	// stays as it is known from results, as long as the URL is the same.
	Set(t probe.Description)

	// Remove ends all series of a target. An unknown name is ignored.
	Remove(name string)

	// Skipped counts a slot in which a target was not probed.
	Skipped(target string, reason probe.Skip)

	// Update adds value to a counter of the prober itself, or sets a gauge to it. The
	// name is that of a row of the catalog.
	Update(name string, value float64)

	// Reloaded records that the configuration was loaded, or was rejected.
	Reloaded(at time.Time, ok bool)
}

// A recorder is the common part of [Prometheus] and [OTLP]: it lets every row of
// the catalog record a result. A backend stores the values.
type recorder struct {
	*own
	rows []Instrument // all are fed by results
	back backend

	mu      sync.Mutex
	prober  []map[point]series // by row; series of the prober itself
	targets map[string]*targetSeries
}

// A backend is a metrics library.
type backend interface {
	// open makes one series of a row, at zero where the library can show that.
	open(row int, t probe.Description, p point) series

	// close ends one series.
	close(row int, t probe.Description, p point)

	// release frees what is left of a target after all its series were closed.
	release(target string)
}

// A series takes a value, and the span of its probe if the value is to be kept as
// an exemplar. It is safe for concurrent use.
type series func(value float64, exemplar trace.SpanContext)

// spanOf is the span of a probe. It is not valid if the result names none.
func spanOf(r *probe.Result) trace.SpanContext {
	traceID, _ := trace.TraceIDFromHex(r.TraceID)
	spanID, _ := trace.SpanIDFromHex(r.SpanID)
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: trace.FlagsSampled})
}

// targetSeries are one target and its series.
type targetSeries struct {
	facts
	replaced string             // the model before Set changed it; empty if it did not
	rows     []map[point]series // by row
}

func newRecorder(o *own, rows []Instrument, back backend) *recorder {
	r := &recorder{own: o, rows: rows, back: back, prober: make([]map[point]series, len(rows)), targets: map[string]*targetSeries{}}
	for row, i := range rows {
		if i.Scope == ScopeProber {
			r.prober[row] = r.reopen(row, nil, probe.Description{}, probe.Description{})
		}
	}
	return r
}

// Set implements [Recorder].
func (r *recorder) Set(t probe.Description) {
	t = clean(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	old, known := r.targets[t.Name]
	if !known {
		r.set(t)
		return
	}
	before := old.target
	t = inherit(t, before)
	now := r.set(t)
	if t.Model != before.Model {
		now.replaced = before.Model
	}
}

// set makes t the description of a target, with new series if it is new or its
// labels changed.
func (r *recorder) set(t probe.Description) *targetSeries {
	s, known := r.targets[t.Name]
	if known && !slices.Equal(labels(s.target), labels(t)) {
		r.end(s)
		known = false
	}
	if !known {
		s = &targetSeries{
			facts: facts{since: time.Now(), skipped: map[probe.Skip]int{}},
			rows:  make([]map[point]series, len(r.rows)),
		}
		r.targets[t.Name] = s
	}
	before := s.target
	s.target = t
	for row := range r.rows {
		s.rows[row] = r.reopen(row, s.rows[row], before, t)
	}
	return s
}

// reopen ends the series that t no longer has, opens those that it lacks, and
// returns all that it has now.
func (r *recorder) reopen(row int, had map[point]series, before, t probe.Description) map[point]series {
	i := r.rows[row]
	if r.prober[row] != nil {
		return r.prober[row]
	}
	has := map[point]series{}
	for _, p := range i.points(t) {
		has[p] = had[p]
		if has[p] == nil || i.Scope == ScopeGenAI { // all attributes of the conventions may have changed
			has[p] = r.back.open(row, t, p)
		}
	}
	for p := range had {
		if has[p] == nil {
			r.back.close(row, before, p)
		}
	}
	return has
}

// Remove implements [Recorder].
func (r *recorder) Remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.targets[name]; ok {
		r.end(s)
	}
}

// end ends all series of a target.
func (r *recorder) end(s *targetSeries) {
	delete(r.targets, s.target.Name)
	for row, all := range s.rows {
		for p := range all {
			if r.prober[row] == nil {
				r.back.close(row, s.target, p)
			}
		}
	}
	r.back.release(s.target.Name)
}

// Record implements [Recorder].
func (r *recorder) Record(result *probe.Result) { r.record(result) }

// record records a result, and returns its target. ok is false if the result does
// not count.
func (r *recorder) record(result *probe.Result) (t probe.Description, ok bool) {
	if result.Outcome == probe.Canceled {
		return probe.Description{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.targets[result.Target]
	if !ok || s.late(result) {
		return probe.Description{}, false
	}
	if t, ok := learn(s.target, result); ok {
		s = r.set(t)
	}
	s.note(result)
	exemplar := spanOf(result)
	for row, i := range r.rows {
		i.ofResult(s.target, result, func(v sample) {
			to := s.rows[row][v.at]
			switch {
			case to == nil: // no value of a closed set of labels
			case v.marked:
				to(v.value, exemplar)
			default:
				to(v.value, trace.SpanContext{})
			}
		})
	}
	return s.target, true
}

// late reports whether the probe began before Set changed the target.
func (s *targetSeries) late(r *probe.Result) bool {
	return r.Prompt != s.target.Prompt ||
		s.replaced != "" && r.Model == s.replaced && r.Timeline.Start.Before(s.since)
}

// Skipped implements [Recorder].
func (r *recorder) Skipped(target string, reason probe.Skip) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.targets[target]; ok {
		s.skipped[reason]++
	}
}

// collect passes on every sample of the rows of [collected], as of now. Samples of
// the prober itself come with facts that say only since when they exist.
func (r *recorder) collect(rows []Instrument, to func(row int, f facts, s sample)) {
	targets := r.look()
	for row, i := range rows {
		if i.Scope == ScopeProber {
			if s, ok := r.sample(i.Name); ok {
				to(row, facts{since: r.since}, s)
			}
			continue
		}
		for _, f := range targets {
			i.ofTarget(f, func(s sample) { to(row, f, s) })
		}
	}
}

// look is everything known of the targets now, by name.
func (r *recorder) look() []facts {
	r.mu.Lock()
	all := make([]facts, 0, len(r.targets))
	for _, s := range r.targets {
		f := s.facts
		f.skipped = maps.Clone(f.skipped)
		all = append(all, f)
	}
	r.mu.Unlock()

	slices.SortFunc(all, func(a, b facts) int { return cmp.Compare(a.target.Name, b.target.Name) })
	now := time.Now()
	for n := range all {
		all[n].lookInFlight(now)
	}
	return all
}
