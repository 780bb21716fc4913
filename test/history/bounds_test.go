package history

// histograms are those that rules look at, with their classic bounds in seconds:
// those of internal/telemetry/bounds.go.
func histograms() map[string][]float64 {
	gap := []float64{
		.0005, .001, .0025, .005, .0075, .01, .0125, .015, .0175, .02, .0225, .025, .03, .035, .04,
		.05, .06, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10,
	}
	return map[string][]float64{
		"llm_probe_itl_seconds":     gap,
		"llm_probe_tpot_seconds":    gap,
		"llm_probe_max_gap_seconds": append(gap[:len(gap):len(gap)], 20, 40, 80, 160),
		"llm_probe_ttft_seconds": {
			.001, .005, .01, .02, .04, .06, .08, .1, .15, .2, .25, .3, .4, .5, .6, .75, 1, 1.25, 1.5, 2, 2.5,
			3, 4, 5, 6, 7.5, 10, 12.5, 15, 20, 30, 40, 60, 80, 160, 300, 600,
		},
		"llm_probe_e2el_seconds": {
			.1, .2, .3, .4, .5, .65, .8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 7.5, 10, 12.5, 15, 20, 25, 30,
			40, 50, 60, 80, 120, 160, 240, 300, 480, 600,
		},
		"llm_prober_schedule_delay_seconds": gap,
	}
}
