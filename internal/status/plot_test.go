package status

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// phased is an answer that passed through every phase.
func phased() *probe.Result {
	r := success("a", 600*ms, 700*ms, 1000*ms)
	r.Phases = probe.Phases{DNS: 10 * ms, Connect: 20 * ms, TLS: 30 * ms, Wrote: 100 * ms, Header: 400 * ms}
	return r
}

func TestBars(t *testing.T) {
	v := viewOf(phased(), broken("a", probe.DNS, "no such host"))
	for limit, want := range map[float64][]string{
		2:   {"[{dns 0 0.48} {connect 0.48 0.96} {tls 1.44 1.44} {write 2.88 1.92} {wait 4.8 14.4} {first token 19.2 9.6} {decode 28.8 19.2}]", "[{failure 0 6}]"},
		0.5: {"[{dns 0 1.92} {connect 1.92 3.84} {tls 5.76 5.76} {write 11.52 7.68} {wait 19.2 57.6} {first token 76.8 19.2}]", "[{failure 0 6}]"},
	} {
		v.Scales.Bars = limit
		bars := v.Bars()
		equal(t, fmt.Sprintf("bars up to %g s", limit), []string{fmt.Sprint(bars[0].Parts), fmt.Sprint(bars[1].Parts)}, want)
		equal(t, "their places", []float64{bars[0].X, bars[1].X, bars[1].Left, bars[1].Middle}, []float64{95, 97.5, 97.78, 98.75})
	}

	v = viewOf(slices.Repeat([]*probe.Result{phased()}, 100)...)
	equal(t, "number of bars, and place of the first", []float64{float64(len(v.Bars())), v.Bars()[0].X}, []float64{slots, 0})
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

func TestScales(t *testing.T) {
	second, long := success("a", ms, time.Second), success("b", ms, 3*time.Second)
	outlier := success("a", ms, 9*time.Second)
	late := broken("b", probe.Timeout, "too slow")
	late.Elapsed = 110 * time.Second
	stalled := success("a", 500*ms, 1000*ms)
	stalled.Outcome, stalled.Elapsed = probe.Stalled, 31*time.Second
	for name, test := range map[string]struct {
		results []*probe.Result
		want    scales
	}{
		"nothing":                               {nil, scales{1, 1}},
		"all bars of a group, its last answers": {[]*probe.Result{long, second, late}, scales{3, 1}},
		"an outlier":                            {[]*probe.Result{outlier, second, second, long}, scales{6, 3}},
		"no success":                            {[]*probe.Result{late}, scales{120, 120}},
		"a stall, 1.3 times its tokens":         {[]*probe.Result{stalled}, scales{40, 1.5}},
	} {
		b := newTestBoard("a", "b")
		for _, r := range test.results {
			b.Record(r)
		}
		equal(t, name, scalesOf(b.views()), test.want)
	}
}

// late is success with its frames in one read that came 2 s late, but for the first two.
func late(target string, at ...time.Duration) *probe.Result {
	r := success(target, at...)
	r.Timestamps = probe.ByKernel
	last := len(at) - 1
	for i := range r.Tokens {
		a := &r.Tokens[i]
		a.Kernel = true
		if i > 1 {
			a.At, a.Read, a.Delay = at[last], uint32(last), 2*time.Second
		}
	}
	return r
}

// stalled is r without its end: it stalled for a second, until 2 s.
func stalled(r *probe.Result) *probe.Result {
	r.Outcome, r.Elapsed, r.Open = probe.Stalled, 2*time.Second, time.Second
	return r
}

// TestStrips holds where ticks and gaps are drawn, on an axis of two seconds. Arrivals that
// are not known are neither, and what follows is where it was.
func TestStrips(t *testing.T) {
	for name, test := range map[string]struct {
		result      *probe.Result
		ticks, gaps string
	}{
		"gaps": {success("a", 100*ms, 200*ms, 300*ms, 300*ms, 1100*ms, 1200*ms, 1600*ms, 1700*ms),
			"500 1000 1500 5500 6000 8000 8500", "[{silence 15 40}]"},
		"beyond the end":     {success("a", time.Second, 3*time.Second), "5000", "[]"},
		"stalled":            {stalled(success("a", 500*ms, 1000*ms)), "2500 5000", "[{to failure 50 50}]"},
		"no token":           {broken("a", probe.Timeout, "late"), "", "[{to failure 0 0.25}]"},
		"read late":          {late("a", 500*ms, 600*ms, 1500*ms, 2000*ms), "2500 3000 10000", "[]"},
		"stalled, read late": {stalled(late("a", 500*ms, 600*ms, 900*ms, 1000*ms)), "2500 3000 5000", "[{to failure 50 50}]"},
	} {
		v := viewOf(test.result)
		v.Scales.Strip = 2
		s := v.Strip()
		equal(t, name+": ticks", strings.TrimSpace(strings.NewReplacer("M", " ", " 0v1", "").Replace(s.Ticks)), test.ticks)
		equal(t, name+": gaps", fmt.Sprint(s.Gaps), test.gaps)
	}
}

// TestLateReadsAreTold on the bar, in a note and with the strip; their ITL is nowhere.
func TestLateReadsAreTold(t *testing.T) {
	r := late("a", 500*ms, 1000*ms, 1500*ms, 2000*ms)
	r.Taint = probe.TaintLate
	b := boardOf(success("a", 500*ms, 1000*ms, 2000*ms), r)
	v := b.views()[0]
	equal(t, "remarks", v.Remarks(), []string{"last hour: 1 of 2 requests were read too late by this prober: excluded from ITL"})
	equal(t, "values of ITL", v.Quantiles.ITL.N, 2)
	v.past.last().E2EL = nil
	equal(t, "marks of failures in the sparkline, without the last E2EL", v.Spark().Failures, "")
	page := get(t, b, "/").Body.String() + get(t, b, "/probes/"+r.TraceID).Body.String()
	for text, want := range map[string]int{
		"\nread too late by the prober (late): no ITL</title>": 1, // of two bars
		"2 read late by the prober, several at once":           5, // name, title and caption of the strip, name and caption of the probe's own
		"their ticks may be too late</figcaption>":             1,
	} {
		equal(t, text, strings.Count(page, text), want)
	}
}
