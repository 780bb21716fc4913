package status

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// TestFailuresOutliveTheRing holds that the last failures are kept when the ring has forgotten them, and only once
// while they are in it.
func TestFailuresOutliveTheRing(t *testing.T) {
	b := newTestBoard("a")
	for i := range 40 {
		b.Record(broken("a", probe.Stalled, fmt.Sprintf("failure %d", i)))
	}
	equal(t, "failures in the ring", len(b.views()[0].history.results()), 40)
	for range ringSize {
		b.Record(success("a", ms))
	}
	kept := b.views()[0].history.results()
	equal(t, "results", len(kept), failedSize+ringSize)
	equal(t, "error of the oldest", *kept[0].Error, "failure 8")
	equal(t, "failures", len(b.views()[0].Failures()), failedSize)
}

// TestMemoryIsBounded holds that a history keeps as many results as their lists have room for, and always the last.
func TestMemoryIsBounded(t *testing.T) {
	e := newEntry(long("a", 1000), probe.Description{})
	for name, test := range map[string]struct {
		bytes, want int
	}{
		"room for ten":         {10 * e.size(), 10},
		"a byte less":          {10*e.size() - 1, 9},
		"not even room for it": {0, 1},
	} {
		var h history
		for range 20 {
			h.add(e, share{results: ringSize, bytes: test.bytes})
		}
		equal(t, name, len(h.ring), test.want)
	}
	one, thousand := shareOf(1), shareOf(1000)
	equal(t, "share of one target", []int{one.results, one.bytes}, []int{ringSize, maxBytes})
	equal(t, "share of a thousand", []int{thousand.results, thousand.bytes}, []int{allResults / 1000, allBytes / 1000})
}

// TestManyTargetsShareTheMemory holds that a target keeps its share of results, and that what is shown of it says how
// long a time they are of if that is less than an hour.
func TestManyTargetsShareTheMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newTestBoard()
		for n := range 1000 {
			b.Set(probe.Description{Prompt: "cold", Name: strconv.Itoa(n)})
		}
		time.Sleep(time.Hour)
		for range 100 {
			b.Record(success("7", ms, 2*ms))
			time.Sleep(time.Second)
		}
		b.Record(success("8", ms))
		const caption = "of the last hour (40 s where the prober knows no more)"
		equal(t, "caption of the page", strings.Contains(get(t, b, "/").Body.String(), caption), true)
		for range 40 {
			b.Record(broken("9", probe.DNS, "no such host"))
		}
		for range 40 {
			b.Record(success("9", ms))
		}
		list := b.views()
		equal(t, "results", len(list[7].history.results()), 40)
		equal(t, "results, with failures that the ring forgot", len(list[9].history.results()), 40+40/4)
		equal(t, "time that they are of", []string{list[7].Span(), list[8].Span()}, []string{"40 s", "hour"})
	})
}

// minute returns a success that was recorded that many minutes after a fixed time.
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
// the slowest are the same, and older ones are gone. Of the values of one quantity many are equal.
func TestKeepsTheSlowestOfTheDay(t *testing.T) {
	if testing.Short() {
		t.Skip("make test takes the time")
	}
	random := rand.New(rand.NewPCG(1, 2))
	var all []*entry
	var h history
	for n := range 2 * 24 * 60 {
		e := minute(n, random.Float64(), random.ExpFloat64(), float64(n%5))
		all = append(all, e)
		h.add(e, shareOf(1))
		if len(h.earlier) > 0 && h.earlier[0].At.Before(e.At.Add(-day)) {
			t.Fatalf("at minute %d, a result from %v is kept", n, h.earlier[0].At)
		}
		if n%30 > 0 {
			continue
		}
		for _, age := range []time.Duration{time.Minute, window, 5 * time.Hour, day} {
			for _, q := range slowness {
				slowest := func(list []*entry) (values []float64) {
					for _, e := range q.slowest(list, e.At.Add(-age)) {
						values = append(values, *q.ValueOf(e))
					}
					return values
				}
				what := fmt.Sprintf("slowest of the last %v by %s, at minute %d", age, q.Name, n)
				equal(t, what, slowest(h.results()), slowest(all))
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
		equal(t, name+": slowest TTFT", *ttft.slowest(h.results(), time.Time{})[0].TTFT, float64(results))
		equal(t, name+": results that outlived the ring", len(h.earlier) <= small.results/4, true)
	}
}
