package telemetry

import (
	"runtime"
	"sync"
	"time"
)

// A Build is which program this is.
type Build struct{ Version, Revision string }

// The metrics of the prober itself that no result feeds: see [Recorder].Update.
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

	mu       sync.Mutex
	counters map[string]sample // all, from the start
	gauges   map[string]sample // those that were set
}

func newOwn(b Build) *own {
	o := &own{since: time.Now(), counters: map[string]sample{}, gauges: map[string]sample{
		buildInfo: {at: point{valid(b.Version), valid(b.Revision), runtime.Version()}, value: 1},
	}}
	for _, i := range collected() {
		if i.Scope == ScopeProber && i.Kind == Counter {
			o.counters[i.Name] = sample{}
		}
	}
	return o
}

// Update adds value to a counter of the prober itself, or sets a gauge to it. The
// name is that of a row of the catalog.
func (o *own) Update(name string, value float64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if before, ok := o.counters[name]; ok {
		o.counters[name] = sample{value: before.value + value}
		return
	}
	o.gauges[name] = sample{value: value}
}

// Reloaded records that the configuration was loaded, or was rejected.
func (o *own) Reloaded(at time.Time, ok bool) {
	if !ok {
		o.Update(reloadOK, 0)
		return
	}
	o.Update(reloadTime, unix(at))
	o.Update(reloadOK, 1)
}

// sample is the present value of a metric. ok is false for a gauge that was never
// set.
func (o *own) sample(name string) (s sample, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s, ok = o.counters[name]; !ok {
		s, ok = o.gauges[name]
	}
	return s, ok
}

// unix is seconds since 1970, to the millisecond.
func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
