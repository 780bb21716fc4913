package main

// target is one target, from its objectives to its frames.
func target() *dashboard {
	b := newDashboard("target", "Target", "One target: objectives, latency distributions, failures, regressions, frames.")
	b.vars(append(probed(), atLeast())...)
	b.marks("$target")
	s := targets()
	b.add(targetFigures(s)...)
	b.row("Objectives", false, objectives(s.apart("objective"))...)
	b.row("Latency distributions", false, shapes(s)...)
	b.row("Quantiles and their number of samples", false, quantiles(s)...)
	b.row("Failures", false, failures(s)...)
	b.row("Regressions", false, regression()...)
	b.row("Phases, frames, cache", true, stream(s)...)
	b.row("The server", true, described(s)...)
	return b.number()
}

func targetFigures(s scope) []*panel {
	median := func(title, what, histogram string) *panel {
		return figure(title+" p50", seconds, 3, 4, now(s.enough(s.quantile(0.5, histogram, window), 1), legend)).
			says("Median "+what+" over the window; empty below 10 probes.", histogram)
	}
	return []*panel{
		figure("Success", share, 3, 4, now(s.share(probes, `outcome="ok"`, window), legend)).judged(bad, from(0.95, wary), from(0.99, good)).
			says("Share of probes in the window that succeeded; red below 95%, green from 99% on.", probes),
		median("TTFT", "time to first token", ttft),
		median("ITL", "inter-token latency", itl),
		median("TPOT", "time per output token", tpot),
		median("E2EL", "end-to-end latency", e2el),
		figure("Probes", count, 3, 4, now(s.increase(probes, window), legend)).
			says("Probes that ended in the window.", probes),
		figure("Since the last success", seconds, 3, 4, now("time() - "+s.max(succeeded), legend)).empty("Never").
			says("Time since the last successful probe.", succeeded),
		figure("Oldest in flight", seconds, 3, 4, now(s.max(oldest), legend)).judged(neutral, from(60, wary), from(120, bad)).
			says("Age of the oldest probe in flight; orange from half the default timeout, red from the default timeout.", oldest),
	}
}

func objectives(s scope) []*panel {
	named := legend + " {{objective}}"
	t := table("Objectives", share, 12, 8,
		rows(s.max(goal)), rows(s.max("llm_probe_objective_limit_seconds")),
		rows("1 - "+s.badShare(shown)), rows(s.budgetLeft()), rows(s.burn("[1h]")),
		rows(s.with(`verdict="bad"`).increase(objective, shown)))
	t.Transformations = append(t.Transformations, renamed([]string{"objective", "target", "model", "prompt"}, nil,
		[]string{"Goal", "Limit", "Good", "Budget left", "Burn rate, 1 h", "Bad probes"}))
	for _, column := range []string{"Goal", "Good"} { // 99.96% is not 100%
		t.override("byName", column, property{"decimals", 3})
	}
	t.override("byName", "Limit", property{"unit", seconds})
	t.override("byName", "Burn rate, 1 h", property{"unit", ratio}, property{"decimals", 1})
	t.override("byName", "Burn rate, 1 h", judgedColumn(neutral, from(1, wary), from(14.4, bad))...)
	t.override("byName", "Bad probes", property{"unit", count}, property{"decimals", 0})
	t.override("byName", "Budget left", judgedColumn(bad, from(0, wary), from(0.25, good))...)
	t.says("Each objective over the time shown: goal, result and remaining error budget. A failed probe is bad for every objective.", objective)
	var burns []query
	for _, w := range []string{"5m", "1h", "6h", "1d", "3d"} {
		burns = append(burns, over(s.burn("["+w+"]"), named+" "+w))
	}
	burn := lines("Burn rates", ratio, 12, 8, burns...).judged(neutral, from(1, wary), from(14.4, bad)).
		says("How many times faster than allowed the error budget is used, over five windows. Pages: 14.4 over 1h and 5m, 6 over 6h and 30m. Warnings: 3 over 1d, 1 over 3d.", objective)
	return []*panel{
		t, burn,
		lines("Budget left", share, 12, 7, over(s.budgetLeft(), named)).judged(bad, from(0, wary), from(0.25, good)).
			says("Remaining error budget over a period as long as the time shown, ending at each point.", objective),
		stacked("Bad probes", count, 12, 7, over(s.with(`verdict="bad"`).increase(objective, window), named)).empty("None").
			says("Probes in the window that were bad for an objective.", objective),
	}
}

func shapes(s scope) []*panel {
	const dots = " A dot is a probe and links to its trace, if Prometheus stores exemplars. Each column covers four minutes."
	return []*panel{
		heatmap("TTFT", 12, 9, s.heat(ttft)).says("Time to first token."+dots, ttft),
		heatmap("ITL", 12, 9, s.heat(itl)).says("Inter-token latency, one sample per token; a dot is the longest gap of a probe."+dots, itl),
		heatmap("E2EL", 12, 9, s.heat(e2el)).says("End-to-end latency."+dots, e2el),
		heatmap("Chunk gap", 12, 9, s.heat(chunkGap)).
			says("Time between token frames, however many tokens they carry; a dot is the longest gap of a probe. Gaps of 0 (frames that arrived in one read) are not drawn: their share is shown below."+dots, chunkGap),
	}
}

func quantiles(s scope) []*panel {
	var panels []*panel
	for _, each := range []struct{ title, what, histogram string }{
		{"TTFT", "Time to first token", ttft},
		{"TPOT", "Time per output token, one sample per probe", tpot},
		{"ITL", "Inter-token latency, one sample per token (tokens of one probe are not independent)", itl},
		{"E2EL", "End-to-end latency", e2el},
		{"TTFAT", "Time to first answer token, after any reasoning", ttfat},
		{"Longest gap", "Longest gap between token frames of a probe, including failed probes", maxGap},
	} {
		enough := s.enough
		if each.histogram == maxGap {
			enough = s.ended
		}
		panels = append(panels, lines(each.title, seconds, 8, 9,
			over(enough(s.quantile(0.5, each.histogram, window), 1), "p50 "+legend),
			over(enough(s.quantile(0.95, each.histogram, window), 2), "p95 "+legend),
			over(enough(s.quantile(0.99, each.histogram, window), 10), "p99 "+legend),
			over(s.samples(each.histogram, window), "samples "+legend),
		).aside("D", "samples").says(each.what+". p50 needs 10 probes in the window, p95 20, p99 100. Bars are the number of samples.", each.histogram))
	}
	return panels
}

func failures(s scope) []*panel {
	failed, by := "llm_probe_failed_seconds", s.apart("outcome")
	return []*panel{
		stacked("Failures by outcome", count, 8, 8, over(by.with(`outcome!="ok"`).increase(probes, window)+" > 0", "{{outcome}} "+legend)).empty("None").
			says("Probes in the window that failed, by outcome.", probes),
		lines("Duration of failed probes", seconds, 8, 8, over(spoken(by.average(failed, window)), "{{outcome}} "+legend)).empty("None failed").
			says("Mean duration of failed probes, by outcome.", failed),
		stacked("Skipped", count, 8, 8, over(s.apart("reason").increase(skipped, window)+" > 0", "{{reason}} "+legend)).empty("None").
			says("Probes that were due in the window but not made, by reason: overlap (the previous probe was still running), budget (the day's tokens are used up), late (the prober was starved), backoff (the server asked for a pause), waiting (the server was not ready yet), draining (the server is about to stop).", skipped),
	}
}

// regression shows records of alerts/rules.yaml. They have no instance: the rules
// sum over probers.
func regression() []*panel {
	recorded := func(what string) string {
		return "target:llm_probe_latency_seconds:" + what + `{target=~"$target",model=~"$model",prompt=~"$prompt"}`
	}
	named := "{{signal}} " + legend
	return []*panel{
		lines("Ratio to the same hour", ratio, 8, 8, over(recorded("ratio_samehour7d"), named)).empty(noRules).judged(neutral, from(1.085, wary)).
			says("Median of the last hour divided by the median of the same hour over the seven days before: 1.1 is 10% slower. Recorded by alerts/rules.yaml; needs five days of data.", "target:llm_probe_latency_seconds:ratio_samehour7d"),
		lines("z-score of the ratio", ratio, 8, 8, over(recorded("ratio_zscore5d"), named)).empty(noRules).judged(neutral, from(3.5, wary)).
			says("How many standard deviations the ratio is above its mean of the last five days. The alert needs 3.5, and a ratio above 1.085 (TTFT: 1.10).", "target:llm_probe_latency_seconds:ratio_zscore5d"),
		figure("Baseline samples", count, 8, 8, now(recorded("baseline_samples5d"), named)).empty(noRules).
			judged(neutral, from(3000, good)).span(0, 2999.99, "learning", neutral).
			says("Samples of the ratio in the baseline of five days. Below 3000 of 3600 the baseline is still being learnt, and alerts compare with yesterday and last week instead.", "target:llm_probe_latency_seconds:baseline_samples5d"),
	}
}

func stream(s scope) []*panel {
	phase := "llm_probe_phase_seconds"
	zero := s.with(`le="0.0005"`).rate(chunkGap+"_bucket", window) + "\n/ " + s.rate(chunkGap+"_count", window)
	phases := stacked("Phases", seconds, 8, 8, over(spoken(s.apart("phase").average(phase, window)), "{{phase}} "+legend)).
		says("Mean duration of the phases before the answer: DNS lookup, connecting, TLS, writing the request, waiting for the response header.", phase)
	phases.FieldConfig.Defaults.Custom["drawStyle"] = "line"
	return []*panel{
		phases,
		lines("Tokens per frame", ratio, 8, 8, over(s.with(`kind="output"`).rate(tokens, window)+"\n/ "+s.rate(frames, window), legend)).
			says("Output tokens per token frame, if the server counts tokens. Above 1 with speculative decoding, or if a proxy batches frames.", tokens),
		lines("Coalesced frames", share, 8, 8,
			over(s.rate("llm_probe_coalesced_frames_total", window)+"\n/ "+s.rate(frames, window), legend)).upTo(0, 1).
			says("Share of token frames that arrived in one read with the previous frame. Such a gap of 0 comes from the network, not from the engine.", "llm_probe_coalesced_frames_total"),
		lines("Chunk gaps of 0", share, 8, 8,
			over("histogram_fraction(0, 0.0001220703125, "+s.rate(chunkGap, window)+")", "up to 0.12 ms "+legend),
			over(zero, "up to 0.5 ms (classic buckets) "+legend)).upTo(0, 1).
			says("Share of gaps in the zero bucket, which heatmaps do not draw. The lowest classic bucket holds gaps up to 0.5 ms.", chunkGap),
		stacked("Prefix cache state", count, 8, 8, over(s.apart("state").increase("llm_probe_prompt_cache_total", window), "{{state}} "+legend)).
			colours("^contaminated", bad).
			says("Probes in the window by the state of the server's prefix cache. Contaminated (red): a prompt that should be new was found in the cache, and the probe is excluded from TTFT.", "llm_probe_prompt_cache_total"),
		lines("Tokens per second", "count:tok/s", 8, 8, over(s.apart("kind").rate(tokens, window), "{{kind}} "+legend)).
			says("Tokens that the server counted, by kind. Prompt includes cached, output includes reasoning.", tokens),
		lines("TTFT without connecting", seconds, 12, 8,
			over(s.enough(s.quantile(0.5, server, window), 1), "p50 "+legend), over(s.samples(server, window), "samples "+legend)).aside("B", "samples").
			says("Median time from the last request byte to the first token: TTFT without connection set-up and upload.", server),
		lines("Interval", seconds, 12, 8, over(s.max("llm_probe_interval_seconds"), legend)).
			says("Time between the starts of probes, as configured.", "llm_probe_interval_seconds"),
	}
}

func described(s scope) []*panel {
	info := table("Server properties", ratio, 24, 6, rows(
		s.apart("group, api, url, server, exact_output, continuous_usage, cached_tokens, tokenize, cache_salt").max(about)))
	info.Transformations = append(info.Transformations, renamed([]string{"target", "model", "prompt", "group", "server", "api", "url"}, nil, []string{""}))
	return []*panel{
		info.says("Server type and capabilities: exact output length, usage in every frame, cached tokens, tokenizer endpoint, cache salt.", about),
		figure("Certificate expires in", seconds, 24, 4, now(s.max("llm_probe_tls_earliest_cert_expiry_timestamp_seconds")+" - time()", legend)).empty("No TLS").
			judged(bad, from(86400, wary), from(7*86400, good)).
			says("Time until the first certificate of the server's chain expires: red below a day, orange below a week.", "llm_probe_tls_earliest_cert_expiry_timestamp_seconds"),
	}
}
