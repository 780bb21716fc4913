package telemetry

import (
	"iter"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// startLatencies returns the times until an answer begins.
func startLatencies() []Instrument {
	return []Instrument{
		{
			Name:   "llm.probe.ttft",
			Unit:   "s",
			Kind:   Histogram,
			Scope:  ScopeTarget,
			Bounds: firstBounds,
			Help: "Time to first token in seconds since the start of the request, connection setup included. No " +
				"sample if the probe failed, if a prompt that should be cold was in the server's cache, or if " +
				"hidden reasoning came first.",
			fromResult: durationOf((*probe.Result).TTFT, validTTFT, withExemplar),
		},
		{
			Name:   "llm.probe.server_ttft",
			Unit:   "s",
			Kind:   Histogram,
			Scope:  ScopeTarget,
			Bounds: firstBounds,
			Help: "Time in seconds from the last written byte of a request to its first token. No sample if the " +
				"token arrived before that byte was written, or if llm_probe_ttft_seconds has none.",
			fromResult: durationOf((*probe.Result).ServerTTFT, validTTFT, noExemplar),
		},
		{
			Name:   "llm.probe.ttfat",
			Unit:   "s",
			Kind:   Histogram,
			Scope:  ScopeTarget,
			Bounds: firstBounds,
			Help: "Time to first answer token in seconds: like llm_probe_ttft_seconds, but to the first token " +
				"after any reasoning. No series before the target's first answer with reasoning.",
			fromResult: durationOf((*probe.Result).TTFAT, uncached, noExemplar),
			createOn:   reasoned,
		},
	}
}

// tokenLatencies returns the times between tokens.
func tokenLatencies() []Instrument {
	return []Instrument{
		{
			Name:   "llm.probe.tpot",
			Unit:   "s",
			Kind:   Histogram,
			Scope:  ScopeTarget,
			Bounds: gapBounds,
			Help: "Time per output token in seconds: from the first token frame to the last, divided by the tokens " +
				"after the first frame. No sample if the probe failed, if the number of its tokens is unknown, or " +
				"if they include hidden reasoning.",
			fromResult: durationOf((*probe.Result).TPOT, succeeded, withExemplar),
		},
		{
			Name:   "llm.probe.itl",
			Unit:   "s",
			Kind:   Histogram,
			Scope:  ScopeTarget,
			Bounds: gapBounds,
			Help: "Inter-token latency in seconds, once per token: the time between two chunks divided by the " +
				"tokens of the later one. A chunk is one token frame, or several that arrived in one burst or were " +
				"read late together. No sample if the probe failed, if llm_probe_tainted_total counts it, or if " +
				"the tokens of its frames are unknown.",
			fromResult: durationsOf((*probe.Result).ITL),
		},
		{
			Name:   "llm.probe.chunk_gap",
			Unit:   "s",
			Kind:   Histogram,
			Scope:  ScopeTarget,
			Bounds: gapBounds,
			Help: "Time in seconds between two consecutive token frames, however many tokens they carry. No sample " +
				"if the probe failed, or if one of the two arrivals is unknown because frames were read late " +
				"together.",
			fromResult: durationsOf((*probe.Result).ChunkGaps),
		},
		{
			Name:   "llm.probe.max_gap",
			Unit:   "s",
			Kind:   Histogram,
			Scope:  ScopeTarget,
			Bounds: slices.Concat(gapBounds, []float64{20, 40, 80, 160}),
			Help: "Longest time in seconds between two token frames of a probe, or from its last frame to its " +
				"failure. No sample if there was no gap, or if frames that were read late together could hide a " +
				"longer one.",
			fromResult: durationOf((*probe.Result).MaxGap, always, withExemplar),
		},
	}
}

// probeDurations returns how long probes and their phases took.
func probeDurations() []Instrument {
	return []Instrument{
		{
			Name:   "llm.probe.e2el",
			Unit:   "s",
			Kind:   Histogram,
			Scope:  ScopeTarget,
			Bounds: wholeBounds,
			Help: "End-to-end latency in seconds: from the start of a request, connection setup included, to its " +
				"last token or its finish frame, whichever is later. No sample if the probe failed.",
			fromResult: durationOf((*probe.Result).E2EL, always, withExemplar),
		},
		{
			Name:  "llm.probe.phase",
			Unit:  "s",
			Kind:  Histogram,
			Scope: ScopeTarget,
			Labels: []Label{{
				Name:   "phase",
				Values: []string{phaseDNS, phaseConnect, phaseTLS, phaseWrite, phaseHeaders},
			}},
			Help: "Duration in seconds of a phase of the request. The phase headers is the wait from the last " +
				"request byte to the response header. No sample if the probe failed. No series before the phase " +
				"first occurs.",
			fromResult: phaseDurations,
			createOn:   always,
		},
		{
			Name:       "llm.probe.failed",
			Unit:       "s",
			Kind:       Histogram,
			Scope:      ScopeTarget,
			Labels:     []Label{{Name: "outcome", Values: failures()}},
			Help:       "Duration in seconds of failed probes. No series before the first failure with the outcome.",
			fromResult: failureDurations,
			createOn:   always,
		},
	}
}

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

func always(*probe.Result) bool { return true }

func succeeded(r *probe.Result) bool { return r.Outcome == probe.OK }

// validTTFT admits successes, except after hidden reasoning or if a prompt that should be cold was cached.
func validTTFT(r *probe.Result) bool { return succeeded(r) && r.TTFTValid() }

// uncached admits successes, except if a prompt that should be cold was cached.
func uncached(r *probe.Result) bool { return succeeded(r) && r.Cache != probe.CacheContaminated }

// reasoned reports whether the answer began with reasoning, shown or hidden.
func reasoned(r *probe.Result) bool { return r.ReasoningShown || r.ReasoningHidden }

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
			record(sample{labels: []string{name}, value: d.Seconds()})
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
		record(sample{labels: []string{string(r.Outcome)}, value: r.Elapsed.Seconds()})
	}
}
