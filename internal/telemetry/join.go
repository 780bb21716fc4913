package telemetry

import (
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// Join returns a recorder that passes everything on to each of rs, in their order.
func Join(rs ...Recorder) Recorder { return joined(rs) }

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

func (j joined) Skipped(target string, reason probe.Skip) {
	for _, to := range j {
		to.Skipped(target, reason)
	}
}

func (j joined) Update(name string, value float64) {
	for _, to := range j {
		to.Update(name, value)
	}
}

func (j joined) Reloaded(at time.Time, ok bool) {
	for _, to := range j {
		to.Reloaded(at, ok)
	}
}
