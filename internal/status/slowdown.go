package status

import (
	"fmt"
	"math"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stats"
)

// The results by which a target is slow.
const (
	recentResults = 20 // the last ones, of at most an hour
	leastRecent   = 10 // those of them that have the latency
)

// comparedLatencies are the latencies by which a target can be slow.
var comparedLatencies = [...]struct {
	name    string
	valueOf func(report.Sample) stats.Number // NaN without a value

	// One fault raises this latency and the one before it: it is left out if that one is slow.
	followsPrevious bool
}{
	{name: "TTFT", valueOf: func(s report.Sample) stats.Number { return s.Latencies.TTFT }},
	{name: "ITL", valueOf: func(s report.Sample) stats.Number { return s.Latencies.ITL }},
	{name: "TPOT", valueOf: func(s report.Sample) stats.Number { return s.Latencies.TPOT }, followsPrevious: true},
}

// A usual is what the latencies of a target usually are while its server has one model and is asked the same.
type usual struct {
	model     string
	latencies [len(comparedLatencies)]stats.Usual
}

// add adds a result. The first result of another model makes u forget all before it.
func (u *usual) add(e *entry) {
	if !e.OK() {
		return
	}
	model := textOrEmpty(e.Model)
	if model != u.model {
		*u = usual{model: model}
	}
	for i, latency := range comparedLatencies {
		v := float64(latency.valueOf(e.sample))
		if !math.IsNaN(v) {
			u.latencies[i].Add(e.At, v)
		}
	}
}

// A slowdown is a latency that is far above the usual one.
type slowdown struct {
	latency       string
	recent, usual float64 // medians in seconds
	n             int     // recent probes that have the latency
}

// slowdowns returns what is slow in the last results of an hour, the oldest of which is the first.
func (u *usual) slowdowns(hour []*entry, now time.Time) []slowdown {
	return u.slowIn(hour[max(0, len(hour)-recentResults):], leastRecent, now)
}

// slowIn returns the latencies that are slow in some results: the median is above [stats.SlowRatio] times the usual,
// and is that of a least number of results.
func (u *usual) slowIn(results []*entry, least int, now time.Time) (list []slowdown) {
	isPreviousSlow := false
	for i, latency := range comparedLatencies {
		var values []float64
		for _, e := range results {
			v := float64(latency.valueOf(e.sample))
			if !math.IsNaN(v) {
				values = append(values, v)
			}
		}
		usually, isKnown := u.latencies[i].Value(now)
		median := stats.Median(values) // NaN without any
		isSlow := isKnown && len(values) >= least && median > stats.SlowRatio*usually
		isSameFault := latency.followsPrevious && isPreviousSlow
		if isSlow && !isSameFault {
			list = append(list, slowdown{latency: latency.name, recent: median, usual: usually, n: len(values)})
		}
		isPreviousSlow = isSlow
	}
	return list
}

// sentence says how slow the latency is.
func (s slowdown) sentence() string {
	return fmt.Sprintf("%s %.1f times the usual: median of the last %d probes %s, usually %s",
		s.latency, s.recent/s.usual, s.n, format.Seconds(s.recent), format.Seconds(s.usual))
}
