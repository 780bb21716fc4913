package telemetry

import (
	"runtime"
	"sync"
	"time"
)

// A Build is which program this is.
type Build struct{ Version, Revision string }

// The metrics of the prober itself that no result feeds.
const (
	ExportFailures = "llm.prober.export_failures"
	LookupFailures = "llm.prober.dns_lookup_failures"
	buildInfo      = "llm.prober.build_info"
	reloadOK       = "llm.prober.config_last_reload_successful"
	reloadTime     = "llm.prober.config_last_reload_success_timestamp"
)

// own holds the values of the prober's own metrics that no result feeds. It is
// safe for concurrent use, and has a lock of its own: a failure may be counted
// while a recorder holds its lock.
type own struct {
	since time.Time

	mu     sync.Mutex
	values map[string]sample // of counters from the start, of gauges since they were set
}

func newOwn(b Build) *own {
	o := &own{since: time.Now(), values: map[string]sample{
		buildInfo: {at: point{valid(b.Version), valid(b.Revision), runtime.Version()}, value: 1},
	}}
	for _, i := range collected() {
		if i.Scope == ScopeProber && i.Kind == Counter {
			o.values[i.Name] = sample{}
		}
	}
	return o
}

// Add adds to a counter of the prober itself: [ExportFailures] or [LookupFailures].
func (o *own) Add(name string, n float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.values[name] = sample{value: o.values[name].value + n}
}

// Reloaded records that the configuration was loaded, or was rejected.
func (o *own) Reloaded(at time.Time, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.values[reloadOK] = sample{}
	if ok {
		o.values[reloadOK], o.values[reloadTime] = sample{value: 1}, sample{value: unix(at)}
	}
}

// sample is the present value of a metric. ok is false for a gauge that was never
// set.
func (o *own) sample(name string) (s sample, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s, ok = o.values[name]
	return s, ok
}

// unix is seconds since 1970, to the millisecond.
func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
