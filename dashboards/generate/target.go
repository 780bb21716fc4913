package main

// target is one thing that is probed, from its objectives to its frames.
func target() *dashboard {
	b := newDashboard("target", "Target", "One target: its objectives, the shape of its latency, its failures, its frames, and whether it became slower.")
	b.vars(append(probed(), atLeast())...)
	b.marks("$target")
	s := targets()
	b.add(targetFigures(s)...)
	b.row("Objectives", false, objectives(s.apart("objective"))...)
	b.row("Shape of latency: every probe is a dot", false, shapes(s)...)
	b.row("Quantiles, and how many samples they rest on", false, quantiles(s)...)
	b.row("Failures", false, failures(s)...)
	b.row("Has it become slower?", false, regression()...)
	b.row("Phases, frames, cache", true, stream(s)...)
	b.row("The server", true, described(s)...)
	return b.number()
}

func targetFigures(s scope) []*panel {
	median := func(title, what, histogram string) *panel {
		return figure(title+" p50", seconds, 3, 4, now(s.enough(s.quantile(0.5, histogram, window), 1), legend)).
			says("Median "+what+" over the window; nothing below 10 probes.", histogram)
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
			says("Time since a probe succeeded the last time.", succeeded),
		figure("Oldest in flight", seconds, 3, 4, now(s.max(oldest), legend)).judged(neutral, from(60, wary), from(120, bad)).
			says("How long the oldest probe under way has been so; orange after half of the default timeout, red after all of it.", oldest),
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
	t.says("Each objective over the time shown: what is wanted, what was, and what is left of the error budget. A failed probe is bad for all of them.", objective)
	var burns []query
	for _, w := range []string{"5m", "1h", "6h", "1d", "3d"} {
		burns = append(burns, over(s.burn("["+w+"]"), named+" "+w))
	}
	burn := lines("Burn rates", ratio, 12, 8, burns...).judged(neutral, from(1, wary), from(14.4, bad)).
		says("How many times faster than allowed the error budget is spent, over five windows. Pages: 14.4 over 1h and 5m, 6 over 6h and 30m. Warnings: 3 over 1d, 1 over 3d.", objective)
	return []*panel{
		t, burn,
		lines("Budget left", share, 12, 7, over(s.budgetLeft(), named)).judged(bad, from(0, wary), from(0.25, good)).
			says("Share of the error budget that is left, of as much time as is shown before each point.", objective),
		stacked("Bad probes", count, 12, 7, over(s.with(`verdict="bad"`).increase(objective, window), named)).empty("None").
			says("Probes in the window that were bad for an objective.", objective),
	}
}

func shapes(s scope) []*panel {
	const dots = " A dot is a probe and leads to its trace, where Prometheus keeps exemplars. A column holds four minutes: this shows the shape, and is no quantile."
	return []*panel{
		heatmap("TTFT", 12, 9, s.heat(ttft)).says("Time to first token."+dots, ttft),
		heatmap("ITL", 12, 9, s.heat(itl)).says("Inter-token latency, one sample a token; dots are the longest gap of a probe."+dots, itl),
		heatmap("E2EL", 12, 9, s.heat(e2el)).says("End-to-end latency."+dots, e2el),
		heatmap("Chunk gap", 12, 9, s.heat(chunkGap)).
			says("Time between token frames, whatever they carry; dots are the longest gap of a probe. Gaps of 0 (frames that came in one read) are not drawn: their share is below."+dots, chunkGap),
	}
}

func quantiles(s scope) []*panel {
	var panels []*panel
	for _, each := range []struct{ title, what, histogram string }{
		{"TTFT", "Time to first token", ttft},
		{"TPOT", "Time per output token, one sample a probe", tpot},
		{"ITL", "Inter-token latency, one sample a token (the tokens of one probe are not independent)", itl},
		{"E2EL", "End-to-end latency", e2el},
		{"TTFAT", "Time to first answer token, after any reasoning", ttfat},
		{"Longest gap", "Longest gap between token frames of a probe, failed ones included", maxGap},
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
		).aside("D", "samples").says(each.what+". p50 needs 10 probes in the window, p95 20, p99 100; the bars are samples.", each.histogram))
	}
	return panels
}

func failures(s scope) []*panel {
	failed, by := "llm_probe_failed_seconds", s.apart("outcome")
	return []*panel{
		stacked("Failures by outcome", count, 8, 8, over(by.with(`outcome!="ok"`).increase(probes, window)+" > 0", "{{outcome}} "+legend)).empty("None").
			says("Probes in the window that failed, by outcome.", probes),
		lines("How long failed probes took", seconds, 8, 8, over(spoken(by.average(failed, window)), "{{outcome}} "+legend)).empty("None failed").
			says("Mean time from the start of failed probes to their end, by outcome: a refusal is quick, a timeout is not.", failed),
		stacked("Skipped", count, 8, 8, over(s.apart("reason").increase(skipped, window)+" > 0", "{{reason}} "+legend)).empty("None").
			says("Probes in the window that were due and not made: overlap (the last one still ran), budget (the day's tokens are spent), late, backoff (the server asked for it), waiting (the server was not ready yet), draining (it is about to stop).", skipped),
	}
}

// regression shows what alerts/rules.yaml records. It has no instance: the rules
// add probers up.
func regression() []*panel {
	recorded := func(what string) string {
		return "target:llm_probe_latency_seconds:" + what + `{target=~"$target",model=~"$model",prompt=~"$prompt"}`
	}
	named := "{{signal}} " + legend
	return []*panel{
		lines("Ratio to the same hour", ratio, 8, 8, over(recorded("ratio_samehour7d"), named)).empty(noRules).judged(neutral, from(1.085, wary)).
			says("Median of the last hour over the median of the same hour of the seven days before: 1.1 is a tenth slower. Recorded by alerts/rules.yaml; needs five days.", "target:llm_probe_latency_seconds:ratio_samehour7d"),
		lines("Is that unusual? z-score", ratio, 8, 8, over(recorded("ratio_zscore5d"), named)).empty(noRules).judged(neutral, from(3.5, wary)).
			says("How many standard deviations of the last five days that ratio is above its mean; the alert wants 3.5, and a ratio above 1.085 (TTFT 1.10).", "target:llm_probe_latency_seconds:ratio_zscore5d"),
		figure("Samples of the baseline", count, 8, 8, now(recorded("baseline_samples5d"), named)).empty(noRules).
			judged(neutral, from(3000, good)).span(0, 2999.99, "learning", neutral).
			says("Samples of the ratio in its baseline of five days: below 3000 of 3600 it is still learning, and does not say that all is well.", "target:llm_probe_latency_seconds:baseline_samples5d"),
	}
}

func stream(s scope) []*panel {
	phase := "llm_probe_phase_seconds"
	zero := s.with(`le="0.0005"`).rate(chunkGap+"_bucket", window) + "\n/ " + s.rate(chunkGap+"_count", window)
	phases := stacked("Phases", seconds, 8, 8, over(spoken(s.apart("phase").average(phase, window)), "{{phase}} "+legend)).
		says("Mean length of the phases before the answer: finding the address, connecting, TLS, writing the request, and waiting for the response's header.", phase)
	phases.FieldConfig.Defaults.Custom["drawStyle"] = "line"
	return []*panel{
		phases,
		lines("Tokens a frame", ratio, 8, 8, over(s.with(`kind="output"`).rate(tokens, window)+"\n/ "+s.rate(frames, window), legend)).
			says("Output tokens for each token frame, where the server counts: above 1 with speculative decoding, or where something batches frames.", tokens),
		lines("Frames that came with the one before", share, 8, 8,
			over(s.rate("llm_probe_coalesced_frames_total", window)+"\n/ "+s.rate(frames, window), legend)).upTo(0, 1).
			says("Share of token frames that arrived in one read with the frame before: that gap of 0 is the network's, not the engine's.", "llm_probe_coalesced_frames_total"),
		lines("Chunk gaps of 0", share, 8, 8,
			over("histogram_fraction(0, 0.0001220703125, "+s.rate(chunkGap, window)+")", "up to 0.12 ms "+legend),
			over(zero, "up to 0.5 ms (classic buckets) "+legend)).upTo(0, 1).
			says("Share of gaps in the zero bucket, which heatmaps do not draw; of classic buckets the lowest holds up to 0.5 ms.", chunkGap),
		stacked("What the prefix cache knew", count, 8, 8, over(s.apart("state").increase("llm_probe_prompt_cache_total", window), "{{state}} "+legend)).
			colours("^contaminated", bad).
			says("Probes in the window by what the server's cache had of the prompt. Contaminated, in red: it had what no server could know, and TTFT has no sample of that probe.", "llm_probe_prompt_cache_total"),
		lines("Tokens a second", "count:tok/s", 8, 8, over(s.apart("kind").rate(tokens, window), "{{kind}} "+legend)).
			says("Tokens that the server counted, by kind: prompt holds cached, output holds reasoning.", tokens),
		lines("TTFT without connecting", seconds, 12, 8,
			over(s.enough(s.quantile(0.5, server, window), 1), "p50 "+legend), over(s.samples(server, window), "samples "+legend)).aside("B", "samples").
			says("Median time from the last request byte to the first token: TTFT without connection set-up and upload.", server),
		lines("Interval", seconds, 12, 8, over(s.max("llm_probe_interval_seconds"), legend)).
			says("Time between the starts of probes, as configured.", "llm_probe_interval_seconds"),
	}
}

func described(s scope) []*panel {
	info := table("What is known of it", ratio, 24, 6, rows(
		s.apart("group, api, url, server, exact_output, continuous_usage, cached_tokens, tokenize, cache_salt").max(about)))
	info.Transformations = append(info.Transformations, renamed([]string{"target", "model", "prompt", "group", "server", "api", "url"}, nil, []string{""}))
	return []*panel{
		info.says("What the server is and can be held to: exact lengths, usage in every frame, cached tokens, a tokenizer route, separate caches.", about),
		figure("Certificate expires in", seconds, 24, 4, now(s.max("llm_probe_tls_earliest_cert_expiry_timestamp_seconds")+" - time()", legend)).empty("No TLS").
			judged(bad, from(86400, wary), from(7*86400, good)).
			says("Time until the first certificate of the server's chain expires: red below a day, orange below a week.", "llm_probe_tls_earliest_cert_expiry_timestamp_seconds"),
	}
}
