package report

import (
	"fmt"
	"iter"
	"math"

	"github.com/llm-prober/prober/internal/probe"
)

// A Phase is a part of a probe, in seconds since its start.
type Phase struct {
	Name     string
	From, To float64
}

// Phases returns the phases that a probe reached, in their order. The last one of a failed probe is the wait until it
// failed. Example: dns, connect, tls, write, wait, first token, decode.
func Phases(r *ResultJSON) (list []Phase) {
	end := 0.0 // of the phase before
	add := func(name string, to float64) {
		list = append(list, Phase{Name: name, From: end, To: max(end, to)})
		end = max(end, to)
	}
	for _, phase := range []struct {
		name   string
		length *float64
	}{
		{"dns", r.Phases.DNS},
		{"connect", r.Phases.Connect},
		{"tls", r.Phases.TLS},
		{"write", r.Phases.Write},
		{"wait", r.Phases.Headers},
	} {
		if phase.length != nil {
			add(phase.name, end+*phase.length)
		}
	}
	if len(r.Arrivals) > 0 {
		add("first token", r.Arrivals[0])
		lastToken := LastToken(r)
		if lastToken > end {
			add("decode", lastToken)
		}
	}
	if r.Outcome != probe.OK && r.Elapsed > end {
		add("to failure", r.Elapsed)
	}
	return list
}

// LastToken returns when the last token frame arrived, in seconds since the start. It is E2EL if the probe succeeded,
// and 0 if no token frame arrived.
func LastToken(r *ResultJSON) float64 {
	if r.E2EL != nil {
		return *r.E2EL
	}
	if len(r.Arrivals) > 0 {
		return r.Arrivals[len(r.Arrivals)-1]
	}
	return 0
}

// LongestGap returns the longest gap, and the index of the token frame after it. If the gap was still open when the
// probe failed, that index is the number of frames. ok is false if the gap is not known.
func LongestGap(r *ResultJSON) (gap Phase, frame int, ok bool) {
	const name = "longest"
	const rounding = 0.5e-9 // seconds; JSON has nanoseconds
	if r.MaxGap == nil {
		return gap, 0, false
	}
	for i, length := range r.Gaps() {
		if math.Abs(length-*r.MaxGap) < rounding {
			return Phase{Name: name, From: r.Arrivals[i-1], To: r.Arrivals[i]}, i, true
		}
	}
	n := len(r.Arrivals)
	if r.Outcome == probe.OK || n != r.Frames || n == 0 {
		return gap, 0, false
	}
	return Phase{Name: name, From: r.Arrivals[n-1], To: r.Elapsed}, n, true
}

// LongestGapPlace returns where the longest gap is, as a text that follows its length. It is empty if unknown.
func LongestGapPlace(r *ResultJSON) string {
	_, frame, ok := LongestGap(r)
	switch {
	case !ok:
		return ""
	case frame == len(r.Arrivals):
		return ", still open when the probe failed"
	default:
		return fmt.Sprintf(", before token frame %d of %d", frame+1, r.Frames)
	}
}

// Gaps yields the times in seconds between consecutive token frames with known arrivals, and the index of the later
// frame.
func (j *ResultJSON) Gaps() iter.Seq2[int, float64] {
	return func(yield func(int, float64) bool) {
		isKnown := func(i int) bool { return i >= len(j.Uncertain) || !j.Uncertain[i] }
		for i := 1; i < len(j.Arrivals); i++ {
			gap := math.Round((j.Arrivals[i]-j.Arrivals[i-1])*1e9) / 1e9
			if isKnown(i-1) && isKnown(i) && !yield(i, gap) {
				return
			}
		}
	}
}
