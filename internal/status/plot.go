package status

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stats"
)

// The geometry of the plots. Widths are in percent, so that they fit every screen, heights in pixels. The templates
// write what is computed here, and plots.html has the sizes that never change, such as the width of a bar.
const (
	maxBars          = 40 // probes shown as bars
	placeWidth       = 100.0 / maxBars
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

// scaled returns phases as pieces of an axis that is that many units long and ends at limit, in seconds.
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

// A barChart shows the last results as bars, the newest at the right.
type barChart struct {
	End    float64 // of the axis, in seconds
	Bars   []bar
	Times  []timeLabel
	Beyond bool                  // a bar is longer than the axis
	Failed map[probe.Outcome]int // bars by outcome, but for ok
}

// A bar is a result as the page draws it.
type bar struct {
	*entry
	X      float64 // left end of its place
	Left   float64 // left end of the bar
	Middle float64 // of its place
	Parts  []piece // from the bottom to the top
	Beyond bool    // it is longer than the axis
}

// A timeLabel is the time of a result below its bar.
type timeLabel struct {
	Start  time.Time
	X      float64
	Anchor string // the end of the text that is at X, as SVG names it
}

// newBarChart draws at most maxBars results, oldest first, on an axis that ends at end, in seconds. It returns nil if
// there are none.
func newBarChart(results []*entry, end float64) *barChart {
	if len(results) == 0 {
		return nil
	}
	c := &barChart{End: end, Failed: map[probe.Outcome]int{}}
	left := placeWidth * float64(maxBars-len(results))
	for i, e := range results {
		x := left + placeWidth*float64(i)
		phases := report.Phases(e.ResultJSON())
		if !e.OK() {
			c.Failed[e.Outcome]++
			phases = []report.Phase{{Name: "failure", To: max(minFailureHeight*end/barHeight, e.Elapsed)}}
		}
		isBeyond := len(phases) > 0 && phases[len(phases)-1].To > end
		c.Beyond = c.Beyond || isBeyond
		c.Bars = append(c.Bars, bar{
			entry:  e,
			X:      x,
			Left:   coordinate(x + 0.11*placeWidth),
			Middle: coordinate(x + placeWidth/2),
			Parts:  scaled(phases, end, barHeight),
			Beyond: isBeyond,
		})
	}
	const widthOfTime = 8 // in bars, on a phone
	if len(results) > 2*widthOfTime {
		c.Times = append(c.Times, timeLabel{results[0].Start, left, "start"})
	}
	c.Times = append(c.Times, timeLabel{results[len(results)-1].Start, 100, "end"})
	return c
}

// A spark is the E2EL of the last results as two SVG paths, Width wide and 10 high.
type spark struct {
	Width    int
	Line     string
	Failures string // a mark for each failure
}

// newSpark draws results, oldest first, on an axis that ends at end, in seconds. Few results have some room left of
// them, so that two of them do not look like a trend.
func newSpark(results []*entry, end float64) spark {
	const least = 12
	s := spark{Width: max(least, len(results))}
	move := "M"
	for i, e := range results {
		x := s.Width - len(results) + i
		if !e.OK() {
			s.Failures += fmt.Sprintf("M%d.5 0v10", x)
		}
		if e.E2EL == nil { // the probe failed, or its end was read too late
			move = "M"
			continue
		}
		s.Line += fmt.Sprintf("%s%d.5 %.1f", move, x, 10-9*min(1, *e.E2EL/end))
		move = "L"
	}
	return s
}

// A strip is a probe on a time axis: its phases, a tick for every token frame, and the gaps that stand out.
type strip struct {
	*report.ResultJSON
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

// newStrip draws a result on an axis that ends at end, in seconds. It returns nil without a result.
func newStrip(e *entry, end float64) *strip {
	if e == nil {
		return nil
	}
	result := e.ResultJSON()
	phases := report.Phases(result)
	silence := longGaps(result)
	var atBreak *axisBreak
	if !e.OK() && len(phases) > 0 {
		wait := phases[len(phases)-1] // until it failed
		silence = append(silence, wait)
		atBreak = breakOf(wait, end)
	}
	s := &strip{
		ResultJSON: result,
		Break:      atBreak,
		Spans:      scaled(phases, end, 100),
		Silence:    scaled(silence, end, 100),
		End:        end,
		Ticks:      ticks(result.Arrivals, end),
	}
	longest, _, ok := report.LongestGap(result)
	if ok {
		s.Longest = scaled([]report.Phase{longest}, end, 100)
	}
	return s
}

// OK reports whether the probe succeeded.
func (s *strip) OK() bool { return s.Outcome == probe.OK }

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
func longGaps(r *report.ResultJSON) (list []report.Phase) {
	median := stats.Median(gapsOf(r)) // NaN without a gap
	for frame, gap := range r.Gaps() {
		if median > 0 && gap > 5*median {
			list = append(list, report.Phase{Name: "silence", From: r.Arrivals[frame-1], To: r.Arrivals[frame]})
		}
	}
	return list
}

// scales are the values at the ends of the axes of prompts that are compared.
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
		for _, e := range v.history.newest(maxBars) {
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
		bars = min(slices.Max(e2els), 3*stats.Median(e2els))
	}
	return scales{Bars: axisEnd(bars), Strip: axisEnd(cmp.Or(withTokens, withoutTokens))}
}

// extent returns where the strip of a probe ends, in seconds; 0 without a probe.
func extent(e *entry) (end float64, hasTokens bool) {
	if e == nil {
		return 0, false
	}
	last := report.LastToken(e.ResultJSON())
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
