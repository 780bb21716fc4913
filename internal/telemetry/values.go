package telemetry

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// A resultSource passes on the samples that a result of a target adds to an instrument.
type resultSource = func(t probe.Description, r *probe.Result, record func(sample))

// Whether [durationOf] keeps its samples as exemplars.
const (
	withExemplar = true
	noExemplar   = false
)

// durationOf observes one duration of each result for which admit is true.
func durationOf(
	duration func(*probe.Result) (time.Duration, bool),
	admit func(*probe.Result) bool,
	exemplar bool,
) resultSource {
	return func(_ probe.Description, r *probe.Result, record func(sample)) {
		d, ok := duration(r)
		if ok && admit(r) {
			record(sample{value: d.Seconds(), exemplar: exemplar})
		}
	}
}

// durationsOf observes all durations that a successful result has of a kind. The longest is an exemplar, the first one
// if several are equal.
func durationsOf(all func(*probe.Result) iter.Seq[time.Duration]) resultSource {
	return func(_ probe.Description, r *probe.Result, record func(sample)) {
		if !succeeded(r) {
			return
		}
		longest := time.Duration(-1)
		for d := range all(r) {
			longest = max(longest, d)
		}
		marked := false
		for d := range all(r) {
			isExemplar := d == longest && !marked
			marked = marked || isExemplar
			record(sample{value: d.Seconds(), exemplar: isExemplar})
		}
	}
}

// countOf adds one number for each result.
func countOf(number func(*probe.Result) int) resultSource {
	return func(_ probe.Description, r *probe.Result, record func(sample)) {
		record(sample{value: float64(number(r))})
	}
}

// countBy counts results by the value of a label. It does not count a result for which the value is empty.
func countBy[T ~string](label func(*probe.Result) T) resultSource {
	return func(_ probe.Description, r *probe.Result, record func(sample)) {
		value := label(r)
		if value != "" {
			record(sample{labels: ownLabels{string(value)}, value: 1})
		}
	}
}

func always(*probe.Result) bool { return true }

func succeeded(r *probe.Result) bool { return r.Outcome == probe.OK }

// validTTFT admits successes, except after hidden reasoning or if a prompt that should be cold was cached.
func validTTFT(r *probe.Result) bool { return succeeded(r) && r.TTFTValid() }

// uncached admits successes, except if a prompt that should be cold was cached.
func uncached(r *probe.Result) bool { return succeeded(r) && r.Cache != probe.CacheContaminated }

// reasoned reports whether the answer began with reasoning, shown or hidden.
func reasoned(r *probe.Result) bool { return r.ReasoningShown || r.ReasoningHidden }

func outcomeOf(r *probe.Result) probe.Outcome { return r.Outcome }

func taintOf(r *probe.Result) timing.Taint { return r.Timeline.Taint }

func tokenFrames(r *probe.Result) int { return len(r.Timeline.Frames) }

// cacheStateOf returns the cache state of a successful result; empty if the probe failed.
func cacheStateOf(r *probe.Result) probe.CacheState {
	if !succeeded(r) {
		return ""
	}
	return cmp.Or(r.Cache, probe.CacheUnknown)
}

// The values of the label phase.
const (
	phaseDNS     = "dns"
	phaseConnect = "connect"
	phaseTLS     = "tls"
	phaseWrite   = "write"
	phaseHeaders = "headers"
)

// phaseDurations observes the phases that a successful request went through.
func phaseDurations(_ probe.Description, r *probe.Result, record func(sample)) {
	if !succeeded(r) || r.OtherLength {
		return
	}
	recordPhase := func(name string, d time.Duration, ok bool) {
		if ok {
			record(sample{labels: ownLabels{name}, value: d.Seconds()})
		}
	}
	p := r.Timeline.Phases
	recordPhase(phaseDNS, p.DNS, p.DNS > 0)
	recordPhase(phaseConnect, p.Connect, p.Connect > 0)
	recordPhase(phaseTLS, p.TLS, p.TLS > 0)
	write, ok := p.WriteTime()
	recordPhase(phaseWrite, write, ok)
	wait, ok := p.WaitTime()
	recordPhase(phaseHeaders, wait, ok)
}

// failureDurations observes how long failed probes took, by outcome.
func failureDurations(_ probe.Description, r *probe.Result, record func(sample)) {
	if !succeeded(r) {
		record(sample{labels: ownLabels{string(r.Outcome)}, value: r.Elapsed.Seconds()})
	}
}

// scheduleDelay returns how late a probe started. It reports false if the probe was not scheduled.
func scheduleDelay(r *probe.Result) (time.Duration, bool) { return r.ScheduleDelay(), !r.Due.IsZero() }

// readDelays observes how long the bytes of token frames lay unread.
func readDelays(_ probe.Description, r *probe.Result, record func(sample)) {
	for _, d := range r.Timeline.ReadDelays() {
		record(sample{value: d.Seconds()})
	}
}

// The values of the label kind of tokens.
const (
	kindPrompt    = "prompt"
	kindCached    = "cached"
	kindOutput    = "output"
	kindReasoning = "reasoning"
)

// tokenCounts adds the tokens that the server reported.
func tokenCounts(_ probe.Description, r *probe.Result, record func(sample)) {
	recordCount(kindPrompt, r.Usage.Prompt, record)
	recordCount(kindCached, r.Usage.Cached, record)
	recordCount(kindOutput, r.Usage.Generated(), record)
	recordCount(kindReasoning, r.Usage.Reasoning, record)
}

// recordCount passes on a count by its label, if the server reported it.
func recordCount(label string, c wire.Count, record func(sample)) {
	if c.Known {
		record(sample{labels: ownLabels{label}, value: float64(c.N)})
	}
}

// The values of the label verdict.
const (
	verdictGood = "good"
	verdictBad  = "bad"
)

// objectiveEvents adds the events of a result for each objective of its target.
func objectiveEvents(t probe.Description, r *probe.Result, record func(sample)) {
	for _, o := range t.Objectives {
		name := toValidUTF8(o.Name)
		good, bad := o.Events(r)
		if good > 0 {
			record(sample{labels: ownLabels{name, verdictGood}, value: float64(good)})
		}
		if bad > 0 {
			record(sample{labels: ownLabels{name, verdictBad}, value: float64(bad)})
		}
	}
}

// texts returns the label values of a closed set.
func texts[T ~string](all []T) []string {
	var texts []string
	for _, value := range all {
		texts = append(texts, string(value))
	}
	return texts
}

// failures returns the outcomes of failed probes.
func failures() []string {
	isOK := func(name string) bool { return name == string(probe.OK) }
	return slices.DeleteFunc(texts(probe.Outcomes()), isOK)
}
