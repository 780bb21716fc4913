package telemetry

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/server"
)

// A targetState is what gauges show of a target: its description, and what is known from its results.
type targetState struct {
	target probe.Description

	// When something last happened; zero if it did not yet.
	lastProbe     time.Time
	lastAvailable time.Time
	lastSuccess   time.Time
	lastFailure   time.Time
	howItFailed   ownLabels // of the last failure: outcome, HTTP status and reason

	certExpiry time.Time // earliest expiry in the server's certificate chain; zero if unknown
	hasWorked  bool      // a probe of the target succeeded, whatever model it had then
}

// inFlight returns the number of probes in flight.
func (s targetState) inFlight() float64 {
	n, _ := s.target.InFlight()
	return float64(n)
}

// oldestInFlight returns the age in seconds of the oldest probe in flight; 0 if there is none.
func (s targetState) oldestInFlight() float64 {
	n, oldest := s.target.InFlight()
	if n == 0 {
		return 0
	}
	return max(0, time.Since(oldest).Seconds())
}

// update changes the state by a result. Results may come out of order.
func (s *targetState) update(r *probe.Result) {
	end := r.Start.Add(r.Elapsed)
	if end.After(s.lastProbe) {
		s.lastProbe = end
	}
	if r.Available(s.hasWorked) && end.After(s.lastAvailable) {
		s.lastAvailable = end
	}
	switch {
	case r.Outcome == probe.OK:
		s.hasWorked = true
		if end.After(s.lastSuccess) {
			s.lastSuccess = end
		}
	case end.After(s.lastFailure):
		s.lastFailure = end
		s.howItFailed = failureLabels(r)
	}
	if !r.CertExpiry.IsZero() {
		s.certExpiry = r.CertExpiry
	}
	s.target.Timestamps = cmp.Or(r.Timestamps, s.target.Timestamps)
}

// failureLabels returns the labels of a failure. The status is empty if there was none.
func failureLabels(r *probe.Result) ownLabels {
	status := ""
	if r.Status > 0 {
		status = strconv.Itoa(r.Status)
	}
	return ownLabels{string(r.Outcome), status, string(r.Reason)}
}

// objectiveNames returns the names of a target's objectives as label values.
func objectiveNames(t probe.Description) []string {
	var names []string
	for _, o := range t.Objectives {
		names = append(names, toValidUTF8(o.Name))
	}
	return names
}

// infoLabels returns the labels that describe a target: its configuration, and what is known of its server.
func infoLabels() []Label {
	all := []Label{
		{
			Name:      "group",
			From:      "group of the target",
			infoValue: func(t probe.Description) string { return t.Group },
		},
		{
			Name:      "workload",
			From:      "name of the `dns+` target that this one stands for an address of; empty for others",
			infoValue: func(t probe.Description) string { return t.Workload },
		},
		{
			Name:      "api",
			From:      "API dialect; `unknown` until it is detected",
			infoValue: func(t probe.Description) string { return cmp.Or(t.API, unknown) },
		},
		{
			Name:      "url",
			From:      "URL without user, password and query",
			infoValue: func(t probe.Description) string { return t.URL },
		},
		{
			Name:      "server",
			From:      "server type, configured or detected; `unknown` if neither",
			infoValue: func(t probe.Description) string { return cmp.Or(t.Server, unknown) },
		},
		{
			Name:      "version",
			From:      "version of the server, as it reports it; empty if unknown",
			infoValue: func(t probe.Description) string { return t.Version },
		},
		{
			Name:      "timestamps",
			From:      "source of arrival timestamps: `kernel`, or `user` for the prober itself; empty before the first token",
			infoValue: func(t probe.Description) string { return string(t.Timestamps) },
		},
	}
	for _, a := range (server.Knowledge{}).Abilities() {
		all = append(all, abilityLabel(a))
	}
	return append(all, refusalsLabel(), externalURLLabel())
}

// refusalsLabel returns the label that says what refused probes are for the objectives of a target.
func refusalsLabel() Label {
	return Label{
		Name: "refusals",
		From: "what refused probes are for its objectives: `ignore` (no events) or `bad`",
		infoValue: func(t probe.Description) string {
			if t.RefusalsAreBad() {
				return "bad"
			}
			return "ignore"
		},
	}
}

// abilityLabel returns the label that says whether a target's server has an ability.
func abilityLabel(a server.Ability) Label {
	return Label{
		Name: a.Name,
		From: a.Help,
		infoValue: func(t probe.Description) string {
			n := slices.IndexFunc(t.Abilities, func(has server.Ability) bool { return has.Name == a.Name })
			if n < 0 {
				return unknown
			}
			return string(t.Abilities[n].Claim)
		},
	}
}
