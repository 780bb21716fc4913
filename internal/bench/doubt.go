package bench

import (
	"fmt"
	"time"
)

// What the bench itself may take of what it measures, before it says so.
const (
	tolerated = 0.1                    // share of the median
	unnoticed = 500 * time.Microsecond // of waiting, whatever the share: an idle machine's wakes take some of it
	punctual  = 5 * time.Millisecond   // of lateness, whatever the share: some requests at once take that
)

// Doubt says in sentences whether the bench was too slow to be believed: it waited
// for a processor, or its requests began late. Where the kernel told when each frame
// arrived, waiting moves no arrival: only the time until a request is on its way is
// longer, which TTFT holds. Where the bench took the time itself, after it had read,
// all arrivals are late. TTFT and TPOT are the medians that were measured; 0 where
// there is none. It sorts late.
func Doubt(lag Lag, late []time.Duration, kernel bool, ttft, tpot time.Duration) []string {
	const remedy = "; ask less at once, or run it where more processors are free"
	var list []string
	switch lag := lag.worst(); {
	case kernel && disturbs(lag, ttft, punctual):
		list = append(list, fmt.Sprintf("the bench was short of processors: it waited up to %s (p99) for one, %.0f%% of the median TTFT, which may be too long by as much where a request had to wait before it was sent; gaps, ITL and TPOT are between arrival timestamps of the kernel, which do not wait"+remedy,
			rounded(lag), 100*share(lag, ttft)))
	case !kernel && disturbs(lag, tpot, unnoticed):
		list = append(list, fmt.Sprintf("the bench was short of processors, and arrivals have no timestamps of the kernel: what arrived waited up to %s (p99) until it was read, %s"+remedy,
			rounded(lag), extent(lag, tpot)))
	}
	if late := p99(late); disturbs(late, ttft, punctual) {
		list = append(list, fmt.Sprintf("the bench was late: requests began up to %s (p99) after they were due, %.0f%% of the median TTFT, which does not hold that and may be too long by as much",
			rounded(late), 100*share(late, ttft)))
	}
	return list
}

// extent says what a wait bends. One that is shorter than a token takes moves some
// tokens to and fro, and the long gaps are where it did. Longer ones heap tokens up
// until nothing is left of the server's rhythm: medians go wrong soon after.
func extent(lag, tpot time.Duration) string {
	if lag < tpot {
		return fmt.Sprintf("%.0f%% of the median TPOT: the longest gaps and the tail of ITL are its own as much as the server's, TPOT and the median of ITL hold", 100*share(lag, tpot))
	}
	return fmt.Sprintf("longer than a token takes (%s): tokens that arrived together, gaps, ITL and TPOT are its own as much as the server's", rounded(tpot))
}

// disturbs reports whether a delay of the bench's own is above a floor and too
// much of a median.
func disturbs(delay, median, floor time.Duration) bool {
	return delay > floor && median > 0 && share(delay, median) > tolerated
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
