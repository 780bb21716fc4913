package report

import (
	"fmt"
	"math"

	"github.com/llm-prober/prober/internal/probe"
)

// A Phase is a part of a probe, in seconds since its start.
type Phase struct {
	Name     string
	From, To float64
}

// Phases are those that a probe reached, in their order. The last one of a failed probe is the wait until it failed.
func Phases(a *ResultJSON) (list []Phase) {
	at := 0.0
	until := func(name string, to float64) {
		list = append(list, Phase{name, at, max(at, to)})
		at = max(at, to)
	}
	p := a.Phases
	for _, phase := range []struct {
		name   string
		length *float64
	}{{"dns", p.DNS}, {"connect", p.Connect}, {"tls", p.TLS}, {"write", p.Write}, {"wait", p.Headers}} {
		if phase.length != nil {
			until(phase.name, at+*phase.length)
		}
	}
	if len(a.Arrivals) > 0 {
		until("first token", a.Arrivals[0])
		if end := LastToken(a); end > at {
			until("decode", end)
		}
	}
	if a.Outcome != probe.OK && a.Elapsed > at {
		until("to failure", a.Elapsed)
	}
	return list
}

// LastToken is when the last token frame came; of a successful probe, E2EL. It is 0 if none came.
func LastToken(a *ResultJSON) float64 {
	if a.E2EL != nil {
		return *a.E2EL
	}
	if n := len(a.Arrivals); n > 0 {
		return a.Arrivals[n-1]
	}
	return 0
}

// LongestGap is the longest gap, and the index of the token frame after it, which is the number of frames if the gap was
// still open when the probe failed. ok is false if it is not known.
func LongestGap(a *ResultJSON) (gap Phase, frame int, ok bool) {
	if a.MaxGap == nil {
		return gap, 0, false
	}
	for i, gap := range a.Gaps() {
		if math.Abs(gap-*a.MaxGap) < 0.5e-9 {
			return Phase{"longest", a.Arrivals[i-1], a.Arrivals[i]}, i, true
		}
	}
	n := len(a.Arrivals)
	if a.Outcome == probe.OK || n != a.Frames || n == 0 {
		return gap, 0, false
	}
	return Phase{"longest", a.Arrivals[n-1], a.Elapsed}, n, true
}

// GapPlace is where the longest gap is, to be appended to its length: empty if that is not known.
func GapPlace(a *ResultJSON) string {
	switch _, frame, ok := LongestGap(a); {
	case !ok:
		return ""
	case frame == len(a.Arrivals):
		return ", still open when the probe failed"
	default:
		return fmt.Sprintf(", before token frame %d of %d", frame+1, a.Frames)
	}
}
