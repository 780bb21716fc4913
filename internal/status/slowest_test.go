package status

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// TestSlowest compares what is kept with all results of two days: since any time of the last day the slowest are the
// same, and of a small share the slowest. Of values that only grow or only fall no more are kept than the share allows,
// and the slowest stays.
func TestSlowest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(n int, ttft, gap, tpot float64) *entry {
		e := &entry{At: start.Add(time.Duration(n) * time.Minute)}
		e.Outcome, e.TraceID, e.TTFT, e.MaxGap, e.TPOT = probe.OK, fmt.Sprint(n), &ttft, &gap, &tpot
		if n%7 == 0 {
			e.MaxGap = nil
		}
		return e
	}
	var all []*entry
	var h, small history
	for n := range 2880 {
		e := at(n, random.Float64(), random.ExpFloat64(), float64(n%5))
		all = append(all, e)
		small.add(e, shareOf(1000))
		since := e.At.Add(-day)
		equal(t, "slowest of many targets", slowness[0].slowest(small.kept(), since)[0].TraceID, slowness[0].slowest(all, since)[0].TraceID)
		h.add(e, shareOf(1))
		if n%10 > 0 {
			continue
		}
		for _, age := range []time.Duration{time.Minute, window, 5 * time.Hour, day} {
			for _, q := range slowness {
				values := func(list []*entry) (values []float64) {
					for _, e := range q.slowest(list, e.At.Add(-age)) {
						values = append(values, *q.Of(e))
					}
					return values
				}
				equal(t, fmt.Sprintf("%s of the last %v at %d", q.Name, age, n), values(h.kept()), values(all))
			}
		}
	}
	for name, step := range map[string]float64{"growing": 1, "falling": -1} {
		var h history
		for n := range 1000 {
			v := 1000 + step*float64(n)
			h.add(at(n, v, v, v), shareOf(1000))
		}
		equal(t, name+": slowest", *slowness[0].slowest(h.kept(), start)[0].TTFT, 1000+max(0, step*999))
		if len(h.earlier) > shareOf(1000).results/4 {
			t.Errorf("%s: %d results are kept", name, len(h.earlier))
		}
	}
}
