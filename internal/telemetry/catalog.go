package telemetry

import (
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// Catalog returns every metric of the program, in the order of the
// documentation. The list is the caller's.
func Catalog() []Instrument {
	return slices.Concat(latencies(), counters(), gauges(), ofProber(), genAI())
}

// latencies are the histograms of what the probes saw.
func latencies() []Instrument {
	return []Instrument{
		{
			Name: "llm.probe.ttft", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: firstBounds(),
			Help:     "Time to first token: from handing the request to the transport, connection set-up included, to the arrival of the first token; no sample of a failed probe, of a cold prompt that the server found in its cache, if the first tokens are reasoning that no frame showed, or if the prober read so late that the arrival is in doubt by more than 5%.",
			ofResult: unspoilt((*probe.Result).TTFT).once(true),
		},
		{
			Name: "llm.probe.server_ttft", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: firstBounds(),
			Help:     "Time from the last request byte written to the arrival of the first token; no sample of a failed probe, or if the token came before the request was out; nor where llm_probe_ttft_seconds has none.",
			ofResult: unspoilt((*probe.Result).ServerTTFT).once(false),
		},
		{
			Name: "llm.probe.ttfat", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: firstBounds(),
			Help:     "Time to first answer token: as TTFT, but to the first token of the answer itself, after any reasoning; no sample of a failed probe, of a cold prompt that the server found in its cache, or if there was nothing but reasoning.",
			ofResult: uncached((*probe.Result).TTFAT).once(false),
		},
		{
			Name: "llm.probe.tpot", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: gapBounds(),
			Help:     "Time per output token, from the first token frame to the last divided by the tokens after those that arrived with the first; no sample of a failed probe, if the number of tokens is unknown, or if some are reasoning that no frame showed.",
			ofResult: succeeded((*probe.Result).TPOT).once(true),
		},
		{
			Name: "llm.probe.itl", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: gapBounds(),
			Help:     "Inter-token latency, once per token: the time between two chunks divided by the tokens of the later one, a chunk being one token frame, or several that arrived in one burst or were read together by a late prober; no sample of a failed or a tainted probe, or if the tokens of some frame are unknown.",
			ofResult: tokenGaps,
		},
		{
			Name: "llm.probe.chunk_gap", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: gapBounds(),
			Help:     "Time between consecutive token frames, whatever number of tokens they carry; no sample of a failed probe, or where the arrival of one of the two is unknown because the prober read it late together with others.",
			ofResult: chunkGaps,
		},
		{
			Name: "llm.probe.max_gap", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: maxGapBounds(),
			Help:     "Longest time between token frames in one probe, including, of a probe that died mid-stream, the gap that was open when it died; no sample if there was no gap, or if frames that a late prober read together could hide a longer one.",
			ofResult: measure((*probe.Result).MaxGap).once(true),
		},
		{
			Name: "llm.probe.e2el", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: wholeBounds(),
			Help:     "End-to-end latency, from handing the request to the transport to the last token or the finish frame if that came later; no sample of a failed probe, or if the prober read so late that the last arrival is in doubt by more than 5%.",
			ofResult: measure((*probe.Result).E2EL).once(true),
		},
		{
			Name: "llm.probe.phase", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: phaseBounds(),
			Labels:   []Label{{Name: "phase", Values: []string{phaseDNS, phaseConnect, phaseTLS, phaseWrite, phaseHeaders}}},
			Help:     "Length of a phase of the request before its answer, headers being the wait from the last request byte to the response header; no sample of a failed probe, or of a phase that did not happen, such as connect on a reused connection.",
			ofResult: phaseLengths,
		},
		{
			Name: "llm.probe.failed", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: wholeBounds(),
			Labels:   []Label{outcomeLabel(failureNames())},
			Help:     "Time from the start of a failed probe to its end; no sample of one that succeeded.",
			ofResult: failedSeconds,
		},
	}
}

// counters count what the probes saw.
func counters() []Instrument {
	return []Instrument{
		{
			Name: "llm.probe.probes", Unit: "{probe}", Kind: Counter, Scope: ScopeTarget,
			Labels:   []Label{outcomeLabel(outcomeNames())},
			Help:     "Probes that ended, by outcome; those that were canceled because the prober stopped are not counted anywhere.",
			ofResult: oneProbe,
		},
		{
			Name: "llm.probe.tokens", Unit: "{token}", Kind: Counter, Scope: ScopeTarget,
			Labels:   []Label{{Name: "kind", Values: []string{kindPrompt, kindCached, kindOutput, kindReasoning}}},
			Help:     "Tokens as the server counts them, where it tells: prompt holds cached, and output holds reasoning.",
			ofResult: tokens,
		},
		{
			Name: "llm.probe.prompt_cache", Unit: "{probe}", Kind: Counter, Scope: ScopeTarget,
			Labels:   []Label{{Name: "state", Values: cacheStates()}},
			Help:     "Probes that succeeded, by what the server's prefix cache knew of the prompt: cold if nothing but what all prompts begin with, warm if some as was meant, contaminated if some of a prompt that no server could know, unknown if the server does not tell.",
			ofResult: promptCache,
		},
		{
			Name: "llm.probe.frames", Unit: "{frame}", Kind: Counter, Scope: ScopeTarget,
			Help:     "Frames of answers that carried a token.",
			ofResult: tokenFrames,
		},
		{
			Name: "llm.probe.coalesced_frames", Unit: "{frame}", Kind: Counter, Scope: ScopeTarget,
			Help:     "Token frames that arrived in one read with the token frame before, so that the gap of zero between them is the network's and not the engine's.",
			ofResult: coalescedFrames,
		},
		{
			Name: "llm.probe.joined_tokens", Unit: "{token}", Kind: Counter, Scope: ScopeTarget,
			Help:     "Tokens of frames that the prober read late and together, so that only the arrival of the last is known: their ITL is the mean over these frames.",
			ofResult: joinedTokens,
		},
		{
			Name: "llm.probe.tainted", Unit: "{probe}", Kind: Counter, Scope: ScopeTarget,
			Labels:   []Label{{Name: "reason", Values: taintReasons()}},
			Help:     "Probes of any outcome without ITL because the prober read more than 95% of their tokens late and together with others: late if bytes lay unread for longer than the mean time between two reads, coalesced if for less.",
			ofResult: tainted,
		},
		{
			Name: "llm.probe.objective_events", Unit: "{probe}", Kind: Counter, Scope: ScopeTarget,
			Labels:   []Label{objectiveLabel(), {Name: "verdict", Values: []string{verdictGood, verdictBad}}},
			Help:     "Probes judged by an objective of the target, a failed probe always bad; a probe that succeeded without a sample of the objective's signal is not judged.",
			ofResult: verdicts,
		},
		{
			Name: "llm.probe.skipped", Unit: "{probe}", Kind: Counter, Scope: ScopeTarget,
			Labels:   []Label{{Name: "reason", Values: skipReasons()}},
			Help:     "Probes that were due and were not made: overlap when as many as allowed were still under way, budget when the day's tokens were spent, late when the next was due as well, backoff while the server had asked (Retry-After of a 429 or 503) not to be asked, waiting before the server was ready (PROBER_WAIT_FOR_READY), draining after /-/drain.",
			ofTarget: skippedSlots,
		},
	}
}

// gauges are what is known of a target at the moment.
func gauges() []Instrument {
	return []Instrument{
		{
			Name: "llm.probe.interval", Unit: "s", Kind: Gauge, Scope: ScopeTarget,
			Help:     "Time between the starts of probes, as configured.",
			ofTarget: fact(func(f facts) float64 { return f.target.Interval.Seconds() }),
		},
		{
			Name: "llm.probe.in_flight", Unit: "{probe}", Kind: Gauge, Scope: ScopeTarget,
			Help:     "Probes under way.",
			ofTarget: fact(func(f facts) float64 { return float64(f.inFlight) }),
		},
		{
			Name: "llm.probe.oldest_in_flight", Unit: "s", Kind: Gauge, Scope: ScopeTarget,
			Help:     "How long the oldest probe under way has been so; 0 if none is.",
			ofTarget: fact(func(f facts) float64 { return f.oldest.Seconds() }),
		},
		{
			Name: "llm.probe.last_probe_timestamp", Unit: "s", Kind: Gauge, Scope: ScopeTarget,
			Help:     "End of the last probe that is counted, whatever its outcome, in seconds since 1970; no sample before the first.",
			ofTarget: moment(func(f facts) time.Time { return f.lastProbe }),
		},
		{
			Name: "llm.probe.last_success_timestamp", Unit: "s", Kind: Gauge, Scope: ScopeTarget,
			Help:     "End of the last probe that succeeded, in seconds since 1970; no sample before the first.",
			ofTarget: moment(func(f facts) time.Time { return f.lastSuccess }),
		},
		{
			Name: "llm.probe.objective_goal", Unit: "1", Kind: Gauge, Scope: ScopeTarget,
			Labels:   []Label{objectiveLabel()},
			Help:     "Share of probes that an objective wants to be good, between 0 and 1.",
			ofTarget: ofObjectives(objectiveGoal),
		},
		{
			Name: "llm.probe.objective_limit", Unit: "s", Kind: Gauge, Scope: ScopeTarget,
			Labels:   []Label{objectiveLabel()},
			Help:     "Longest value that is good for an objective; no sample of one of availability.",
			ofTarget: ofObjectives(objectiveLimit),
		},
		{
			Name: "llm.probe.tls_earliest_cert_expiry_timestamp", Unit: "s", Kind: Gauge, Scope: ScopeTarget,
			Help:     "Earliest expiry in the server's certificate chain, in seconds since 1970; no sample before the first handshake.",
			ofTarget: moment(func(f facts) time.Time { return f.certExpiry }),
		},
		{
			Name: "llm.probe.target_info", Kind: Gauge, Scope: ScopeTarget,
			Labels:   infoLabels(),
			Help:     "A target, described by its labels, and what its server can be held to; always 1.",
			ofTarget: fact(func(facts) float64 { return 1 }),
		},
	}
}

// ofProber are the metrics of the instrument itself.
func ofProber() []Instrument {
	return []Instrument{
		{
			Name: "llm.prober.schedule_delay", Unit: "s", Kind: Histogram, Scope: ScopeProber, Bounds: gapBounds(),
			Help:     "How late probes started; no sample of a probe that was not scheduled.",
			ofResult: measure(scheduleDelay).once(false),
		},
		{
			Name: "llm.prober.read_delay", Unit: "s", Kind: Histogram, Scope: ScopeProber, Bounds: delayBounds(), Zero: delayThreshold,
			Help:     "How long bytes lay unread: from the kernel's receive time stamp until the prober had read them, once for each read that completed a token frame, of probes of any outcome; no sample of a read that the kernel did not stamp.",
			ofResult: readDelays,
		},
		{
			Name: "llm.prober.refused_stamps", Unit: "{stamp}", Kind: Counter, Scope: ScopeProber,
			Help:     "Kernel time stamps that were not believed, and replaced by the prober's own time: they were from the future, the wall clock had been set, or packets had come out of order.",
			ofResult: refusedStamps,
		},
		{
			Name: "llm.prober.build_info", Kind: Gauge, Scope: ScopeProber,
			Labels: []Label{
				{Name: "version", From: "version of the program"},
				{Name: "revision", From: "commit it was built from"},
				{Name: "goversion", From: "version of Go it was built with"},
			},
			Help:   "The program, described by its labels; always 1.",
			ofSelf: build,
		},
		{
			Name: "llm.prober.config_last_reload_successful", Kind: Gauge, Scope: ScopeProber,
			Help:   "Whether the configuration could be loaded the last time: 1 or 0; no sample before the first time.",
			ofSelf: lastReloadSuccessful,
		},
		{
			Name: "llm.prober.config_last_reload_success_timestamp", Unit: "s", Kind: Gauge, Scope: ScopeProber,
			Help:   "Last time the configuration could be loaded, in seconds since 1970; no sample before the first.",
			ofSelf: lastReloadSuccess,
		},
		{
			Name: "llm.prober.export_failures", Unit: "{failure}", Kind: Counter, Scope: ScopeProber,
			Help:   "Failures of the OpenTelemetry exporters, of metrics and traces alike, after all their retries.",
			ofSelf: exportFailures,
		},
		{
			Name: "llm.prober.dns_lookup_failures", Unit: "{failure}", Kind: Counter, Scope: ScopeProber,
			Help:   "Hosts of dns+ URLs that could not be looked up, once each time; the addresses that were known of them stay.",
			ofSelf: lookupFailures,
		},
	}
}

func outcomeLabel(values []string) Label { return Label{Name: "outcome", Values: values} }

func objectiveLabel() Label {
	return Label{Name: "objective", From: "name of an objective of the target", of: objectiveNames}
}
