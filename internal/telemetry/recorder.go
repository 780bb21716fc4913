package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

// A Recorder keeps the metrics of the targets that are set, serves them to scrapes,
// and exports them and every probe as a trace over OTLP if that is configured. Its
// methods are safe for concurrent use. Those that record do no I/O and never wait
// for an export or a scrape.
type Recorder struct {
	*own
	export
	rows     []Instrument // all are fed by results
	backs    []backend
	registry *prometheus.Registry

	mu      sync.Mutex
	prober  []map[point][]series // by row; series of the prober itself
	targets map[string]*targetSeries
}

// A backend is a metrics library.
type backend interface {
	// open makes one series of a row, at zero where the library can show that. It is
	// nil if the library does not have the row.
	open(row int, t probe.Description, p point) series

	// close ends one series of a target that stays.
	close(row int, t probe.Description, p point)

	// release ends all series of a target.
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
	replaced string               // the model before Set changed it; empty if it did not
	rows     []map[point][]series // by row
}

func newRecorder(values *own, to export) *Recorder {
	r := &Recorder{
		own: values, export: to, rows: ofResults(ScopeTarget, ScopeProber),
		registry: prometheus.NewRegistry(), targets: map[string]*targetSeries{},
	}
	scraped := newVectors(r.rows)
	for _, v := range scraped.by {
		r.registry.MustRegister(v)
	}
	r.registry.MustRegister(newReader(r), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.backs = []backend{scraped}
	if to.back != nil {
		r.rows = to.back.rows
		r.backs = append(r.backs, to.back)
		observe(to.back.prober, r)
	}
	r.prober = make([]map[point][]series, len(r.rows))
	for row, i := range r.rows {
		if i.Scope == ScopeProber {
			r.prober[row] = r.reopen(row, nil, probe.Description{}, probe.Description{})
		}
	}
	return r
}

// Set adds a target, with all its series at zero, or changes it. When the model or
// the prompt changed, the old series end and new ones begin; otherwise the series
// continue. What t leaves open (model, API, server, source of timestamps) stays as
// it is known from results, as long as the URL is the same.
func (r *Recorder) Set(t probe.Description) {
	t = clean(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.targets[t.Name]
	if old != nil {
		t = inherit(t, old.target)
	}
	if now := r.set(t); old != nil && t.Model != old.target.Model {
		now.replaced = old.target.Model
	}
}

// set makes t the description of a target, with new series if it is new or its
// labels changed.
func (r *Recorder) set(t probe.Description) *targetSeries {
	s, known := r.targets[t.Name]
	if known && !slices.Equal(labels(s.target), labels(t)) {
		r.end(t.Name)
		known = false
	}
	if !known {
		s = &targetSeries{
			facts: facts{since: time.Now(), skipped: map[probe.Skip]int{}},
			rows:  make([]map[point][]series, len(r.rows)),
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
func (r *Recorder) reopen(row int, had map[point][]series, before, t probe.Description) map[point][]series {
	i := r.rows[row]
	if r.prober[row] != nil {
		return r.prober[row]
	}
	has := map[point][]series{}
	for _, p := range i.points(t) {
		has[p] = had[p]
		if has[p] == nil || i.Scope == ScopeGenAI { // all attributes of the conventions may have changed
			has[p] = nil
			for _, back := range r.backs {
				if opened := back.open(row, t, p); opened != nil {
					has[p] = append(has[p], opened)
				}
			}
		}
	}
	for p := range had {
		for _, back := range r.backs {
			if has[p] == nil {
				back.close(row, before, p)
			}
		}
	}
	return has
}

// Remove ends all series of a target. An unknown name is ignored.
func (r *Recorder) Remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.targets[name] != nil {
		r.end(name)
	}
}

func (r *Recorder) end(target string) {
	delete(r.targets, target)
	for _, back := range r.backs {
		back.release(target)
	}
}

// Record records a result of a target that is set. Results of other targets and
// canceled ones are ignored. If the result's model differs from the one that was
// set, the target's series end and new ones begin under the result's model.
func (r *Recorder) Record(result *probe.Result) {
	if t, ok := r.record(result); ok && r.traces != nil {
		r.traces.record(t, result)
	}
}

// record records the metrics of a result, and returns its target. ok is false if the
// result does not count.
func (r *Recorder) record(result *probe.Result) (t probe.Description, ok bool) {
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
	var all map[point][]series // of the present row
	var at point               // of the last sample: a lookup for each would be slow
	var to []series            // at that point; none for what is no value of a closed set of labels
	span := spanOf(result)
	add := func(v sample) {
		if v.at != at {
			at, to = v.at, all[v.at]
		}
		var exemplar trace.SpanContext
		if v.marked {
			exemplar = span
		}
		for _, one := range to {
			one(v.value, exemplar)
		}
	}
	for row, i := range r.rows {
		all, at = s.rows[row], point{}
		to = all[at]
		i.ofResult(s.target, result, add)
	}
	return s.target, true
}

// late reports whether the probe began before Set changed the target.
func (s *targetSeries) late(r *probe.Result) bool {
	return r.Prompt != s.target.Prompt ||
		s.replaced != "" && r.Model == s.replaced && r.Start.Before(s.since)
}

// Skipped counts a slot in which a target was not probed.
func (r *Recorder) Skipped(target string, reason probe.Skip) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.targets[target]; ok {
		s.skipped[reason]++
	}
}

// collect passes on every sample of the rows of [collected], as of now. Samples of
// the prober itself come with facts that say only since when they exist.
func (r *Recorder) collect(rows []Instrument, to func(row int, f facts, s sample)) {
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
func (r *Recorder) look() []facts {
	r.mu.Lock()
	all := make([]facts, 0, len(r.targets))
	for _, s := range r.targets {
		f := s.facts
		f.skipped = maps.Clone(f.skipped)
		all = append(all, f)
	}
	r.mu.Unlock()

	slices.SortFunc(all, func(a, b facts) int { return cmp.Compare(a.target.Name, b.target.Name) })
	for n := range all {
		f := &all[n]
		if f.target.InFlight == nil {
			continue
		}
		var oldest time.Time
		if f.inFlight, oldest = f.target.InFlight(); f.inFlight > 0 {
			f.oldest = max(0, time.Since(oldest))
		}
	}
	return all
}
