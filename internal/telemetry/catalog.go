package telemetry

import (
	"runtime"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// The metrics whose values methods of [Recorder] give.
const (
	ExportFailures = "llm.prober.export_failures"
	LookupFailures = "llm.prober.dns_lookup_failures"
	skipped        = "llm.probe.skipped"
	buildInfo      = "llm.prober.build_info"
	reloadOK       = "llm.prober.config_last_reload_successful"
	reloadTime     = "llm.prober.config_last_reload_success_timestamp"
	targetRejected = "llm.prober.target_rejected"
)

// Catalog returns every metric of the program, in the order of the documentation. The list is the caller's.
func Catalog() []Instrument {
	return slices.Concat(latencies(), counters(), gauges(), ofProber(), genAI())
}

func latencies() []Instrument {
	return []Instrument{
		{Name: "llm.probe.ttft", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: firstBounds,
			ofResult: once((*probe.Result).TTFT, validTTFT, exemplar),
			Help:     "Time to first token in seconds: from handing the request to the transport, connection setup included, to the first token; no sample if the probe failed, a cold prompt was found in the server's cache, or the first tokens are hidden reasoning."},
		{Name: "llm.probe.server_ttft", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: firstBounds,
			ofResult: once((*probe.Result).ServerTTFT, validTTFT, !exemplar),
			Help:     "Time in seconds from the last request byte written to the first token; no sample if the token arrived earlier, or llm_probe_ttft_seconds has none."},
		{Name: "llm.probe.ttfat", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: firstBounds,
			ofResult: once((*probe.Result).TTFAT, uncached, !exemplar), begins: reasoned,
			Help: "Time to first answer token in seconds: as TTFT, but to the first token after any reasoning; no series before the target's first answer with reasoning."},
		{Name: "llm.probe.tpot", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: gapBounds,
			ofResult: once((*probe.Result).TPOT, succeeded, exemplar),
			Help:     "Time per output token in seconds: from the first token frame to the last, divided by the tokens after the first frame; no sample if the probe failed, or the number of tokens is unknown or includes hidden reasoning."},
		{Name: "llm.probe.itl", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: gapBounds, ofResult: gaps((*probe.Result).ITL),
			Help: "Inter-token latency in seconds, observed once per token: the time between two chunks divided by the tokens of the later one, where a chunk is a token frame, or several that arrived in a burst or were read late together; no sample if the probe failed or is tainted, or the tokens of a frame are unknown."},
		{Name: "llm.probe.chunk_gap", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: gapBounds, ofResult: gaps((*probe.Result).ChunkGaps),
			Help: "Time in seconds between consecutive token frames, however many tokens they carry; no sample if the probe failed, or an arrival is unknown because frames were read late together."},
		{Name: "llm.probe.max_gap", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: slices.Concat(gapBounds, []float64{20, 40, 80, 160}),
			ofResult: once((*probe.Result).MaxGap, always, exemplar),
			Help:     "Longest time in seconds between token frames of a probe, or from the last one to a failure while streaming; no sample if there was no gap, or a longer one could hide in frames that were read late together."},
		{Name: "llm.probe.e2el", Unit: "s", Kind: Histogram, Scope: ScopeTarget, Bounds: wholeBounds,
			ofResult: once((*probe.Result).E2EL, always, exemplar),
			Help:     "End-to-end latency in seconds: from handing the request to the transport to the last token, or to the finish frame if that is later; no sample if the probe failed."},
		{Name: "llm.probe.phase", Unit: "s", Kind: Histogram, Scope: ScopeTarget,
			Labels: []Label{{Name: "phase", Values: []string{phaseDNS, phaseConnect, phaseTLS, phaseWrite, phaseHeaders}}}, ofResult: phaseLengths, begins: always,
			Help: "Duration in seconds of a phase of the request, where headers is the wait from the last request byte to the response header; no series before the phase first happened, no sample if the probe failed."},
		{Name: "llm.probe.failed", Unit: "s", Kind: Histogram, Scope: ScopeTarget,
			Labels: []Label{{Name: "outcome", Values: failures()}}, ofResult: failedSeconds, begins: always,
			Help: "Duration in seconds of failed probes; no series before the first failure with the outcome."},
	}
}

func counters() []Instrument {
	return []Instrument{
		{Name: "llm.probe.probes", Unit: "{probe}", Kind: Counter, Scope: ScopeTarget,
			Labels: []Label{{Name: "outcome", Values: texts(probe.Outcomes())}}, ofResult: classed(func(r *probe.Result) probe.Outcome { return r.Outcome }),
			Help: "Finished probes by outcome."},
		{Name: "llm.probe.tokens", Unit: "{token}", Kind: Counter, Scope: ScopeTarget,
			Labels: []Label{{Name: "kind", Values: []string{kindPrompt, kindCached, kindOutput, kindReasoning}}}, ofResult: tokens,
			Help: "Tokens as reported by the server, where prompt includes cached, and output includes reasoning."},
		{Name: "llm.probe.prompt_cache", Unit: "{probe}", Kind: Counter, Scope: ScopeTarget,
			Labels: []Label{{Name: "state", Values: texts(probe.CacheStates())}}, ofResult: classed(cacheState),
			Help: "Successful probes by what the server's prefix cache had of the prompt: cold if only the common start " +
				"of all prompts, warm if a part as intended, contaminated if a part of a prompt that should be new, " +
				"unknown if the server does not tell, or tells 0 and is not known to ever tell others."},
		{Name: "llm.probe.frames", Unit: "{frame}", Kind: Counter, Scope: ScopeTarget,
			ofResult: count(func(r *probe.Result) int { return len(r.Tokens) }),
			Help:     "Frames that carried tokens."},
		{Name: "llm.probe.coalesced_frames", Unit: "{frame}", Kind: Counter, Scope: ScopeTarget,
			ofResult: count(func(r *probe.Result) int { return r.Coalesced() }),
			Help:     "Token frames that arrived in one read with the frame before: the gap of zero between them comes from the network, not from the engine."},
		{Name: "llm.probe.joined_tokens", Unit: "{token}", Kind: Counter, Scope: ScopeTarget,
			ofResult: count(func(r *probe.Result) int { return r.JoinedTokens() }),
			Help:     "Tokens in frames that were read late together: only the last arrival is known, and their ITL is the mean over these frames."},
		{Name: "llm.probe.tainted", Unit: "{probe}", Kind: Counter, Scope: ScopeTarget,
			Labels: []Label{{Name: "reason", Values: texts(probe.Taints())}}, ofResult: classed(func(r *probe.Result) probe.Taint { return r.Taint }),
			Help: "Probes without ITL because more than 95% of their tokens were read late together: late if bytes were unread for longer than the mean time between two reads, coalesced if for less."},
		{Name: "llm.probe.objective_events", Unit: "{probe}", Kind: Counter, Scope: ScopeTarget,
			Labels: []Label{objectiveLabel(), {Name: "verdict", Values: []string{verdictGood, verdictBad}}}, ofResult: verdicts,
			Help: "Probes judged by each objective of the target: failed ones are bad, and so are slots that were skipped as " +
				"overlap behind one that failed; refused ones (unauthorized, rate_limited, filtered) and successful ones without " +
				"a sample of the signal are not counted."},
		{Name: skipped, Unit: "{probe}", Kind: Counter, Scope: ScopeTarget, Labels: []Label{{Name: "reason", Values: texts(probe.Skips())}},
			Help: "Probes that were due and not sent: overlap if too many were in flight, budget if the daily tokens were " +
				"spent, late if the next one was due already, backoff after Retry-After, waiting before the server was ready or " +
				"the length of its prompts known, draining after /-/drain."},
	}
}

func gauges() []Instrument {
	return []Instrument{
		{Name: "llm.probe.interval", Unit: "s", Kind: Gauge, Scope: ScopeTarget,
			ofTarget: fact(func(f facts) float64 { return f.target.Interval.Seconds() }),
			Help:     "Configured time in seconds between the starts of probes."},
		{Name: "llm.probe.in_flight", Unit: "{probe}", Kind: Gauge, Scope: ScopeTarget,
			ofTarget: fact(func(f facts) float64 { n, _ := f.inFlight(); return float64(n) }),
			Help:     "Probes in flight."},
		{Name: "llm.probe.oldest_in_flight", Unit: "s", Kind: Gauge, Scope: ScopeTarget,
			ofTarget: fact(func(f facts) float64 { _, age := f.inFlight(); return age.Seconds() }),
			Help:     "Age in seconds of the oldest probe in flight; 0 if there is none."},
		{Name: "llm.probe.last_probe_timestamp", Unit: "s", Kind: Gauge, Scope: ScopeTarget,
			ofTarget: moment(func(f facts) time.Time { return f.lastProbe }),
			Help:     "Unix time in seconds when the last probe ended, whatever its outcome; no sample before the first."},
		{Name: "llm.probe.last_available_timestamp", Unit: "s", Kind: Gauge, Scope: ScopeTarget,
			ofTarget: moment(func(f facts) time.Time { return f.lastAvailable }),
			Help: "Unix time in seconds when the last probe ended that showed a working server: it received a token or " +
				"was refused (unauthorized, rate_limited, filtered), or was rejected by a target that has not worked yet, " +
				"though not because it serves no model; no sample before the first."},
		{Name: "llm.probe.last_success_timestamp", Unit: "s", Kind: Gauge, Scope: ScopeTarget,
			ofTarget: moment(func(f facts) time.Time { return f.lastSuccess }),
			Help:     "Unix time in seconds when the last successful probe ended; no sample before the first."},
		{Name: "llm.probe.objective_goal", Unit: "1", Kind: Gauge, Scope: ScopeTarget, Labels: []Label{objectiveLabel()}, ofTarget: objectiveGoals,
			Help: "Share of probes that must be good to meet the objective, between 0 and 1."},
		{Name: "llm.probe.objective_limit", Unit: "s", Kind: Gauge, Scope: ScopeTarget, Labels: []Label{objectiveLabel()}, ofTarget: objectiveLimits,
			Help: "Largest value in seconds that is good for the objective; no sample for an availability objective."},
		{Name: "llm.probe.tls_earliest_cert_expiry_timestamp", Unit: "s", Kind: Gauge, Scope: ScopeTarget,
			ofTarget: moment(func(f facts) time.Time { return f.certExpiry }),
			Help:     "Unix time in seconds of the earliest expiry in the server's certificate chain; no sample before the first TLS handshake."},
		{Name: "llm.probe.target_info", Kind: Gauge, Scope: ScopeTarget, Labels: infoLabels(), ofTarget: fact(func(facts) float64 { return 1 }),
			Help: "Labels that describe the target and the capabilities of its server (yes, no, optional or unknown); the value is always 1."},
	}
}

func ofProber() []Instrument {
	return []Instrument{
		{Name: "llm.prober.schedule_delay", Unit: "s", Kind: Histogram, Scope: ScopeProber, Bounds: gapBounds,
			ofResult: once(scheduleDelay, always, !exemplar),
			Help:     "Time in seconds by which probes started later than scheduled."},
		{Name: "llm.prober.read_delay", Unit: "s", Kind: Histogram, Scope: ScopeProber, Zero: delayThreshold, ofResult: readDelays,
			Bounds: []float64{
				1e-6, 2.5e-6, 5e-6, 10e-6, 25e-6, 50e-6, 100e-6, 250e-6, 500e-6, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10,
			},
			Help: "Time in seconds from the kernel's receive timestamp until the prober had read the bytes, once for each read that completed a token frame; no sample if the kernel gave no timestamp."},
		{Name: "llm.prober.refused_stamps", Unit: "{stamp}", Kind: Counter, Scope: ScopeProber,
			ofResult: count(func(r *probe.Result) int { return r.Refused }),
			Help:     "Implausible kernel timestamps that were replaced by the prober's own: in the future, after the wall clock was set, or of packets that arrived out of order."},
		{
			Name: buildInfo, Kind: Gauge, Scope: ScopeProber,
			Labels: []Label{
				{Name: "version", From: "version of the program"},
				{Name: "revision", From: "commit it was built from"},
				{Name: "goversion", From: "version of Go it was built with", fact: func(probe.Description) string { return runtime.Version() }},
			},
			Help: "Labels that describe the program; the value is always 1.",
		},
		{Name: reloadOK, Kind: Gauge, Scope: ScopeProber,
			Help: "Whether the last attempt to load the configuration succeeded: 1 or 0; no sample before the first."},
		{Name: reloadTime, Unit: "s", Kind: Gauge, Scope: ScopeProber,
			Help: "Unix time in seconds when the configuration was last loaded successfully; no sample before the first."},
		{
			Name: targetRejected, Kind: Gauge, Scope: ScopeProber,
			Labels: []Label{{Name: "target", From: "name of a target of the configuration"}},
			Help: "Targets of the configuration that are not probed, because their settings are wrong or a file that they " +
				"name is missing; the value is always 1, and other targets have no series.",
		},
		{Name: ExportFailures, Unit: "{failure}", Kind: Counter, Scope: ScopeProber,
			Help: "Failed OTLP exports of metrics and traces, after all retries, and other errors of the OpenTelemetry SDK."},
		{Name: LookupFailures, Unit: "{failure}", Kind: Counter, Scope: ScopeProber,
			Help: "Failed DNS lookups of hosts in dns+ URLs; their last known addresses remain in use."},
	}
}

func objectiveLabel() Label {
	return Label{Name: "objective", From: "name of an objective of the target", of: objectiveNames}
}
