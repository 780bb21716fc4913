package status

import (
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/probe"
)

// The geometry of the plots: across in percent, so that they fit every screen,
// and down in pixels.
const (
	slots      = 40  // probes shown as bars
	barHeight  = 96  // of the longest bar
	barWidth   = 78  // percent of a slot
	smallest   = 0.3 // height below which a stage is not drawn
	leastFault = 6   // height of a failed bar at least
)

// A coord is a place in a plot. It prints with as few digits as will do.
type coord float64

// String spells the coordinate with at most two decimals.
func (c coord) String() string {
	s := strconv.FormatFloat(float64(c), 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// A stage is a part of a probe, in seconds since its start.
type stage struct {
	Class    string // how the page paints it
	From, To float64
}

// stages are the parts of a probe up to its last token, without empty ones. A
// failed probe has those that it came to.
func stages(a *probe.Account) []stage {
	var list []stage
	at := 0.0
	until := func(class string, to float64) {
		if to > at {
			list = append(list, stage{class, at, to})
			at = to
		}
	}
	p := a.Phases
	for _, s := range []struct {
		class  string
		length *float64
	}{{"dns", p.DNS}, {"connect", p.Connect}, {"tls", p.TLS}, {"write", p.Write}, {"wait", p.Headers}} {
		if s.length != nil {
			until(s.class, at+*s.length)
		}
	}
	if a.Frames > 0 {
		until("first", a.FirstToken)
		until("decode", lastToken(a))
	}
	return list
}

// lastToken is when the last token frame came; of a successful probe, E2EL.
func lastToken(a *probe.Account) float64 {
	if a.E2EL != nil {
		return *a.E2EL
	}
	return a.LastToken
}

// letters mark failed bars.
var letters = map[probe.Outcome]string{
	probe.DNS: "D", probe.Connect: "C", probe.TLS: "K", probe.Timeout: "T", probe.Stalled: "S",
	probe.RateLimited: "L", probe.Overloaded: "O", probe.Rejected: "R", probe.ServerError: "E",
	probe.Filtered: "F", probe.Truncated: "U", probe.Malformed: "M", probe.NotStreamed: "N",
	probe.Empty: "Z", probe.WrongLength: "W", probe.WrongAnswer: "A",
}

// A bar is one probe.
type bar struct {
	X, Middle, Left, Width coord // of the slot, and of the bar in it
	Parts                  []part
	Letter                 string // of a failed probe
	Title                  string
}

// A part is one stage of a bar.
type part struct {
	Class string
	Y, H  coord
}

// bars draws the last results, the newest at the right; limit is the value at
// the top. What is longer is cut off there.
func bars(ring []*entry, limit float64) []bar {
	shown := lastBars(ring)
	list := make([]bar, 0, len(shown))
	slot := 100.0 / slots
	for i, e := range shown {
		x := slot * float64(slots-len(shown)+i)
		width := slot * barWidth / 100
		list = append(list, bar{
			X: coord(x), Middle: coord(x + slot/2), Left: coord(x + (slot-width)/2), Width: coord(width),
			Parts: parts(e, limit), Letter: letters[e.account.Outcome], Title: barTitle(e),
		})
	}
	return list
}

func lastBars(ring []*entry) []*entry { return ring[max(0, len(ring)-slots):] }

func parts(e *entry, limit float64) []part {
	height := func(seconds float64) float64 { return barHeight * min(1, seconds/limit) }
	if !e.ok() {
		h := max(leastFault, height(e.account.Elapsed))
		return []part{{"failed", coord(barHeight - h), coord(h)}}
	}
	var list []part
	for _, s := range stages(&e.account) {
		from, to := height(s.From), height(s.To)
		if to-from >= smallest {
			list = append(list, part{s.Class, coord(barHeight - to), coord(to - from)})
		}
	}
	return list
}

func barTitle(e *entry) string {
	a := &e.account
	at := a.Start.UTC().Format("15:04:05 UTC")
	if !e.ok() {
		return at + "\n" + string(a.Outcome) + " after " + precise(a.Elapsed) + "\n" + deref(a.Error)
	}
	title := at + "\nE2EL " + optional(a.E2EL) + "\nTTFT " + optional(a.TTFT) + "\nTPOT " + optional(a.TPOT)
	if a.Taint != nil {
		title += "\nread too late by the prober (" + string(*a.Taint) + "): no ITL"
	}
	return title
}

// barLimit is the value at the top of the bars of targets that are compared: the
// longest success among them, or the longest failure if there is no success.
func barLimit(group []*snapshot) float64 {
	var good, bad float64
	for _, s := range group {
		for _, e := range lastBars(s.ring) {
			if e.account.E2EL != nil {
				good = max(good, *e.account.E2EL)
			} else {
				bad = max(bad, e.account.Elapsed)
			}
		}
	}
	if good == 0 {
		good = bad
	}
	return nice(good)
}
