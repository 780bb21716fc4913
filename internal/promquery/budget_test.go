package promquery

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/report"
)

// TestWorstHours holds that a budget names five of seven bad hours, the latest of equal ones first, and leaves the list
// that it gets as it is.
func TestWorstHours(t *testing.T) {
	hours := make([]report.BadHour, 7)
	for i, bad := range []int{3, 0, 17, 2, 9, 9, 1} {
		hours[i] = report.BadHour{Start: midnight.Add(time.Duration(i) * time.Hour), Bad: bad, Judged: 360}
	}
	want := []report.BadHour{hours[2], hours[5], hours[4], hours[0], hours[3]}
	for range 2 {
		if diff := cmp.Diff(want, worstHours(hours)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
