package bench

import (
	"fmt"
	"time"

	"github.com/llm-prober/prober/internal/format"
)

// How much delay of the bench itself is tolerated in what it measures.
const (
	tolerated   = 0.1                    // share of the median
	readFloor   = 500 * time.Microsecond // waits to read up to this, whatever the share: an idle machine's wakes take some of it
	beforeFloor = 5 * time.Millisecond   // delays before a request up to this, whatever the share: some requests at once take that
)

// clientWarnings says whether the bench itself was too slow: it waited for a CPU (so long at p99), or its requests began late.
// With kernel timestamps waiting moves no arrival.
// TTFT and TPOT are the medians that were measured; 0 where there is none. It sorts starts, how late requests began.
func clientWarnings(wait time.Duration, starts []time.Duration, kernel bool, ttft, tpot time.Duration) []string {
	var list []string
	if !kernel && disturbs(wait, tpot, readFloor) {
		list = append(list, fmt.Sprintf("the bench was short of CPU, and arrivals have no kernel timestamps: data waited up to %s (p99) to be read, %s; lower the load, or run the bench where more CPUs are free",
			format.Duration(wait), extent(wait, tpot)))
	}
	if late := p99(starts); disturbs(late, ttft, beforeFloor) {
		list = append(list, fmt.Sprintf("the bench was late: requests began up to %s (p99) after they were due, %.0f%% of the median TTFT, which does not include that delay but may be too long by as much",
			format.Duration(late), 100*share(late, ttft)))
	}
	return list
}

// extent says which numbers a wait affects: medians too, once it is longer than a token takes.
func extent(wait, tpot time.Duration) string {
	if wait < tpot {
		return fmt.Sprintf("%.0f%% of the median TPOT: the longest gaps and the tail of ITL are unreliable: client delay is as large; TPOT and the median of ITL hold", 100*share(wait, tpot))
	}
	return fmt.Sprintf("longer than a token takes (%s): tokens that arrived together, gaps, ITL and TPOT are unreliable: client delay is as large", format.Duration(tpot))
}

// disturbs reports whether a delay of the bench's own is above a floor and too much of a median.
func disturbs(delay, median, floor time.Duration) bool {
	return delay > floor && median > 0 && share(delay, median) > tolerated
}

func share(part, whole time.Duration) float64 { return float64(part) / float64(whole) }
