package status

import (
	"cmp"
	"strings"
)

// notable returns why a new result is worth a look; nil if it is not. It is asked before the result is added to what is
// usual. The cause of a failure is its outcome. Those of a success are "slow_ttft" for a latency above
// [stats.SlowRatio] times the usual, and "missed_NAME" for an objective whose limit it missed.
func (h *history) notable(e *entry) (causes []string) {
	if !e.OK() {
		return []string{string(e.Outcome)}
	}
	if textOrEmpty(e.Model) == h.usual.model { // of another model it is not known what is usual
		for _, s := range h.usual.slowIn([]*entry{e}, 1, e.At) {
			causes = append(causes, "slow_"+strings.ToLower(s.latency))
		}
	}
	for i, o := range e.objectives {
		if e.judgements[i].Bad > 0 {
			causes = append(causes, "missed_"+cmp.Or(o.Name, string(o.Signal)))
		}
	}
	return causes
}
