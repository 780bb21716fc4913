package report

import (
	"math"
	"time"
)

// A Document is all that a run, or a look into what was stored, has to tell.
type Document struct {
	Source      string    // what was asked: "prober bench", a Prometheus
	Started     time.Time // of the first request, or of the range
	Summaries   []Summary
	Comparisons []Comparison
	Warnings    []string // of the whole; sentences
}

// finite reports whether v is a number.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// ninth rounds to nine decimals: of seconds, to nanoseconds.
func ninth(v float64) float64 {
	if math.Abs(v) > 1e6 {
		return v
	}
	return math.Round(v*1e9) / 1e9
}
