package telemetry

import (
	"slices"

	"github.com/llm-prober/prober/internal/probe"
)

// The metrics whose values come from methods of [Recorder].
const (
	ExportFailures = "llm.prober.export_failures"
	LookupFailures = "llm.prober.dns_lookup_failures"
	InternalErrors = "llm.prober.internal_errors"

	skippedProbes  = "llm.probe.skipped"
	buildInfo      = "llm.prober.build_info"
	reloadOK       = "llm.prober.config_last_reload_successful"
	reloadTime     = "llm.prober.config_last_reload_success_timestamp"
	targetRejected = "llm.prober.target_rejected"
)

// Catalog returns every metric of the program, in the order of the documentation. The caller owns the list.
func Catalog() []Instrument {
	return slices.Concat(
		startLatencies(),
		tokenLatencies(),
		probeDurations(),
		probeCounters(),
		frameCounters(),
		eventCounters(),
		activityGauges(),
		timestampGauges(),
		settingGauges(),
		delaysOfProber(),
		stateOfProber(),
		genAI(),
	)
}

// externalURL is the name of the label by which alerts and dashboards find the prober's page. It is on the metrics that
// say which targets there are: on that of rejected ones, too.
const externalURL = "external_url"

// externalURLLabel returns this label. Its value is empty in the catalog, and set by [newRecorder].
func externalURLLabel() Label {
	return Label{
		Name:      externalURL,
		From:      "`PROBER_EXTERNAL_URL`; empty if not set",
		infoValue: func(probe.Description) string { return "" },
	}
}

// objectiveLabel returns the label of the metrics about objectives.
func objectiveLabel() Label {
	return Label{
		Name:         "objective",
		From:         "name of an objective of the target",
		targetValues: objectiveNames,
	}
}
