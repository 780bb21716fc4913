package telemetry

import (
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// A Skip is why a slot went without a probe.
type Skip = probe.Skip

// The reasons to skip.
const (
	SkipOverlap = probe.SkipOverlap
	SkipBudget  = probe.SkipBudget
	SkipLate    = probe.SkipLate
)

// Skips returns every reason to skip.
func Skips() []Skip { return probe.Skips() }

// A Recorder keeps the metrics of the targets that are set. Its methods are safe
// for concurrent use, do no I/O and never wait for anybody who does.
type Recorder interface {
	// Record records a result of a target that is set. Any other is too late and
	// is ignored, and so is one that was canceled. If the result's model or API
	// is not the one that was set, the target's series begin anew under the one
	// of the result.
	probe.Recorder

	// Set adds a target, with all its series at zero, or changes it. Setting what
	// is set already changes nothing. When the model or the prompt changed, the
	// old series end and new ones begin; when only other facts did, the series
	// go on. A model, an API or a stamp that t leaves open stays what results told, as
	// long as the URL is the same.
	Set(t probe.Description)

	// Remove ends all series of a target. A name that was never set is ignored.
	Remove(name string)

	// Skipped counts a slot of a target that went without a probe.
	Skipped(target string, reason Skip)

	// Reloaded tells that the configuration was loaded, or could not be.
	Reloaded(at time.Time, ok bool)

	// LookupsFailed counts hosts that could not be looked up.
	LookupsFailed(n int)
}

// Join returns a recorder that tells each of rs, in their order. Those that are
// nil are left out.
func Join(rs ...Recorder) Recorder {
	var all joined
	for _, r := range rs {
		if r != nil {
			all = append(all, r)
		}
	}
	return all
}

type joined []Recorder

func (j joined) Record(r *probe.Result) {
	for _, to := range j {
		to.Record(r)
	}
}

func (j joined) Set(t probe.Description) {
	for _, to := range j {
		to.Set(t)
	}
}

func (j joined) Remove(name string) {
	for _, to := range j {
		to.Remove(name)
	}
}

func (j joined) Skipped(target string, reason Skip) {
	for _, to := range j {
		to.Skipped(target, reason)
	}
}

func (j joined) LookupsFailed(n int) {
	for _, to := range j {
		to.LookupsFailed(n)
	}
}

func (j joined) Reloaded(at time.Time, ok bool) {
	for _, to := range j {
		to.Reloaded(at, ok)
	}
}
