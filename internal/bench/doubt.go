package bench

import (
	"fmt"
	"time"
)

// What the bench itself may take of what it measures, before it says so.
const (
	tolerated = 0.1              // share of the median
	unnoticed = time.Millisecond // whatever the share
)

// Doubt says in sentences whether the bench was too slow to be believed: its
// readers waited, or its requests began late. TTFT and TPOT are the medians that
// were measured; 0 where there is none.
func Doubt(lag Lag, late []time.Duration, ttft, tpot time.Duration) []string {
	var list []string
	if lag := lag.worst(); disturbs(lag, tpot) {
		list = append(list, fmt.Sprintf("the bench was short of processors: what it read waited up to %s (p99) to be stamped, %.0f%% of the median TPOT: "+
			"gaps and ITL are its own as much as the server's; ask less at once, or run it where more processors are free", rounded(lag), 100*share(lag, tpot)))
	}
	if p99 := p99(late); disturbs(p99, ttft) {
		list = append(list, fmt.Sprintf("the bench was late: requests began up to %s (p99) after they were due, %.0f%% of the median TTFT, which does not hold it",
			rounded(p99), 100*share(p99, ttft)))
	}
	return list
}

// disturbs reports whether a delay of the bench's own is too much of a median.
func disturbs(delay, median time.Duration) bool {
	return delay > unnoticed && median > 0 && share(delay, median) > tolerated
}

func share(part, whole time.Duration) float64 { return float64(part) / float64(whole) }

// rounded is d with two or three digits that matter.
func rounded(d time.Duration) time.Duration {
	unit := time.Microsecond
	for d >= 1000*unit {
		unit *= 10
	}
	return d.Round(unit)
}
