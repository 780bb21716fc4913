package status

import (
	"cmp"
	"math"
	"strings"

	"github.com/llm-prober/prober/internal/stats"
)

// notable returns why a new result is worth a look; nil if it is not. It is asked before the result is added to what is
// usual. The cause of a failure is its outcome. Those of a success are "slow_ttft" for a latency above
// [stats.SlowRatio] times the usual, and "missed_NAME" for an objective whose limit it missed.
func (h *history) notable(e *entry) (causes []string) {
	if !e.OK() {
		return []string{string(e.Outcome)}
	}
	for _, name := range h.usual.slowIn(e) {
		causes = append(causes, "slow_"+strings.ToLower(name))
	}
	for i, o := range e.objectives {
		if e.judgements[i].Bad > 0 {
			causes = append(causes, "missed_"+cmp.Or(o.Name, string(o.Signal)))
		}
	}
	return causes
}

// slowIn returns the latencies of a success that are slow. Those of another model are not known to be.
func (u *usual) slowIn(e *entry) (names []string) {
	if modelOf(e) != u.model {
		return nil
	}
	isPreviousSlow := false
	for i, latency := range comparedLatencies {
		v := float64(latency.valueOf(e.sample))
		usually, isKnown := u.latencies[i].Value(e.At)
		isSlow := isKnown && !math.IsNaN(v) && v > stats.SlowRatio*usually
		isSameFault := latency.followsPrevious && isPreviousSlow
		if isSlow && !isSameFault {
			names = append(names, latency.name)
		}
		isPreviousSlow = isSlow
	}
	return names
}
