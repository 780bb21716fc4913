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
// frame, and the silences that stand out.
type strip struct {
	Spans []across // stages
	Gaps  []across // silences
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
	for _, st := range silences(a) {
		if p, ok := piece(st.Class, st.From, st.To); ok {
			s.Gaps = append(s.Gaps, p)
		}
	}
	s.Ticks = ticks(a, limit)
	s.Title = stripTitle(a)
	return s
}

// ticks is a path with a tick for each arrival; those that fall on one place are
// drawn once. Of a tainted result the first is all that is known.
func ticks(a *probe.Account, limit float64) string {
	if a.TTFT == nil {
		return ""
	}
	var b strings.Builder
	at, drawn := *a.TTFT, -1
	for i := -1; i < len(a.ChunkGaps); i++ {
		if i >= 0 {
			at += a.ChunkGaps[i]
		}
		x := int(at / limit * ticksWide)
		if x > ticksWide || x == drawn {
			continue
		}
		b.WriteString("M" + strconv.Itoa(x) + " 0v1")
		drawn = x
	}
	return b.String()
}

// silences are the gaps of more than five times the median gap, and what went
// before the end of a failed probe.
func silences(a *probe.Account) []stage {
	usual := 5 * median(a.ChunkGaps)
	var list []stage
	at := 0.0
	if a.TTFT != nil {
		at = *a.TTFT
		for _, gap := range a.ChunkGaps {
			if gap > usual && usual > 0 {
				list = append(list, stage{"silence", at, at + gap})
			}
			at += gap
		}
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
// compared. A probe that died gets room for the silence in which it did, but not
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
