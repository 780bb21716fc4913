package status

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/timing"
)

// phased returns an answer that passed through every phase.
func phased(target string) *probe.Result {
	r := success(target, 600*ms, 700*ms, 1000*ms)
	r.Timeline.Phases = timing.Phases{DNS: 10 * ms, Connect: 20 * ms, TLS: 30 * ms, Wrote: 100 * ms, Header: 400 * ms}
	return r
}

// late returns an answer whose frames, but for the first two, came in one read that was 2 s late.
func late(target string, at ...time.Duration) *probe.Result {
	r := success(target, at...)
	r.Timestamps = probe.ByKernel
	r.Timeline.Taint = timing.TaintLate
	last := len(at) - 1
	for i := range r.Timeline.Frames {
		a := &r.Timeline.Frames[i]
		a.Kernel = true
		if i > 1 {
			a.At, a.Read, a.Delay = at[last], uint32(last), 2*time.Second
		}
	}
	return r
}

// stalled returns a result that had tokens until a second after its start and failed a second later.
func stalled(target string) *probe.Result {
	r := success(target, 100*ms, 1000*ms)
	r.Outcome, r.Elapsed, r.Timeline.Open = probe.Stalled, 2*time.Second, time.Second
	return r
}

func TestOnlyTheLastProbesAreBars(t *testing.T) {
	b := boardOf(slices.Repeat([]*probe.Result{phased("a")}, maxBars+1)...)
	bars := b.page(selection{}).Sections[0].Cards[0].Only().Bars().Bars
	equal(t, "bars", len(bars), maxBars)
	equal(t, "place of the first", bars[0].X, 0.0)
}

// TestTheOldestBarHasATimeIfThereIsRoom holds that the time of the oldest bar does not overlap that of the newest.
func TestTheOldestBarHasATimeIfThereIsRoom(t *testing.T) {
	for bars, want := range map[int][]float64{16: {100}, 17: {57.5, 100}} {
		var places []float64
		results := slices.Repeat([]*entry{newEntry(phased("a"), probe.Description{})}, bars)
		for _, label := range newBarChart(results, 1).Times {
			places = append(places, label.X)
		}
		equal(t, fmt.Sprintf("places of times with %d bars", bars), places, want)
	}
}

func TestEveryFailureHasItsOwnLetter(t *testing.T) {
	seen := map[string]probe.Outcome{}
	for _, o := range probe.Outcomes() {
		letter := letters[o]
		if other, ok := seen[letter]; ok || (letter == "") != (o == probe.OK) {
			t.Errorf("letter of %s is %q, as of %q", o, letter, other)
		}
		seen[letter] = o
	}
}

// TestSpark holds that failures are marks, that a success whose E2EL is not known interrupts the line, and that few
// results stand at the right.
func TestSpark(t *testing.T) {
	unknown := success("a", ms)
	unknown.OtherLength = true
	var results []*entry
	for _, r := range []*probe.Result{success("a", ms), unknown, success("a", 2*ms), success("a", ms), stalled("a")} {
		results = append(results, newEntry(r, probe.Description{}))
	}
	equal(t, "spark", newSpark(results, 0.002), spark{Width: 12, Line: "M7.5 5.5M9.5 1.0L10.5 5.5", Failures: "M11.5 0v10"})
	equal(t, "width of many", newSpark(slices.Repeat(results, 8), 1).Width, 40)
}

// TestScales holds where the axes of a group of two targets end.
func TestScales(t *testing.T) {
	second := success("a", ms, time.Second)
	long := success("b", ms, 3*time.Second)
	outlier := success("a", ms, 9*time.Second)
	timeout := broken("b", probe.Timeout, "too slow")
	timeout.Elapsed = 110 * time.Second
	longStall := stalled("a")
	longStall.Elapsed = 31 * time.Second
	for name, test := range map[string]struct {
		results []*probe.Result
		want    scales
	}{
		"nothing":                              {nil, scales{1, 1}},
		"the longest bar, and the last answer": {[]*probe.Result{long, second, timeout}, scales{3, 1}},
		"an outlier does not flatten the bars": {[]*probe.Result{outlier, second, second, long}, scales{6, 3}},
		"without a success, a failure":         {[]*probe.Result{timeout}, scales{120, 120}},
		"1.3 times the tokens before a stall":  {[]*probe.Result{longStall}, scales{40, 1.5}},
	} {
		b := newTestBoard("a", "b")
		for _, r := range test.results {
			b.Record(r)
		}
		equal(t, name, scalesOf(b.views()), test.want)
	}
}

// TestALongWaitIsBroken holds where the axis of a probe that failed is broken, which depends on whether its wait goes on
// after the end of the axis, and that the real times stand at the break.
func TestALongWaitIsBroken(t *testing.T) {
	long := stalled("a")
	long.Elapsed = 31 * time.Second
	for name, test := range map[string]struct {
		result *probe.Result
		end    float64
		want   *axisBreak
	}{
		"beyond the axis":       {long, 2, &axisBreak{X: 90, Middle: 70, Length: 30, Elapsed: 31}},
		"up to its end":         {long, 31, nil},
		"after its end":         {long, 1, nil},
		"a success is not long": {success("a", ms, 3*time.Second), 2, nil},
	} {
		equal(t, name, newStrip(newEntry(test.result, probe.Description{}), test.end).Break, test.want)
	}
}

func TestAxesEndAtRoundNumbers(t *testing.T) {
	for v, want := range map[float64]string{
		0: "1", 1: "1", 1.01: "1.2", 0.0123: "0.015", 9: "10", 110: "120", 84: "100",
	} {
		equal(t, fmt.Sprint("end of an axis for ", v), fmt.Sprintf("%.3g", axisEnd(v)), want)
	}
}
