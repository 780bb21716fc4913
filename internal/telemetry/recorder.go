// Package telemetry turns results into metrics, for scrapes of /metrics and for OTLP, from one catalog: no metric is
// named anywhere else in the program. The recorder is a loop over that catalog with two backends beneath: client_golang
// for /metrics, and the OpenTelemetry SDK. The package never logs and never serves: it returns an [http.Handler], and
// reports its failures to a function that it is given.
package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/llm-prober/prober/internal/probe"
)

// A Recorder keeps the metrics of the targets that are set, serves them to scrapes, and exports them and every probe as
// a trace over OTLP if that is configured. Its methods are safe for concurrent use. Those that record do no I/O and
// never wait for an export or a scrape.
type Recorder struct {
	recorded  []*Instrument // histograms and counters
	collected []Instrument  // gauges, read when metrics are collected
	backs     []backend
	registry  *prometheus.Registry     // of all that is on /metrics
	metrics   *sdkmetric.MeterProvider // nil if metrics are not exported
	traces    *sdktrace.TracerProvider // nil if traces are not exported
	prober    map[seriesID][]series    // of the prober itself; never changes

	mu      sync.Mutex
	gauges  map[string][]sample // of the prober itself, by name; none before they are set
	targets map[string]*targetSeries
}

type backend interface {
	// open makes one series, at zero if the library can show that; nil if it does not have the instrument.
	open(i *Instrument, t probe.Description, p point) series

	// release ends all series of a target that are of a scope.
	release(scope Scope, t probe.Description)
}

// A series takes a value, and the span to keep with it as an exemplar if that is valid. It is safe for concurrent use.
type series func(value float64, exemplar trace.SpanContext)

// A seriesID identifies one of the series of a target, or of the prober itself.
type seriesID struct {
	name string // of the instrument
	at   point
}

type targetSeries struct {
	facts
	series map[seriesID][]series // by library
}

// newRecorder returns a recorder that also records for OTLP, unless that is nil.
func newRecorder(o Options, otlp *otelBackend) *Recorder {
	r := &Recorder{
		registry: prometheus.NewRegistry(),
		prober:   map[seriesID][]series{},
		targets:  map[string]*targetSeries{},
		gauges: map[string][]sample{
			buildInfo: {{at: point{valid(o.Build.Version), valid(o.Build.Revision)}, value: 1}},
		},
	}
	for _, i := range Catalog() {
		switch {
		case i.Kind == Gauge:
			r.collected = append(r.collected, i)
		case i.Scope != ScopeGenAI || o.GenAI && otlp != nil:
			r.recorded = append(r.recorded, &i)
		}
	}
	r.registry.MustRegister(
		newGauges(r),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	r.backs = []backend{newPromBackend(r.registry, r.recorded)}
	if otlp != nil {
		r.backs = append(r.backs, otlp)
		otlp.observe(r)
	}
	for _, i := range r.recorded {
		if i.Scope == ScopeProber {
			r.prober[seriesID{name: i.Name}] = r.open(i, probe.Description{}, point{})
		}
	}
	return r
}

// Set adds a target, with all its series at zero, or changes it. When the model, the prompt or the names of objectives
// changed, all its series begin anew; the moments go on if it was the objectives. What t leaves open (model, API,
// server, source of timestamps) stays as it was known, as long as the URL is the same.
func (r *Recorder) Set(t probe.Description) {
	t.URL = shownURL(t.URL)
	if t.API == "auto" {
		t.API = ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.targets[t.Name]
	if s != nil && t.URL == s.target.URL {
		// What the target learned about its server stays known.
		t.Model, t.API = cmp.Or(t.Model, s.target.Model), cmp.Or(t.API, s.target.API)
		t.Server, t.Stamp = cmp.Or(t.Server, s.target.Server), cmp.Or(t.Stamp, s.target.Stamp)
	}
	hasWorked := s != nil && s.hasWorked && asksTheSame(s.target, t)
	same := s != nil && slices.Equal(labels(s.target), labels(t))
	objectives := func(t probe.Description) []string { return slices.Sorted(slices.Values(objectiveNames(t))) }
	anew := !same || !slices.Equal(objectives(s.target), objectives(t))
	if anew {
		r.end(t.Name)
		next := &targetSeries{series: map[seriesID][]series{}}
		if same {
			next.facts = s.facts
		}
		s = next
		r.targets[t.Name] = s
	}
	attributesChanged := !anew && !sameAttributes(s.target, t)
	s.target, s.hasWorked = t, hasWorked
	if attributesChanged {
		r.release(ScopeGenAI, t)
	}
	if anew || attributesChanged {
		r.openAll(s, ScopeGenAI)
	}
	if anew {
		r.openAll(s, ScopeTarget)
	}
}

// openAll makes the series of a target that are of a scope, but for those that begin with a result.
func (r *Recorder) openAll(s *targetSeries, scope Scope) {
	for _, i := range r.recorded {
		if i.Scope != scope || i.begins != nil {
			continue
		}
		for _, p := range i.points(s.target) {
			s.series[seriesID{i.Name, p}] = r.open(i, s.target, p)
		}
	}
}

// release ends all series of a target that are of a scope.
func (r *Recorder) release(scope Scope, t probe.Description) {
	for _, back := range r.backs {
		back.release(scope, t)
	}
}

// asksTheSame reports whether a server that answered a target as it was is expected to answer it as it is now: whoever
// changes the prompt may have made it too long.
func asksTheSame(before, now probe.Description) bool {
	return before.URL == now.URL && before.Prompt == now.Prompt &&
		before.PromptTokens == now.PromptTokens && before.MaxTokens == now.MaxTokens
}

func (r *Recorder) open(i *Instrument, t probe.Description, p point) (all []series) {
	for _, back := range r.backs {
		if one := back.open(i, t, p); one != nil {
			all = append(all, one)
		}
	}
	return all
}

func add(to []series, value float64, exemplar trace.SpanContext) {
	for _, one := range to {
		one(value, exemplar)
	}
}

// Remove ends all series of a target. An unknown name is ignored.
func (r *Recorder) Remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end(name)
}

func (r *Recorder) end(target string) {
	s, ok := r.targets[target]
	if !ok {
		return
	}
	delete(r.targets, target)
	r.release(ScopeTarget, s.target)
	r.release(ScopeGenAI, s.target)
}

// Record records a result of a target that is set. Results of other targets and canceled ones are ignored, and so are
// late ones: those of the prompt or the model that the target had before.
func (r *Recorder) Record(result *probe.Result) {
	if result.Outcome == probe.Canceled {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.targets[result.Target]
	if !ok || result.Prompt != s.target.Prompt || result.Model != "" && result.Model != s.target.Model {
		return
	}
	s.note(result)
	r.record(s, result)
	if r.traces != nil {
		recordSpan(r.traces.Tracer(instrumentation), s.target, result)
	}
}

// record passes the samples of a result to their series. There are none of what is no value of a closed set of labels.
func (r *Recorder) record(s *targetSeries, result *probe.Result) {
	span := spanOf(result)
	for _, i := range r.recorded {
		if i.ofResult == nil {
			continue
		}
		all := s.series
		if i.Scope == ScopeProber {
			all = r.prober
		}
		i.ofResult(s.target, result, func(v sample) {
			var exemplar trace.SpanContext
			if v.marked {
				exemplar = span
			}
			id := seriesID{i.Name, v.at}
			if all[id] == nil && i.begins != nil && i.begins(result) {
				all[id] = r.open(i, s.target, v.at)
			}
			add(all[id], v.value, exemplar)
		})
	}
}

// Skipped counts a slot in which a target was not probed.
func (r *Recorder) Skipped(target string, reason probe.Skip) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.targets[target]; ok {
		add(s.series[seriesID{skipped, point{string(reason)}}], 1, trace.SpanContext{})
	}
}

// Add adds to a counter of the prober itself: [ExportFailures] or [LookupFailures].
func (r *Recorder) Add(name string, n float64) {
	add(r.prober[seriesID{name: name}], n, trace.SpanContext{})
}

// Reloaded records that the configuration was loaded, or was rejected.
func (r *Recorder) Reloaded(at time.Time, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !ok {
		r.gauges[reloadOK] = []sample{{value: 0}}
		return
	}
	r.gauges[reloadOK] = []sample{{value: 1}}
	r.gauges[reloadTime] = []sample{{value: unix(at)}}
}

// SetRejectedTargets says which targets of the configuration cannot be probed for what their settings say. Each name is there
// once.
func (r *Recorder) SetRejectedTargets(targets []string) {
	var all []sample
	for _, name := range targets {
		all = append(all, sample{at: point{valid(name)}, value: 1})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gauges[targetRejected] = all
}

// collect passes on every sample of the gauges, as of now.
func (r *Recorder) collect(to func(i Instrument, t probe.Description, s sample)) {
	r.mu.Lock()
	prober := maps.Clone(r.gauges)
	targets := make([]facts, 0, len(r.targets))
	for _, s := range r.targets {
		targets = append(targets, s.facts)
	}
	r.mu.Unlock()

	for _, i := range r.collected {
		for _, s := range prober[i.Name] {
			to(i, probe.Description{}, s)
		}
		if i.ofTarget == nil {
			continue
		}
		for _, f := range targets {
			i.ofTarget(f, func(s sample) { to(i, f.target, s) })
		}
	}
}
