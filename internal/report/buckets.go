package report

import (
	"fmt"
	"math"
	"strings"
)

// narrow is the widest that buckets may be, as a share of the value, for one
// sentence to do for all of them.
const narrow = 0.10

// bucketNotes says how exact quantiles are that come from histograms: in one
// sentence where buckets are narrow, else the bounds of each quantile.
func bucketNotes(s Summary) (notes []string) {
	widest := 0.0
	for _, quantity := range quantities {
		d := *quantity.in(&s)
		e := d.inexact()
		if e <= narrow {
			widest = max(widest, e)
			continue
		}
		var parts []string
		for _, q := range d.Quantiles {
			parts = append(parts, percentile(q.Share)+" "+q.bucket())
		}
		notes = append(notes, "Quantiles of "+quantity.name+" lie within wide histogram buckets (ms): "+strings.Join(parts, ", "))
	}
	if widest > 0 {
		notes = append([]string{fmt.Sprintf("Quantiles come from histogram buckets: accurate to ±%.1f%%", 100*widest)}, notes...)
	}
	return notes
}

// inexact is how far the true quantiles may be from those of d, as a share of
// the value; 0 if they are known.
func (d Distribution) inexact() float64 {
	most := 0.0
	for _, q := range d.Quantiles {
		if off := max(q.High-q.Value, q.Value-q.Low); off > 0 {
			most = max(most, float64(off/q.Value))
		}
	}
	return most
}

// bucket is between what q lies, in milliseconds.
func (q Quantile) bucket() string {
	if math.IsInf(float64(q.High), 1) {
		return "above " + hundredths(q.Low*1e3)
	}
	return hundredths(q.Low*1e3) + " to " + hundredths(q.High*1e3)
}
