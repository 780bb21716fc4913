package status

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// The geometry of the plots. Widths are in percent, so that they fit every screen, heights in pixels.
const (
	slots            = 40    // probes shown as bars
	barHeight        = 96    // of the longest bar
	minLength        = 0.05  // of a piece; shorter ones are not drawn
	minFailureHeight = 6     // of the bar of a failure
	ticksWidth       = 10000 // of the path of ticks, in its own units
)

// A piece is a phase as it is drawn on an axis.
type piece struct {
	Class        string  // how the page paints it
	From, Length float64 // in units of the axis, with at most two decimals
}

// scaled returns phases as pieces of an axis that is so many units long and ends at limit, in seconds.
func scaled(list []report.Phase, limit, units float64) (pieces []piece) {
	for _, p := range list {
		from := coordinate(units * min(1, p.From/limit))
		to := coordinate(units * min(1, p.To/limit))
		if to-from >= minLength {
			pieces = append(pieces, piece{p.Name, from, coordinate(to - from)})
		}
	}
	return pieces
}

// coordinate rounds to two decimals: a page has thousands of coordinates.
func coordinate(v float64) float64 { return math.Round(v*100) / 100 }

// letters has the letter that stands below the bar of a failure, by its outcome.
var letters = map[probe.Outcome]string{
	probe.DNS: "D", probe.Connect: "C", probe.TLS: "K", probe.Timeout: "T", probe.Stalled: "S",
	probe.Unauthorized: "P", probe.RateLimited: "L", probe.Overloaded: "O", probe.Rejected: "R", probe.ServerError: "E",
	probe.Filtered: "F", probe.Truncated: "U", probe.Malformed: "M", probe.NotStreamed: "N",
	probe.Empty: "Z", probe.WrongLength: "W", probe.WrongAnswer: "A",
}

// A bar is a result as the page draws it.
type bar struct {
	*entry
	X      float64 // left end of its slot
	Left   float64 // left end of the bar
	Middle float64 // of the slot
	Parts  []piece // from the bottom to the top
	Beyond bool    // it is longer than the axis
}

// Bars draws the last results as bars, the newest at the right.
func (v *view) Bars() []bar {
	shown := v.history.bars()
	list := make([]bar, 0, len(shown))
	for i, e := range shown {
		const slot = 100.0 / slots
		x := slot * float64(slots-len(shown)+i)
		b := bar{entry: e, X: x, Left: coordinate(x + 0.11*slot), Middle: coordinate(x + slot/2)}
		whole := e.whole()
		parts := report.Phases(&whole)
		if !e.OK() {
			parts = []report.Phase{{Name: "failure", To: max(minFailureHeight*v.Scales.Bars/barHeight, e.Elapsed)}}
		}
		b.Parts = scaled(parts, v.Scales.Bars, barHeight)
		b.Beyond = len(parts) > 0 && parts[len(parts)-1].To > v.Scales.Bars
		list = append(list, b)
	}
	return list
}

// Beyond reports whether a bar is longer than the axis.
func (v *view) Beyond() bool {
	return slices.ContainsFunc(v.Bars(), func(b bar) bool { return b.Beyond })
}

// A timeLabel is the time of a result below its bar.
type timeLabel struct {
	*entry
	X      float64
	Anchor string // the end of the text that is at X, as SVG names it
}

// TimeLabels returns the time of the newest bar, after that of the oldest if there is room for it.
func (v *view) TimeLabels() (list []timeLabel) {
	const widthOfTime = 8 // in bars, on a phone
	bars := v.history.bars()
	if len(bars) > 2*widthOfTime {
		list = append(list, timeLabel{bars[0], 100 - 100.0/slots*float64(len(bars)), "start"})
	}
	return append(list, timeLabel{bars[len(bars)-1], 100, "end"})
}

// bars returns the results that are shown as bars, the oldest first.
func (h *history) bars() []*entry { return h.ring[max(0, len(h.ring)-slots):] }

// Failed returns how many bars have each outcome but ok.
func (v *view) Failed() map[probe.Outcome]int {
	n := map[probe.Outcome]int{}
	for _, e := range v.history.bars() {
		if !e.OK() {
			n[e.Outcome]++
		}
	}
	return n
}

// A strip is a probe on a time axis: its phases, a tick for every token frame, and the gaps that stand out.
type strip struct {
	*entry
	Spans   []piece // its phases, in percent of the axis
	Silence []piece // the gaps that stand out, in percent
	Longest []piece // the longest gap, in percent; empty if it is not known
	End     float64 // of the axis, in seconds
	Ticks   string  // an SVG path, ticksWidth units wide and 1 high
	Break   *axisBreak
}

// An axisBreak is where the axis of a strip leaves out most of the wait of a probe that failed.
type axisBreak struct {
	X       float64 // of the mark, in percent
	Middle  float64 // of what is drawn of the wait before the mark, in percent
	Length  float64 // of the whole wait, in seconds
	Elapsed float64 // when it ended, in seconds since the start of the probe
}

// breakOf returns the break of an axis that ends at end, in seconds, for a wait that goes on after that; nil if it does
// not. The mark stands in the last third of what is drawn of the wait.
func breakOf(wait report.Phase, end float64) *axisBreak {
	if wait.To <= end || wait.From >= end {
		return nil
	}
	from := 100 * wait.From / end
	return &axisBreak{
		X:       coordinate(from + (100-from)*0.8),
		Middle:  coordinate(from + (100-from)*0.4),
		Length:  wait.To - wait.From,
		Elapsed: wait.To,
	}
}

// Strip draws the last result. It returns nil if there is none.
func (v *view) Strip() *strip { return newStrip(v.Last, v.Scales.Strip) }

// newStrip draws a result on an axis that ends at end, in seconds. It returns nil without a result.
func newStrip(e *entry, end float64) *strip {
	if e == nil {
		return nil
	}
	e = &entry{ResultJSON: e.whole(), At: e.At}
	phases := report.Phases(&e.ResultJSON)
	silence := longGaps(e)
	var atBreak *axisBreak
	if !e.OK() && len(phases) > 0 {
		wait := phases[len(phases)-1] // until it failed
		silence = append(silence, wait)
		atBreak = breakOf(wait, end)
	}
	s := &strip{
		entry:   e,
		Break:   atBreak,
		Spans:   scaled(phases, end, 100),
		Silence: scaled(silence, end, 100),
		End:     end,
		Ticks:   ticks(e.Arrivals, end),
	}
	longest, _, ok := report.LongestGap(&e.ResultJSON)
	if ok {
		s.Longest = scaled([]report.Phase{longest}, end, 100)
	}
	return s
}

// ticks returns an SVG path with a tick for each arrival on an axis that ends at end. Several ticks at one place are
// drawn once.
func ticks(arrivals []float64, end float64) string {
	var path []byte
	drawn := -1
	for _, at := range arrivals {
		x := int(at / end * ticksWidth)
		if x <= ticksWidth && x != drawn {
			path = fmt.Appendf(path, "M%d 0v1", x)
			drawn = x
		}
	}
	return string(path)
}

// longGaps returns the gaps between token frames that are longer than five median gaps.
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

// scalesOf returns the scales of a group.
//
// The axis of bars ends at the longest success, but at most at three times the median: one outlier must not flatten all
// others. Without a success it ends at the longest failure. The axis of strips ends at the last token. A failed probe
// gets some room for the gap during which it failed, but not for all of it: a stall of half a minute would hide
// everything else.
func scalesOf(group []*view) scales {
	var e2els []float64
	var longestFailure float64
	var withTokens, withoutTokens float64 // where the longest strip ends
	for _, v := range group {
		for _, e := range v.history.bars() {
			if e.E2EL != nil {
				e2els = append(e2els, *e.E2EL)
			} else {
				longestFailure = max(longestFailure, e.Elapsed)
			}
		}
		end, hasTokens := extent(v.Last)
		if hasTokens {
			withTokens = max(withTokens, end)
		} else {
			withoutTokens = max(withoutTokens, end)
		}
	}
	bars := longestFailure
	if len(e2els) > 0 {
		bars = min(slices.Max(e2els), 3*float64(median(e2els)))
	}
	return scales{Bars: axisEnd(bars), Strip: axisEnd(cmp.Or(withTokens, withoutTokens))}
}

// extent returns where the strip of a probe ends, in seconds; 0 without a probe.
func extent(e *entry) (end float64, hasTokens bool) {
	if e == nil {
		return 0, false
	}
	whole := e.whole()
	last := report.LastToken(&whole)
	switch {
	case last == 0:
		return e.Elapsed, false
	case e.OK():
		return last, true
	}
	return min(e.Elapsed, 1.3*last), true
}

// axisEnd returns the round number at or above v at which an axis ends: 1, 1.2, 1.5, 2, … times a power of ten. It is
// 1 if there is nothing to show.
func axisEnd(v float64) float64 {
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
