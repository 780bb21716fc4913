package status

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// minute returns a success that was recorded so many minutes after a fixed time.
func minute(n int, ttft, gap, tpot float64) *entry {
	e := &entry{At: time.Date(2026, 1, 1, 0, n, 0, 0, time.UTC)}
	e.Outcome = probe.OK
	e.TTFT, e.MaxGap, e.TPOT = &ttft, &gap, &tpot
	if n%7 == 0 {
		e.MaxGap = nil
	}
	return e
}

// TestKeepsTheSlowestOfTheDay compares what a history keeps with all results of two days: of any time of the last day
// the slowest are the same. Of the values of one quantity many are equal.
func TestKeepsTheSlowestOfTheDay(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []*entry
	var h history
	for n := range 2 * 24 * 60 {
		e := minute(n, random.Float64(), random.ExpFloat64(), float64(n%5))
		all = append(all, e)
		h.add(e, shareOf(1))
		if n%30 > 0 {
			continue
		}
		for _, age := range []time.Duration{time.Minute, window, 5 * time.Hour, day} {
			for _, q := range slowness {
				slowest := func(list []*entry) (values []float64) {
					for _, e := range q.slowest(list, e.At.Add(-age)) {
						values = append(values, *q.Of(e))
					}
					return values
				}
				what := fmt.Sprintf("slowest of the last %v by %s, at minute %d", age, q.Name, n)
				equal(t, what, slowest(h.kept()), slowest(all))
			}
		}
	}
}

// TestKeepsAtMostItsShare holds that of values that only grow or only fall no more are kept than the share allows, and
// that the slowest is among them.
func TestKeepsAtMostItsShare(t *testing.T) {
	const results = 1000
	small := shareOf(1000)
	for name, valueOf := range map[string]func(n int) float64{
		"growing": func(n int) float64 { return float64(n + 1) },
		"falling": func(n int) float64 { return float64(results - n) },
	} {
		var h history
		for n := range results {
			v := valueOf(n)
			h.add(minute(n, v, v, v), small)
		}
		ttft := slowness[0]
		equal(t, name+": slowest TTFT", *ttft.slowest(h.kept(), time.Time{})[0].TTFT, float64(results))
		equal(t, name+": results that outlived the ring", len(h.earlier) <= small.results/4, true)
	}
}
