package report

import (
	"math"
	"time"
)

// A Document is all that a run, or a query of stored data, reports.
type Document struct {
	Source      string            // what was asked: "prober bench", a Prometheus
	Version     string            // of the prober
	Settings    map[string]string // by their names, without secrets; several values have commas between them
	Started     time.Time         // of the first request, or of the range
	Summaries   []Summary
	Comparisons []Comparison
	Warnings    []string // of the whole; sentences
}

// finite reports whether v is a number.
func finite[T ~float64](v T) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }
