package telemetry

import "slices"

// The metrics whose values come from methods of [Recorder].
const (
	ExportFailures = "llm.prober.export_failures"
	LookupFailures = "llm.prober.dns_lookup_failures"

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

// objectiveLabel returns the label of the metrics about objectives.
func objectiveLabel() Label {
	return Label{
		Name:         "objective",
		From:         "name of an objective of the target",
		targetValues: objectiveNames,
	}
}
