package telemetry

import (
	"cmp"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/server"
)

// activityGauges returns how often a target is probed, how long an answer may pause, and what is in flight.
func activityGauges() []Instrument {
	return []Instrument{
		{
			Name:  "llm.probe.interval",
			Unit:  "s",
			Kind:  Gauge,
			Scope: ScopeTarget,
			Help: "Configured time in seconds between the starts of two probes of the prompt. Several prompts share the " +
				"rate of their target. No sample if the target is disabled.",
			fromTarget: interval,
		},
		{
			Name:       "llm.probe.enabled",
			Kind:       Gauge,
			Scope:      ScopeTarget,
			Help:       "1 if the target is probed, 0 if the configuration disables it.",
			fromTarget: gaugeOf(enabled),
		},
		{
			Name:       "llm.probe.stall_limit",
			Unit:       "s",
			Kind:       Gauge,
			Scope:      ScopeTarget,
			Help:       "Configured time in seconds without a token frame, after the first, that makes a probe stalled.",
			fromTarget: gaugeOf(func(s promptState) float64 { return s.target.StallLimit.Seconds() }),
		},
		{
			Name:       "llm.probe.in_flight",
			Unit:       "{probe}",
			Kind:       Gauge,
			Scope:      ScopeTarget,
			Help:       "Probes of the prompt in flight.",
			fromTarget: gaugeOf(promptState.inFlight),
		},
		{
			Name:       "llm.probe.oldest_in_flight",
			Unit:       "s",
			Kind:       Gauge,
			Scope:      ScopeTarget,
			Help:       "Age in seconds of the oldest probe in flight. 0 if there is none.",
			fromTarget: gaugeOf(promptState.oldestInFlight),
		},
		{
			Name:  "llm.probe.stuck",
			Unit:  "{request}",
			Kind:  Gauge,
			Scope: ScopeTarget,
			Help: "Requests that did not return at their limit and were left behind, because the server hangs the HTTP " +
				"client. From 2 on, slots are skipped (reason stuck). Of several prompts of a target, only the first has " +
				"the series: it counts those of all.",
			fromTarget: ofFirst(gaugeOf(func(s promptState) float64 { return float64(s.target.Stuck()) })),
		},
	}
}

// interval observes the time between two probes of a target that is probed: of others none is due, and rules that ask
// what is due leave them out.
func interval(s promptState, observe func(sample)) {
	if !s.target.Disabled {
		observe(sample{value: s.target.Interval.Seconds()})
	}
}

// enabled returns 1 if a target is probed, 0 if the configuration disables it.
func enabled(s promptState) float64 {
	if s.target.Disabled {
		return 0
	}
	return 1
}

// timestampGauges returns when something last happened to a target.
func timestampGauges() []Instrument {
	return []Instrument{
		{
			Name:       "llm.probe.last_probe_timestamp",
			Unit:       "s",
			Kind:       Gauge,
			Scope:      ScopeTarget,
			Help:       "Unix time in seconds at which the last probe ended, whatever its outcome. No sample before the first.",
			fromTarget: timestampOf(func(s promptState) time.Time { return s.lastProbe }),
		},
		{
			Name:  "llm.probe.last_available_timestamp",
			Unit:  "s",
			Kind:  Gauge,
			Scope: ScopeTarget,
			Help: "Unix time in seconds at which the last probe ended that showed a working server: it received a " +
				"token, or it was refused (unauthorized, rate_limited, filtered). Before the target's first " +
				"success, a rejected probe shows this, too, unless the server has no model. No sample before the " +
				"first such probe.",
			fromTarget: timestampOf(func(s promptState) time.Time { return s.lastAvailable }),
		},
		{
			Name:       "llm.probe.last_success_timestamp",
			Unit:       "s",
			Kind:       Gauge,
			Scope:      ScopeTarget,
			Help:       "Unix time in seconds at which the last successful probe ended. No sample before the first.",
			fromTarget: timestampOf(func(s promptState) time.Time { return s.lastSuccess }),
		},
		{
			Name:  "llm.probe.last_failure_timestamp",
			Unit:  "s",
			Kind:  Gauge,
			Scope: ScopeTarget,
			Labels: []Label{
				{Name: "outcome", Values: failures()},
				{Name: "status", From: "HTTP status of the answer; empty if there was none"},
				{Name: "reason", From: "why, in words: one of [probe.Reasons]"},
			},
			Help: "Unix time in seconds at which the last failed probe ended. The labels say how it failed. Each target has " +
				"one series. No sample before the first failure.",
			fromTarget: lastFailure,
		},
	}
}

// wordingGauges returns how the last answer of a target repeats itself. They are gauges and no histograms: a rule
// compares their averages with the target's own past, and their distribution says nothing more.
func wordingGauges() []Instrument {
	return []Instrument{
		{
			Name:  "llm.probe.answer_repeated",
			Unit:  "1",
			Kind:  Gauge,
			Scope: ScopeTarget,
			Help: "Share of the last answer's characters that are in the longest run of one token or short phrase, repeated " +
				"at least three times. No sample before the first answer with text.",
			fromTarget: wordingOf(func(w probe.Wording) float64 { return w.Run }),
		},
		{
			Name:  "llm.probe.answer_distinct_words",
			Unit:  "1",
			Kind:  Gauge,
			Scope: ScopeTarget,
			Help: "Distinct words of the last answer divided by its words. It is 1 if there are no words. No sample before " +
				"the first answer with text.",
			fromTarget: wordingOf(func(w probe.Wording) float64 { return w.Distinct }),
		},
		{
			Name:  "llm.probe.answer_replaced",
			Unit:  "1",
			Kind:  Gauge,
			Scope: ScopeTarget,
			Help: "Share of the last answer's characters that are U+FFFD, which stands for bytes that are no character. No " +
				"sample before the first answer with text.",
			fromTarget: wordingOf(func(w probe.Wording) float64 { return w.Replaced }),
		},
	}
}

// wordingOf observes a share of the last answer; no sample while there is no answer with text.
func wordingOf(share func(probe.Wording) float64) targetSource {
	return func(s promptState, observe func(sample)) {
		if s.wording.Characters > 0 {
			observe(sample{value: share(s.wording)})
		}
	}
}

// settingGauges returns what is configured for a target and what is known of its server.
func settingGauges(externalURL string) []Instrument {
	return []Instrument{
		{
			Name:       ObjectiveGoal,
			Unit:       "1",
			Kind:       Gauge,
			Scope:      ScopeTarget,
			Labels:     []Label{objectiveLabel()},
			Help:       "Share of probes, between 0 and 1, that must be good to meet the objective.",
			fromTarget: objectiveGoals,
		},
		{
			Name:       ObjectiveLimit,
			Unit:       "s",
			Kind:       Gauge,
			Scope:      ScopeTarget,
			Labels:     []Label{objectiveLabel()},
			Help:       "Largest value in seconds that meets the objective. No sample for an availability objective.",
			fromTarget: objectiveLimits,
		},
		{
			Name:  "llm.probe.tls_earliest_cert_expiry_timestamp",
			Unit:  "s",
			Kind:  Gauge,
			Scope: ScopeTarget,
			Help: "Unix time in seconds at which the first certificate of the server's verified chain expires. Of several " +
				"such chains, the one that lives longest counts. If nothing is verified, it is the first of the certificates " +
				"that were sent. If the handshake failed because the certificate has expired, is not trusted or is for " +
				"another name, it is the end of that certificate. No sample before the first TLS handshake. Of several " +
				"prompts of a target, only the first has the series.",
			fromTarget: ofFirst(timestampOf(func(s promptState) time.Time { return s.certExpiry })),
		},
		{
			Name:  TargetInfo,
			Kind:  Gauge,
			Scope: ScopeTarget,
			Info:  infoLabels(externalURL),
			Help: "Labels that describe the target and the capabilities of its server (yes, no, optional or unknown). " +
				"The value is always 1. Each prompt of a target has a series, so that any other can be joined with it.",
			fromTarget: gaugeOf(func(promptState) float64 { return 1 }),
		},
	}
}

// ofFirst observes something of the first prompt of each target: it is the same for all, and neither a sum nor an alert
// must have it several times.
func ofFirst(source targetSource) targetSource {
	return func(s promptState, observe func(sample)) {
		if !s.target.Further {
			source(s, observe)
		}
	}
}

// gaugeOf observes one number of each prompt.
func gaugeOf(value func(promptState) float64) targetSource {
	return func(s promptState, observe func(sample)) { observe(sample{value: value(s)}) }
}

// timestampOf observes a time of each target; no sample while it is zero.
func timestampOf(timeOf func(promptState) time.Time) targetSource {
	return func(s promptState, observe func(sample)) {
		t := timeOf(s)
		if !t.IsZero() {
			observe(sample{value: unixSeconds(t)})
		}
	}
}

// unixSeconds returns seconds since 1970, to the millisecond.
func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// inFlight returns the number of probes in flight.
func (s promptState) inFlight() float64 {
	n, _ := s.target.InFlight()
	return float64(n)
}

// oldestInFlight returns the age in seconds of the oldest probe in flight; 0 if there is none.
func (s promptState) oldestInFlight() float64 {
	n, oldest := s.target.InFlight()
	if n == 0 {
		return 0
	}
	return max(0, time.Since(oldest).Seconds())
}

// lastFailure observes when a target last failed, and how.
func lastFailure(s promptState, observe func(sample)) {
	if !s.lastFailure.IsZero() {
		observe(sample{labels: s.howItFailed, value: unixSeconds(s.lastFailure)})
	}
}

// objectiveGoals observes the goal of each objective.
func objectiveGoals(s promptState, observe func(sample)) {
	for _, o := range s.target.Objectives {
		observe(sample{labels: []string{toValidUTF8(o.Name)}, value: o.Goal})
	}
}

// objectiveLimits observes the limit of each objective that has one.
func objectiveLimits(s promptState, observe func(sample)) {
	for _, o := range s.target.Objectives {
		if o.Signal != probe.SignalAvailability {
			observe(sample{labels: []string{toValidUTF8(o.Name)}, value: o.Limit.Seconds()})
		}
	}
}

// infoLabels returns the labels that describe a target: its configuration, and what is known of its server.
func infoLabels(externalURL string) []InfoLabel {
	all := []InfoLabel{
		{
			Name:  "group",
			From:  "group of the target",
			value: func(t probe.Description) string { return t.Group },
		},
		{
			Name:  "workload",
			From:  "name of the `dns+` target if this one is one of its addresses; else empty",
			value: func(t probe.Description) string { return t.Workload },
		},
		{
			Name:  "api",
			From:  "API dialect; `unknown` until it is detected",
			value: func(t probe.Description) string { return cmp.Or(t.API, unknown) },
		},
		{
			Name:  "url",
			From:  "URL without user, password and query",
			value: func(t probe.Description) string { return t.URL },
		},
		{
			Name:  "server",
			From:  "server type, configured or detected; `unknown` if neither",
			value: func(t probe.Description) string { return cmp.Or(t.Server, unknown) },
		},
		{
			Name:  "server_version",
			From:  "version of the server, as it reports it, of at most 64 bytes; empty if unknown",
			value: func(t probe.Description) string { return t.Version },
		},
		{
			Name:  "timestamps",
			From:  "source of arrival timestamps: `kernel`, or `user` for the prober itself; empty before the first token",
			value: func(t probe.Description) string { return string(t.Timestamps) },
		},
	}
	for _, a := range (server.Knowledge{}).Abilities() {
		all = append(all, abilityLabel(a))
	}
	return append(all, refusalsLabel(), externalURLLabel(externalURL))
}

// refusalsLabel returns the label that says what refused probes are for the objectives of a target.
func refusalsLabel() InfoLabel {
	return InfoLabel{
		Name: "refusals",
		From: "what refused probes are for its objectives: `ignore` (no events) or `bad`",
		value: func(t probe.Description) string {
			if t.RefusalsAreBad() {
				return "bad"
			}
			return "ignore"
		},
	}
}

// abilityLabel returns the label that says whether a target's server has an ability.
func abilityLabel(a server.Ability) InfoLabel {
	return InfoLabel{
		Name: a.Name,
		From: a.Help,
		value: func(t probe.Description) string {
			n := slices.IndexFunc(t.Abilities, func(has server.Ability) bool { return has.Name == a.Name })
			if n < 0 {
				return unknown
			}
			return string(t.Abilities[n].Claim)
		},
	}
}
