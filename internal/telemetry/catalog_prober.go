package telemetry

import (
	"runtime"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// proberDelays returns how much the prober itself may falsify measurements.
func proberDelays() []Instrument {
	return []Instrument{
		{
			Name:       "llm.prober.schedule_delay",
			Unit:       "s",
			Kind:       Histogram,
			Scope:      ScopeProber,
			Bounds:     gapBounds,
			Help:       "Time in seconds from the scheduled start of a probe to its actual start.",
			fromResult: durationOf(scheduleDelay, always, noExemplar),
		},
		{
			Name:   "llm.prober.read_delay",
			Unit:   "s",
			Kind:   Histogram,
			Scope:  ScopeProber,
			Zero:   delayThreshold,
			Bounds: delayBounds,
			Help: "Time in seconds from the kernel's receive timestamp to the read, for each read that completed a " +
				"token frame. No sample if the kernel gave no timestamp.",
			fromResult: readDelays,
		},
		{
			Name:  "llm.prober.kernel_timestamps_rejected",
			Unit:  "{timestamp}",
			Kind:  Counter,
			Scope: ScopeProber,
			Help: "Kernel timestamps that were rejected and replaced by the time of the read: they were in the " +
				"future, near a change of the wall clock, or of packets that arrived out of order.",
			fromResult: countOf(func(r *probe.Result) int { return r.RejectedTimestamps }),
		},
	}
}

// proberState returns what is known of the program, its configuration and its failures.
func proberState(build Build, externalURL string) []Instrument {
	return []Instrument{
		{
			Name:  buildInfo,
			Kind:  Gauge,
			Scope: ScopeProber,
			Info:  buildLabels(build),
			Help:  "Labels that describe the program. The value is always 1.",
		},
		{
			Name:  reloadOK,
			Kind:  Gauge,
			Scope: ScopeProber,
			Help: "1 if the last attempt to load the configuration succeeded, 0 if it failed. No sample before the " +
				"first attempt.",
		},
		{
			Name:  reloadTime,
			Unit:  "s",
			Kind:  Gauge,
			Scope: ScopeProber,
			Help: "Unix time in seconds at which the configuration was last loaded successfully. No sample before " +
				"that.",
		},
		{
			Name:   targetRejected,
			Kind:   Gauge,
			Scope:  ScopeProber,
			Labels: []Label{{Name: "target", From: "name of a target of the configuration"}},
			Info:   []InfoLabel{externalURLLabel(externalURL)},
			Help: "Targets that are not probed because their settings are wrong or a file that they name is missing. The " +
				"value is always 1, and other targets have no series.",
		},
		{
			Name:  ExportFailures,
			Unit:  "{failure}",
			Kind:  Counter,
			Scope: ScopeProber,
			Help: "OTLP exports of metrics and traces that failed after all retries, and other errors of the " +
				"OpenTelemetry SDK.",
		},
		{
			Name:  LookupFailures,
			Unit:  "{failure}",
			Kind:  Counter,
			Scope: ScopeProber,
			Help:  "Failed DNS lookups of the hosts in dns+ URLs. The last known addresses remain in use.",
		},
		{
			Name:  InternalErrors,
			Unit:  "{error}",
			Kind:  Counter,
			Scope: ScopeProber,
			Help: "Failures of the prober itself (panics), which it survived and logged with their stack. What was " +
				"being probed is not counted.",
		},
	}
}

// targetSources returns what is known of the sources that list targets.
func targetSources() []Instrument {
	return []Instrument{
		{
			Name:  SourceFailures,
			Unit:  "{failure}",
			Kind:  Counter,
			Scope: ScopeProber,
			Help: "Requests for lists of targets (http_sd) that failed, or whose answer was no list. The last known targets " +
				"are still probed.",
		},
		{
			Name:  targetsListed,
			Unit:  "{target}",
			Kind:  Gauge,
			Scope: ScopeProber,
			Help:  "Targets in the last lists of http_sd, whatever the shard, without rejected ones.",
		},
		{
			Name:  labelsDropped,
			Unit:  "{label}",
			Kind:  Gauge,
			Scope: ScopeProber,
			Help: "Labels in the last lists of http_sd that targets do not get, because the setting labels declares none of " +
				"that name: the sum over all addresses.",
		},
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

// buildLabels returns the labels that describe the program.
func buildLabels(build Build) []InfoLabel {
	return []InfoLabel{
		{
			Name:  "version",
			From:  "version of the program",
			value: func(probe.Description) string { return build.Version },
		},
		{
			Name:  "revision",
			From:  "commit it was built from",
			value: func(probe.Description) string { return build.Revision },
		},
		{
			Name:  "goversion",
			From:  "version of Go it was built with",
			value: func(probe.Description) string { return runtime.Version() },
		},
	}
}
