package status

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
)

// answers returns a success by a letter: u is usual, with a TTFT of 100 ms and tokens every 10 ms. The others are
// slower, each in its own way.
func answers(letter rune) *probe.Result {
	switch letter {
	case 'n': // TTFT 1.9 times the usual, which is not above the limit
		return success("a", 190*ms, 200*ms, 210*ms, 220*ms)
	case 't': // TTFT
		return success("a", 191*ms, 201*ms, 211*ms, 221*ms)
	case 'i': // ITL, and TPOT with it
		return success("a", 100*ms, 120*ms, 140*ms, 160*ms)
	case 'p': // TPOT alone: a pause
		return success("a", 100*ms, 110*ms, 120*ms, 190*ms)
	case 'b': // buffered: tokens come together
		return success("a", 100*ms, 100*ms+50*time.Microsecond, 100*ms+100*time.Microsecond)
	case 'c': // the same, but with three times the distances
		return success("a", 100*ms, 100*ms+150*time.Microsecond, 100*ms+300*time.Microsecond)
	case 'm': // another model
		r := success("a", 300*ms, 330*ms, 360*ms, 390*ms)
		r.Model = "other"
		return r
	}
	return success("a", 100*ms, 110*ms, 120*ms, 130*ms)
}

// replay records a result of target a in each interval, by its letter: x failed, r was refused, the others are answers.
// A number repeats the letter after it.
func replay(b *Board, interval time.Duration, letters string) {
	for part := range strings.FieldsSeq(letters) {
		n := 1
		var letter rune
		if _, err := fmt.Sscanf(part, "%d%c", &n, &letter); err != nil {
			letter = rune(part[0])
		}
		for range n {
			time.Sleep(interval)
			switch letter {
			case 'x':
				b.Record(broken("a", probe.Overloaded, "HTTP 503"))
			case 'r':
				b.Record(broken("a", probe.Unauthorized, "HTTP 401"))
			default:
				b.Record(answers(letter))
			}
		}
	}
}

// TestDegraded holds when a target is degraded, just on both sides of each limit, and how the page says why.
func TestDegraded(t *testing.T) {
	const (
		ten    = 10 * time.Second
		minute = time.Minute
	)
	for _, test := range []struct {
		name     string
		interval time.Duration
		results  string
		want     string // the state, and why it is degraded
	}{
		{"nine judged results", ten, "3x 6u", "ok"},
		{"ten of them", ten, "3x 7u", "degraded: availability 70% (7 of 10) over the last 1 min, goal 90%"},
		{"two bad ones", ten, "2x 8u", "ok"},
		{"a goal that is met exactly", ten, "3x 27u", "ok"},
		{"a goal that is just missed", ten, "3x 26u", "degraded: availability 89.6% (26 of 29) over the last 4 min, goal 90%"},
		{"a failure later it is failing", ten, "3x 26u x", "failing: availability 86.6% (26 of 30) over the last 4 min, goal 90%"},
		{"refusals are not judged", ten, "30r 20u", "ok"},
		{"seven bad ones in ten minutes", ten, "10u 9x 54u", "degraded: availability 88.5% (54 of 61) over the last 10 min, goal 90%"},
		{"when one is older", ten, "10u 9x 55u", "ok"},
		{"the last 20 of rare results", 2 * minute, "9x 17u", "degraded: availability 85% (17 of 20) over the last 40 min, goal 90%"},
		{"with older ones", 2 * minute, "9x 18u", "ok"},
		{"results of the last hour", 7 * minute, "2x 6u 2x u", "ok"},
		{"rarer results are too few", 7 * minute, "9x u", "ok"},

		{"19 usual results", ten, "19u 61t", "ok"},
		{"20 usual results", ten, "20u 61t", "degraded: TTFT 1.9 times the usual: median 191 ms over the last 10 min, 100 ms before"},
		{"a ratio at the limit", ten, "20u 61n", "ok"},
		{"half of the recent results are slow", ten, "51u 30t", "ok"},
		{"more than half of them", ten, "50u 31t", "degraded: TTFT 1.9 times the usual: median 191 ms over the last 10 min, 100 ms before"},
		{"ITL without TPOT", ten, "50u 31i", "degraded: ITL 2.0 times the usual: median 20.0 ms over the last 10 min, 10.0 ms before"},
		{"TPOT by itself", ten, "50u 31p", "degraded: TPOT 3.0 times the usual: median 30.0 ms over the last 10 min, 10.0 ms before"},
		{"tokens that come together", ten, "50b 61c", "ok"},
		{"another model", ten, "50u 31m", "ok"},
		{"20 of rare results", minute, "39u 11t", "degraded: TTFT 1.9 times the usual: median 191 ms over the last 20 min, 100 ms before"},
		{"results that were usual again", ten, "50u 61t 31u", "ok"},
		{"a slowdown that fills the memory", ten, "50u 600t", "degraded: TTFT 1.9 times the usual: median 191 ms over the last 10 min, 100 ms before"},
		{"a slowdown of nearly twelve hours", minute, "50u 730t", "degraded: TTFT 1.9 times the usual: median 191 ms over the last 20 min, 100 ms before"},
		{"one that is older is usual", minute, "50u 731t", "ok"},
		{"a ring of nine minutes", time.Second, "256u 256t u", "degraded: TTFT 1.9 times the usual: median 191 ms over the last 4 min, 100 ms before"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newTestBoard()
				b.Set(probe.Description{Name: "a", Interval: test.interval, Objectives: []probe.Objective{
					{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.9},
				}})
				replay(b, test.interval, test.results)
				v := b.views()[0]
				got := strings.Join(append([]string{string(v.State)}, v.Degradations...), ": ")
				equal(t, "state", got, test.want)
			})
		})
	}
}

// TestSince holds since when a target is in its state, and when a probe last succeeded, in seconds after it was added.
func TestSince(t *testing.T) {
	reject := func(b *Board) { b.RejectTarget("a", nil, usage.Problems{{Place: "f.yaml:7", Text: "is wrong"}}) }
	for _, test := range []struct {
		name    string
		results string // one each 10 s
		then    func(b *Board)
		want    string
	}{
		{"no result", "", nil, "waiting since 0, last ok never"},
		{"the first success", "3u", nil, "ok since 10, last ok 30"},
		{"the first failure after a success", "x u 3x", nil, "failing since 30, last ok 20"},
		{"no success at all", "2x r", nil, "failing since 10, last ok never"},
		{"a success after failures", "u 3x 2u", nil, "ok since 50, last ok 60"},
		{"failures that miss an objective", "9u x u x u x", nil, "failing since 140, last ok 130"},
		{"and a success after them", "9u x u x u x 2u", nil, "degraded since 140, last ok 160"},
		{"when that is over", "9u x u x u x 60u", nil, "ok since 710, last ok 740"},
		{"rejected twice", "2u", func(b *Board) { reject(b); time.Sleep(time.Second); reject(b) }, "rejected since 20, last ok 20"},
		{"rejected once more", "2u", func(b *Board) {
			reject(b)
			b.Set(probe.Description{Name: "a"})
			time.Sleep(time.Second)
			reject(b)
		}, "rejected since 21, last ok 20"},
		{"a probe that hangs", "2u", func(b *Board) {
			began := time.Now().Add(5 * time.Second)
			b.Set(probe.Description{Name: "a", InFlight: func() (int, time.Time) { return 1, began }})
			time.Sleep(time.Minute)
		}, "hanging since 25, last ok 20"},
		{"a probe that hangs after failures", "u 2x", func(b *Board) {
			began := time.Now().Add(5 * time.Second)
			b.Set(probe.Description{Name: "a", InFlight: func() (int, time.Time) { return 1, began }})
			time.Sleep(time.Minute)
		}, "hanging since 20, last ok 10"},
		{"a probe that hung and then failed", "u", func(b *Board) {
			time.Sleep(10 * time.Second)
			r := broken("a", probe.Timeout, "too slow")
			time.Sleep(2 * time.Minute)
			b.Record(r)
		}, "failing since 20, last ok 10"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				added := time.Now()
				b := newTestBoard()
				b.Set(probe.Description{Name: "a", Objectives: []probe.Objective{
					{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.96},
				}})
				replay(b, 10*time.Second, test.results)
				if test.then != nil {
					test.then(b)
				}
				v := b.views()[0]
				lastOK := "never"
				if v.LastOK != nil {
					lastOK = fmt.Sprint(v.LastOK.Sub(added).Seconds())
				}
				got := fmt.Sprintf("%s since %v, last ok %s", v.State, v.Since.Sub(added).Seconds(), lastOK)
				equal(t, "state", got, test.want)
			})
		})
	}
}

// TestWhyATargetIsDown holds that missed objectives are part of the reason only while some probes succeed: a target that
// is down misses all of them.
func TestWhyATargetIsDown(t *testing.T) {
	const missed = "availability 66.6% (10 of 15) over the last 2 min, goal 96%"
	for results, want := range map[string][]string{
		"8u x u x u 3x": {"HTTP 503", missed},
		"8u 61x":        {"HTTP 503"},
		"10x":           {"HTTP 503"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newTestBoard()
			b.Set(probe.Description{Name: "a", Objectives: []probe.Objective{
				{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.96},
			}})
			replay(b, 10*time.Second, results)
			equal(t, results, b.views()[0].Why(), want)
		})
	}
}
