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
