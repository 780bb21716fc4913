package telemetry

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// A measure is a quantity that a result may have.
type measure func(*probe.Result) (time.Duration, bool)

// succeeded is m of results that are ok; a failed probe has none.
func succeeded(m measure) measure {
	return func(r *probe.Result) (time.Duration, bool) {
		if r.Outcome != probe.OK {
			return 0, false
		}
		return m(r)
	}
}

// uncached is m of results that are ok, and whose prompt was not in a cache that
// should not have had it.
func uncached(m measure) measure {
	return func(r *probe.Result) (time.Duration, bool) {
		if r.Cache == probe.CacheContaminated {
			return 0, false
		}
		return succeeded(m)(r)
	}
}

// unspoilt is m of results that are ok, and whose first token was meant and seen.
func unspoilt(m measure) measure {
	return func(r *probe.Result) (time.Duration, bool) {
		if !r.Unspoilt() {
			return 0, false
		}
		return succeeded(m)(r)
	}
}

// once records m, at most one sample a result.
func (m measure) once(marked bool) func(probe.Description, *probe.Result) iter.Seq[sample] {
	return func(_ probe.Description, r *probe.Result) iter.Seq[sample] {
		d, ok := m(r)
		return only(sample{value: d.Seconds(), marked: marked}, ok)
	}
}

// only yields s if ok.
func only(s sample, ok bool) iter.Seq[sample] {
	return func(yield func(sample) bool) {
		if ok {
			yield(s)
		}
	}
}

// chunkGaps are the gaps between token frames. The longest is marked.
func chunkGaps(_ probe.Description, r *probe.Result) iter.Seq[sample] {
	return longestMarked(r, r.ChunkGaps())
}

// tokenGaps are the inter-token latencies, none of a tainted probe. The longest is marked.
func tokenGaps(_ probe.Description, r *probe.Result) iter.Seq[sample] {
	return longestMarked(r, r.ITL())
}

// longestMarked are the samples of a result that is ok, the first of the longest marked.
func longestMarked(r *probe.Result, all iter.Seq[time.Duration]) iter.Seq[sample] {
	return func(yield func(sample) bool) {
		if r.Outcome != probe.OK {
			return
		}
		longest := time.Duration(0)
		for d := range all {
			longest = max(longest, d)
		}
		marked := false
		for d := range all {
			mark := !marked && d == longest
			marked = marked || mark
			if !yield(sample{value: d.Seconds(), marked: mark}) {
				return
			}
		}
	}
}

// The phases of a request, in their order.
const (
	phaseDNS     = "dns"
	phaseConnect = "connect"
	phaseTLS     = "tls"
	phaseWrite   = "write"
	phaseHeaders = "headers"
)

// phaseLengths are the lengths of the phases that happened.
func phaseLengths(_ probe.Description, r *probe.Result) iter.Seq[sample] {
	return func(yield func(sample) bool) {
		if r.Outcome != probe.OK {
			return
		}
		p := r.Timeline.Phases
		write, wrote := p.Write()
		wait, answered := p.Wait()
		for _, phase := range []struct {
			name   string
			length time.Duration
			ok     bool
		}{
			{phaseDNS, p.DNS, p.DNS > 0},
			{phaseConnect, p.Connect, p.Connect > 0},
			{phaseTLS, p.TLS, p.TLS > 0},
			{phaseWrite, write, wrote},
			{phaseHeaders, wait, answered},
		} {
			if phase.ok && !yield(sample{at: point{phase.name}, value: phase.length.Seconds()}) {
				return
			}
		}
	}
}

// failedSeconds is how long a failed probe took.
func failedSeconds(_ probe.Description, r *probe.Result) iter.Seq[sample] {
	return only(sample{at: point{string(r.Outcome)}, value: r.Elapsed.Seconds()}, r.Outcome != probe.OK)
}

// scheduleDelay is how late a probe started. A probe that was never due, because
// a person asked for it, was not late.
func scheduleDelay(r *probe.Result) (time.Duration, bool) { return r.ScheduleDelay(), !r.Due.IsZero() }

// oneProbe counts the probe.
func oneProbe(_ probe.Description, r *probe.Result) iter.Seq[sample] {
	return only(sample{at: point{string(r.Outcome)}, value: 1}, true)
}

// The kinds of tokens.
const (
	kindPrompt    = "prompt"
	kindCached    = "cached"
	kindOutput    = "output"
	kindReasoning = "reasoning"
)

// tokens are the token counts that the server told.
func tokens(_ probe.Description, r *probe.Result) iter.Seq[sample] {
	return func(yield func(sample) bool) {
		for _, c := range []struct {
			kind  string
			count wire.Count
		}{
			{kindPrompt, r.Usage.Prompt},
			{kindCached, r.Usage.Cached},
			{kindOutput, r.Usage.Generated()},
			{kindReasoning, r.Usage.Reasoning},
		} {
			if c.count.Known && !yield(sample{at: point{c.kind}, value: float64(c.count.N)}) {
				return
			}
		}
	}
}

// promptCache counts a probe by what the cache knew of its prompt.
func promptCache(_ probe.Description, r *probe.Result) iter.Seq[sample] {
	state := cmp.Or(r.Cache, probe.CacheUnknown)
	return only(sample{at: point{string(state)}, value: 1}, r.Outcome == probe.OK)
}

// cacheStates are the states as label values.
func cacheStates() []string {
	var names []string
	for _, s := range probe.CacheStates() {
		names = append(names, string(s))
	}
	return names
}

// tokenFrames counts the token frames.
func tokenFrames(_ probe.Description, r *probe.Result) iter.Seq[sample] {
	return only(sample{value: float64(len(r.Timeline.Tokens))}, true)
}

// coalescedFrames counts the token frames that came together with the one before.
func coalescedFrames(_ probe.Description, r *probe.Result) iter.Seq[sample] {
	return only(sample{value: float64(r.Timeline.Coalesced())}, true)
}

// joinedTokens counts the tokens whose ITL is the mean over frames that were read together, late.
func joinedTokens(_ probe.Description, r *probe.Result) iter.Seq[sample] {
	return only(sample{value: float64(r.Timeline.JoinedTokens())}, true)
}

// tainted counts a probe that has no ITL because nearly all of its tokens were joined.
func tainted(_ probe.Description, r *probe.Result) iter.Seq[sample] {
	return only(sample{at: point{string(r.Taint)}, value: 1}, r.Taint != "")
}

// taintReasons are the taints as label values.
func taintReasons() []string {
	var names []string
	for _, reason := range probe.Taints() {
		names = append(names, string(reason))
	}
	return names
}

// readDelays are how long the bytes of token frames lay unread.
func readDelays(_ probe.Description, r *probe.Result) iter.Seq[sample] {
	return func(yield func(sample) bool) {
		for d := range r.Timeline.ReadDelays() {
			if !yield(sample{value: d.Seconds()}) {
				return
			}
		}
	}
}

// refusedStamps counts the kernel's time stamps that were not believed.
func refusedStamps(_ probe.Description, r *probe.Result) iter.Seq[sample] {
	return only(sample{value: float64(r.Refused)}, true)
}

// The verdicts of an objective.
const (
	verdictGood = "good"
	verdictBad  = "bad"
)

// verdicts judge r by each objective of its target.
func verdicts(t probe.Description, r *probe.Result) iter.Seq[sample] {
	return func(yield func(sample) bool) {
		for _, o := range t.Objectives {
			good, ok := o.Judge(r)
			verdict := verdictBad
			if good {
				verdict = verdictGood
			}
			if ok && !yield(sample{at: point{valid(o.Name), verdict}, value: 1}) {
				return
			}
		}
	}
}

// outcomeNames are all outcomes as label values.
func outcomeNames() []string {
	var names []string
	for _, o := range probe.Outcomes() {
		names = append(names, string(o))
	}
	return names
}

// failureNames are the outcomes of failed probes as label values.
func failureNames() []string {
	return slices.DeleteFunc(outcomeNames(), func(name string) bool { return name == string(probe.OK) })
}
