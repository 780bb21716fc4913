package status

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/probe"
)

// The geometry of the plots: across in percent, so that they fit every screen,
// and down in pixels.
const (
	slots      = 40    // probes shown as bars
	barHeight  = 96    // of the longest bar
	smallest   = 0.05  // length below which a piece is not drawn
	leastFault = 6     // height of a failed bar at least
	ticksWide  = 10000 // width of the path of ticks, in its own units
)

// A stage is a part of a probe, in seconds since its start.
type stage struct {
	class    string // how the page paints it
	from, to float64
}

// stages are the parts of a probe up to its last token, without empty ones. A
// failed probe has those that it came to.
func stages(e *entry) []stage {
	var list []stage
	at := 0.0
	until := func(class string, to float64) {
		if to > at {
			list = append(list, stage{class, at, to})
			at = to
		}
	}
	p := e.Phases
	for _, s := range []struct {
		class  string
		length *float64
	}{{"dns", p.DNS}, {"connect", p.Connect}, {"tls", p.TLS}, {"write", p.Write}, {"wait", p.Headers}} {
		if s.length != nil {
			until(s.class, at+*s.length)
		}
	}
	if e.Frames > 0 {
		until("first", e.FirstToken)
		until("decode", lastToken(e))
	}
	return list
}

// lastToken is when the last token frame came; of a successful probe, E2EL.
func lastToken(e *entry) float64 {
	if e.E2EL != nil {
		return *e.E2EL
	}
	return e.LastToken
}

// A piece is a stage on an axis, in the axis's units from its beginning.
type piece struct {
	Class        string
	From, Length float64 // with at most two decimals
}

// scaled draws stages on an axis of so many units, with limit at its end. What is
// later is cut off there.
func scaled(list []stage, limit, units float64) (pieces []piece) {
	for _, s := range list {
		from, to := hundredths(units*min(1, s.from/limit)), hundredths(units*min(1, s.to/limit))
		if to-from >= smallest {
			pieces = append(pieces, piece{s.class, from, hundredths(to - from)})
		}
	}
	return pieces
}

func hundredths(v float64) float64 { return math.Round(v*100) / 100 }

// letters mark failed bars.
var letters = map[probe.Outcome]string{
	probe.DNS: "D", probe.Connect: "C", probe.TLS: "K", probe.Timeout: "T", probe.Stalled: "S",
	probe.RateLimited: "L", probe.Overloaded: "O", probe.Rejected: "R", probe.ServerError: "E",
	probe.Filtered: "F", probe.Truncated: "U", probe.Malformed: "M", probe.NotStreamed: "N",
	probe.Empty: "Z", probe.WrongLength: "W", probe.WrongAnswer: "A",
}

// A bar is one probe.
type bar struct {
	*entry
	X, Left, Middle float64 // of its slot, and of the bar in it
	Parts           []piece // from the bottom
}

// Bars draws the last results, the newest at the right.
func (v *view) Bars() []bar {
	shown := v.past.bars()
	list := make([]bar, 0, len(shown))
	for i, e := range shown {
		const slot = 100.0 / slots
		x := slot * float64(slots-len(shown)+i)
		b := bar{entry: e, X: x, Left: hundredths(x + 0.11*slot), Middle: hundredths(x + slot/2)}
		if e.OK() {
			b.Parts = scaled(stages(e), v.Scales.Bars, barHeight)
		} else {
			b.Parts = scaled([]stage{{"failed", 0, max(leastFault*v.Scales.Bars/barHeight, e.Elapsed)}}, v.Scales.Bars, barHeight)
		}
		list = append(list, b)
	}
	return list
}

// bars are the results that are shown as bars.
func (h *history) bars() []*entry { return h.ring[max(0, len(h.ring)-slots):] }

// Failed counts the failed ones of the bars.
func (v *view) Failed() map[probe.Outcome]int {
	n := map[probe.Outcome]int{}
	for _, e := range v.past.bars() {
		if !e.OK() {
			n[e.Outcome]++
		}
	}
	return n
}

// A strip is the last probe on a time axis: its stages, a tick for every token
// frame, and the gaps that stand out.
type strip struct {
	*entry
	Spans, Gaps []piece // in percent
	Ticks       string  // an SVG path, ticksWide units wide and 1 high
}

// Strip draws the last result; it is nil if there is none.
func (v *view) Strip() *strip {
	last := v.past.last()
	if last == nil {
		return nil
	}
	end := v.Scales.Strip
	return &strip{last, scaled(stages(last), end, 100), scaled(longGaps(last), end, 100), ticks(last, end)}
}

// ticks is a path with a tick for each arrival that is known; those that fall on one place are
// drawn once.
func ticks(e *entry, limit float64) string {
	if e.Frames == 0 {
		return ""
	}
	var b strings.Builder
	drawn := -1
	for _, s := range append([]stage{{to: e.FirstToken}}, gaps(e)...) {
		if x := int(s.to / limit * ticksWide); x <= ticksWide && x != drawn {
			b.WriteString("M" + strconv.Itoa(x) + " 0v1")
			drawn = x
		}
	}
	return b.String()
}

// gaps are the chunk gaps of an answer as stages, and what lies between them without a class.
func gaps(e *entry) []stage {
	var list []stage
	at, breaks := e.FirstToken, e.Breaks
	add := func(class string, length float64) {
		list = append(list, stage{class, at, at + length})
		at += length
	}
	for i := 0; i <= len(e.ChunkGaps); i++ {
		for len(breaks) > 0 && breaks[0].Before == i {
			add("", breaks[0].Length)
			breaks = breaks[1:]
		}
		if i < len(e.ChunkGaps) {
			add("silence", e.ChunkGaps[i])
		}
	}
	return list
}

// longGaps are the gaps of more than five times the median gap, and what went
// before the end of a failed probe.
func longGaps(e *entry) []stage {
	var list []stage
	if usual := median(e.ChunkGaps); usual != nil && *usual > 0 {
		for _, s := range gaps(e) {
			if s.class != "" && s.to-s.from > 5**usual {
				list = append(list, s)
			}
		}
	}
	at := 0.0
	if all := stages(e); len(all) > 0 {
		at = all[len(all)-1].to
	}
	if !e.OK() && e.Elapsed > at {
		list = append(list, stage{"failed", at, e.Elapsed})
	}
	return list
}

// scales are the values at the ends of the axes of targets that are compared.
type scales struct{ Bars, Strip float64 }

// scalesOf finds the scales of a group. Bars end at the longest success, or the
// longest failure if there is no success. Strips end at the last token. There a failed
// probe gets room for the gap during which it failed, but not for all of it: a stall of
// half a minute would hide everything else.
func scalesOf(group []*view) scales {
	var good, bad, tokens, bare float64
	for _, v := range group {
		for _, e := range v.past.bars() {
			if e.E2EL != nil {
				good = max(good, *e.E2EL)
			} else {
				bad = max(bad, e.Elapsed)
			}
		}
		last := v.past.last()
		if last == nil {
			continue
		}
		switch end := lastToken(last); {
		case end == 0:
			bare = max(bare, last.Elapsed)
		case last.OK():
			tokens = max(tokens, end)
		default:
			tokens = max(tokens, min(last.Elapsed, 1.3*end))
		}
	}
	return scales{nice(cmp.Or(good, bad)), nice(cmp.Or(tokens, bare))}
}

// nice is the next number of an axis at or above v: 1, 1.2, 1.5, 2, … times a
// power of ten. It is 1 if there is nothing to show.
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
