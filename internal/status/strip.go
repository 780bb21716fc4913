package status

import (
	"slices"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/probe"
)

// ticksWide is the width of the path of ticks, in its own units.
const ticksWide = 10000

// A strip is the last probe on a time axis: its stages, a tick for every token
// frame, and the gaps that stand out.
type strip struct {
	Spans []across // stages
	Gaps  []across // long ones
	Ticks string   // an SVG path, ticksWide units wide and 1 high
	Title string
}

// An across is a piece of the axis, in percent.
type across struct {
	Class    string
	X, Width coord
}

// tokenStrip draws a result; limit is the value at the right end. What is later
// is cut off.
func tokenStrip(a *probe.Account, limit float64) strip {
	var s strip
	piece := func(class string, from, to float64) (across, bool) {
		from, to = min(from/limit, 1)*100, min(to/limit, 1)*100
		return across{class, coord(from), coord(to - from)}, to-from >= 0.01
	}
	for _, st := range stages(a) {
		if p, ok := piece(st.Class, st.From, st.To); ok {
			s.Spans = append(s.Spans, p)
		}
	}
	for _, st := range longGaps(a) {
		if p, ok := piece(st.Class, st.From, st.To); ok {
			s.Gaps = append(s.Gaps, p)
		}
	}
	s.Ticks = ticks(a, limit)
	s.Title = stripTitle(a)
	return s
}

// ticks is a path with a tick for each arrival that is known; those that fall on one place are
// drawn once.
func ticks(a *probe.Account, limit float64) string {
	if a.Frames == 0 {
		return ""
	}
	var b strings.Builder
	drawn := -1
	tick := func(at float64) {
		if x := int(at / limit * ticksWide); x <= ticksWide && x != drawn {
			b.WriteString("M" + strconv.Itoa(x) + " 0v1")
			drawn = x
		}
	}
	tick(a.FirstToken)
	for _, p := range pieces(a) {
		tick(p.To)
	}
	return b.String()
}

// pieces are the chunk gaps of an answer as stages, and what lies between them without a class.
func pieces(a *probe.Account) []stage {
	var list []stage
	at, breaks := a.FirstToken, a.Breaks
	add := func(class string, length float64) {
		list = append(list, stage{class, at, at + length})
		at += length
	}
	for i := 0; i <= len(a.ChunkGaps); i++ {
		for len(breaks) > 0 && breaks[0].Before == i {
			add("", breaks[0].Length)
			breaks = breaks[1:]
		}
		if i < len(a.ChunkGaps) {
			add("silence", a.ChunkGaps[i])
		}
	}
	return list
}

// longGaps are the gaps of more than five times the median gap, and what went
// before the end of a failed probe.
func longGaps(a *probe.Account) []stage {
	usual := 5 * median(a.ChunkGaps)
	var list []stage
	for _, p := range pieces(a) {
		if p.Class != "" && p.To-p.From > usual && usual > 0 {
			list = append(list, p)
		}
	}
	at := 0.0
	if a.Frames > 0 {
		at = lastToken(a)
	} else if all := stages(a); len(all) > 0 {
		at = all[len(all)-1].To
	}
	if a.Outcome != probe.OK && a.Elapsed > at {
		list = append(list, stage{"failed", at, a.Elapsed})
	}
	return list
}

// median of values in any order; 0 if there is none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return quantile(slices.Sorted(slices.Values(values)), 0.5)
}

func stripTitle(a *probe.Account) string {
	return "token frames of the last probe on its time axis: " + frames(a)
}

// stripLimit is the value at the right end of the strips of targets that are
// compared. A failed probe gets room for the gap during which it failed, but not
// for all of it: a stall of half a minute would hide everything else.
func stripLimit(group []*snapshot) float64 {
	var tokens, bare float64
	for _, s := range group {
		last, ok := s.last()
		if !ok {
			continue
		}
		a := &last.account
		end := lastToken(a)
		switch {
		case end == 0:
			bare = max(bare, a.Elapsed)
		case last.ok():
			tokens = max(tokens, end)
		default:
			tokens = max(tokens, min(a.Elapsed, 1.3*end))
		}
	}
	if tokens == 0 {
		tokens = bare
	}
	return nice(tokens)
}
