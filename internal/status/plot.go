package status

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// The geometry of the plots: across in percent, so that they fit every screen, and down in pixels.
const (
	slots      = 40    // probes shown as bars
	barHeight  = 96    // of the longest bar
	smallest   = 0.05  // length below which a piece is not drawn
	leastFault = 6     // height of a failed bar at least
	ticksWide  = 10000 // width of the path of ticks, in its own units
)

// A piece is a phase on an axis, in the axis's units from its beginning.
type piece struct {
	Class        string  // how the page paints it
	From, Length float64 // with at most two decimals
}

// scaled draws phases on an axis of so many units that ends at limit.
func scaled(list []report.Phase, limit, units float64) (pieces []piece) {
	for _, p := range list {
		from, to := coordinate(units*min(1, p.From/limit)), coordinate(units*min(1, p.To/limit))
		if to-from >= smallest {
			pieces = append(pieces, piece{p.Name, from, coordinate(to - from)})
		}
	}
	return pieces
}

// coordinate rounds to two decimals, since a page has thousands of them.
func coordinate(v float64) float64 { return math.Round(v*100) / 100 }

var letters = map[probe.Outcome]string{
	probe.DNS: "D", probe.Connect: "C", probe.TLS: "K", probe.Timeout: "T", probe.Stalled: "S",
	probe.Unauthorized: "P", probe.RateLimited: "L", probe.Overloaded: "O", probe.Rejected: "R", probe.ServerError: "E",
	probe.Filtered: "F", probe.Truncated: "U", probe.Malformed: "M", probe.NotStreamed: "N",
	probe.Empty: "Z", probe.WrongLength: "W", probe.WrongAnswer: "A",
}

type bar struct {
	*entry
	X, Left, Middle float64 // of its slot, and of the bar in it
	Parts           []piece // from the bottom
	Beyond          bool    // it goes on above the axis
}

// Bars draws the last results, the newest at the right.
func (v *view) Bars() []bar {
	shown := v.past.bars()
	list := make([]bar, 0, len(shown))
	for i, e := range shown {
		const slot = 100.0 / slots
		x := slot * float64(slots-len(shown)+i)
		b := bar{entry: e, X: x, Left: coordinate(x + 0.11*slot), Middle: coordinate(x + slot/2)}
		whole := e.whole()
		parts := report.Phases(&whole)
		if !e.OK() {
			parts = []report.Phase{{Name: "failure", To: max(leastFault*v.Scales.Bars/barHeight, e.Elapsed)}}
		}
		b.Parts = scaled(parts, v.Scales.Bars, barHeight)
		b.Beyond = len(parts) > 0 && parts[len(parts)-1].To > v.Scales.Bars
		list = append(list, b)
	}
	return list
}

func (v *view) Beyond() bool {
	return slices.ContainsFunc(v.Bars(), func(b bar) bool { return b.Beyond })
}

// An end is where the time of a bar stands.
type end struct {
	*entry
	X      float64
	Anchor string
}

// Ends are the newest bar, and the oldest if there is room for its time.
func (v *view) Ends() (list []end) {
	bars := v.past.bars()
	if len(bars) > slots/4 {
		list = append(list, end{bars[0], 100 - 100.0/slots*float64(len(bars)), "start"})
	}
	return append(list, end{bars[len(bars)-1], 100, "end"})
}

func (h *history) bars() []*entry { return h.ring[max(0, len(h.ring)-slots):] }

func (v *view) Failed() map[probe.Outcome]int {
	n := map[probe.Outcome]int{}
	for _, e := range v.past.bars() {
		if !e.OK() {
			n[e.Outcome]++
		}
	}
	return n
}

// A strip is a probe on a time axis: its phases, a tick for every token frame, and the gaps that stand out.
type strip struct {
	*entry
	Spans, Gaps []piece // in percent
	Longest     []piece // the longest gap, if it is known
	End         float64 // of the axis, in seconds
	Ticks       string  // an SVG path, ticksWide units wide and 1 high
}

// Strip draws the last result; it is nil if there is none.
func (v *view) Strip() *strip { return newStrip(v.Last, v.Scales.Strip) }

func newStrip(e *entry, end float64) *strip {
	if e == nil {
		return nil
	}
	e = &entry{ResultJSON: e.whole(), At: e.At}
	phases := report.Phases(&e.ResultJSON)
	gaps := longGaps(e)
	if !e.OK() && len(phases) > 0 {
		gaps = append(gaps, phases[len(phases)-1])
	}
	var path []byte
	drawn := -1 // ticks that fall on one place are drawn once
	for _, at := range e.Arrivals {
		if x := int(at / end * ticksWide); x <= ticksWide && x != drawn {
			path = fmt.Appendf(path, "M%d 0v1", x)
			drawn = x
		}
	}
	s := &strip{entry: e, Spans: scaled(phases, end, 100), Gaps: scaled(gaps, end, 100), End: end, Ticks: string(path)}
	if longest, _, ok := report.LongestGap(&e.ResultJSON); ok {
		s.Longest = scaled([]report.Phase{longest}, end, 100)
	}
	return s
}

func longGaps(e *entry) (list []report.Phase) {
	usual := float64(median(gaps(&e.ResultJSON)))
	for frame, gap := range e.Gaps() {
		if usual > 0 && gap > 5*usual {
			list = append(list, report.Phase{Name: "silence", From: e.Arrivals[frame-1], To: e.Arrivals[frame]})
		}
	}
	return list
}

// scales are the values at the ends of the axes of targets that are compared.
type scales struct{ Bars, Strip float64 }

// scalesOf finds the scales of a group. Bars end at the longest success, but at three times the median at most, so that
// one outlier does not flatten all others; without a success they end at the longest failure.
// Strips end at the last token. There a failed probe gets room for the gap during which it failed, but not for all of
// it: a stall of half a minute would hide everything else.
func scalesOf(group []*view) scales {
	var bad, tokens, bare float64
	var good []float64
	for _, v := range group {
		for _, e := range v.past.bars() {
			if e.E2EL != nil {
				good = append(good, *e.E2EL)
			} else {
				bad = max(bad, e.Elapsed)
			}
		}
		if end, seen := extent(v.Last); seen {
			tokens = max(tokens, end)
		} else {
			bare = max(bare, end)
		}
	}
	if len(good) > 0 {
		bad = min(slices.Max(good), 3*float64(median(good)))
	}
	return scales{nice(bad), nice(cmp.Or(tokens, bare))}
}

// extent is where the strip of a probe ends, 0 for none. seen is whether it has tokens.
func extent(e *entry) (end float64, seen bool) {
	if e == nil {
		return 0, false
	}
	whole := e.whole()
	switch end = report.LastToken(&whole); {
	case end == 0:
		return e.Elapsed, false
	case e.OK():
		return end, true
	}
	return min(e.Elapsed, 1.3*end), true
}

// nice is the next number of an axis at or above v: 1, 1.2, 1.5, 2, … times a power of ten; 1 if there is nothing to
// show.
func nice(v float64) float64 {
	if v <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if v <= step*power {
			return step * power
		}
	}
	return 10 * power
}
