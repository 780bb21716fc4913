package main

// targets is the scope of all variables that the reader chose.
func targets() scope { return scope{matchers: ofTargets, by: identity} }

// all adds up everything that is probed.
func all(aggregate, expr string) string { return aggregate + "(" + expr + ")" }

// legend names what is probed.
const legend = "{{target}} {{model}} {{prompt}}"

// overview is the fleet: a row for each thing that is probed.
func overview() *dashboard {
	b := newDashboard("overview", "Overview", "All targets: availability, latency, error budgets.")
	b.vars(append(probed(), atLeast())...)
	b.marks("$target")
	b.add(fleetFigures(targets())...)
	b.add(fleetTable(targets()), alertTable())
	b.row("Over time", false, fleetCurves(targets())...)
	b.row("Objectives", true, fleetObjectives(targets())...)
	b.row("Groups: ratio to the fastest target", true, fleetGroups()...)
	return b.number()
}

func fleetFigures(s scope) []*panel {
	alerts := `count(` + firing("$target") + ")\nor 0 * group(target:llm_probe_objective_budget:ratio)"
	whole := func(counter, matchers string) string {
		return "sum(increase(" + s.with(matchers).of(counter) + window + "))"
	}
	return []*panel{
		figure("Alerts firing", count, 3, 4, now(alerts, "")).judged(good, from(1, bad)).empty(noRules).
			says("The prober's alerts that fire now, for the selected targets or without a target.", "ALERTS"),
		figure("Probed", count, 3, 4, now(all("count", "group by ("+identity+") ("+s.of(about)+")"), "")).
			says("Number of combinations of target, model and prompt.", about),
		figure("Success", share, 3, 4, now(whole(probes, `outcome="ok"`)+"\n/ sum(increase("+s.of(probes)+window+"))", "")).
			judged(bad, from(0.95, wary), from(0.99, good)).
			says("Share of all probes in the window that succeeded; red below 95%, green from 99% on.", probes),
		figure("Lowest budget left", share, 3, 4, now(all("min", s.apart("objective").budgetLeft()), "")).
			judged(bad, from(0, wary), from(0.25, good)).
			says("Remaining error budget of the worst objective, over the time shown: 100% if no probe was bad, red when it is used up.", objective),
		figure("Slowest TTFT p50", seconds, 3, 4, now(all("max", spoken(s.enough(s.quantile(0.5, ttft, window), 1))), "")).
			says("Median time to first token of the slowest target, over the window.", ttft),
		figure("Slowest ITL p50", seconds, 3, 4, now(all("max", spoken(s.enough(s.quantile(0.5, itl, window), 1))), "")).
			says("Median inter-token latency of the slowest target, over the window.", itl),
		figure("Tokens in 24 h", count, 3, 4, now(`sum(increase(`+s.with(`kind=~"prompt|output"`).of(tokens)+`[1d]))`, "")).
			says("Prompt and output tokens in the last 24 hours, as the servers count them.", tokens),
		figure("Oldest probe in flight", seconds, 3, 4, now(all("max", s.max(oldest)), "")).
			judged(neutral, from(60, wary), from(120, bad)).
			says("Age of the oldest probe in flight. Shows a server that hangs before the timeout. Orange from half the default timeout, red from the default timeout.", oldest),
	}
}

// fleetTable has a row for each thing that is probed; its name leads to its dashboard.
func fleetTable(s scope) *panel {
	columns := []string{"", "Success", "TTFT p50", "TTFT p95", "TPOT p50", "ITL p50", "E2EL p50", "Probes", "Last success", "Budget left"}
	p := table("Fleet", seconds, 24, 9,
		rows(s.apart("group, server").max(about)),
		rows(s.share(probes, `outcome="ok"`, window)),
		rows(s.enough(s.quantile(0.5, ttft, window), 1)),
		rows(s.enough(s.quantile(0.95, ttft, window), 2)),
		rows(s.enough(s.quantile(0.5, tpot, window), 1)),
		rows(s.enough(s.quantile(0.5, itl, window), 1)),
		rows(s.enough(s.quantile(0.5, e2el, window), 1)),
		rows(s.increase(probes, window)),
		rows("time() - "+s.max(succeeded)),
		rows("min by ("+identity+") ("+s.apart("objective").budgetLeft()+")"),
	)
	p.Transformations = append(p.Transformations, renamed([]string{"group", "target", "model", "prompt", "server"}, nil, columns))
	p.override("byName", "target", property{"links", []dataLink{
		{Title: "Target", URL: "/d/prober-target?var-target=${__data.fields.target:percentencode}&var-model=${__data.fields.model:percentencode}" +
			"&var-prompt=${__data.fields.prompt:percentencode}&" + keep},
		// Without A and B the dashboard takes the first and the last of the group, which
		// differ. This target as A would also be B if it is the last.
		{Title: "Compare the members of its group", URL: "/d/prober-compare?var-group=${__data.fields.group:percentencode}" +
			"&var-prompt=${__data.fields.prompt:percentencode}&" + keep},
	}})
	p.override("byName", "model", property{"links", []dataLink{
		{Title: "vLLM's own dashboard", URL: "/d/vllm-overview?var-model_name=${__data.fields.model:percentencode}&${__url_time_range}"},
	}})
	p.override("byName", "Success", property{"unit", share}, property{"decimals", 2}).override("byName", "Success", judgedColumn(bad, from(0.95, wary), from(0.99, good))...)
	p.override("byName", "Probes", property{"unit", count}, property{"decimals", 0})
	p.override("byName", "Budget left", property{"unit", share}, property{"decimals", 1}).override("byName", "Budget left", judgedColumn(bad, from(0, wary), from(0.25, good))...)
	return p.says("A row for each target, model and prompt, over the window. Budget left is of the worst objective over the time shown. "+
		"Quantiles are empty below 10 probes in the window (p95 below 20). A target's name links to its dashboard.", ttft)
}

// keep hands the choices of the reader to another dashboard.
const keep = "${datasource:queryparam}&${job:queryparam}&${instance:queryparam}&${window:queryparam}&${__url_time_range}"

func alertTable() *panel {
	p := table("Firing alerts", ratio, 24, 5, rows(firing("$target"))).empty("No alert fires, or alerts/rules.yaml is not loaded")
	p.Transformations = append(p.Transformations, renamed(
		[]string{"severity", "alertname", "group", "target", "model", "prompt", "objective", "signal"}, []string{"__name__", "alertstate"}, []string{""}))
	return p.override("byName", "alertname", property{"links", []dataLink{{
		Title: "Runbook", TargetBlank: true,
		URL: "https://github.com/llm-prober/prober/blob/main/alerts/runbooks/${__data.fields.alertname:percentencode}.md",
	}}}).says("The prober's alerts that fire now, for the selected targets or without a target. An alert's name links to its runbook.", "ALERTS")
}

func fleetCurves(s scope) []*panel {
	return []*panel{
		lines("Success", share, 8, 8, over(s.share(probes, `outcome="ok"`, window), legend)).upTo(0, 1).
			judged(bad, from(0.95, wary), from(0.99, good)).says("Share of probes in the window that succeeded; lines at 95% and 99%.", probes),
		lines("TTFT p50", seconds, 8, 8, over(s.enough(s.quantile(0.5, ttft, window), 1), legend)).
			says("Median time to first token over the window.", ttft),
		lines("ITL p50", seconds, 8, 8, over(s.enough(s.quantile(0.5, itl, window), 1), legend)).
			says("Median inter-token latency over the window, one sample per token.", itl),
		lines("E2EL p50", seconds, 8, 8, over(s.enough(s.quantile(0.5, e2el, window), 1), legend)).
			says("Median end-to-end latency over the window.", e2el),
		lines("TPOT p50", seconds, 8, 8, over(s.enough(s.quantile(0.5, tpot, window), 1), legend)).
			says("Median time per output token over the window, one sample per probe.", tpot),
		stacked("Failures", count, 8, 8, over(
			s.with(`outcome!="ok"`).apart("outcome").increase(probes, window)+" > 0", legend+" {{outcome}}")).empty("None").
			says("Probes in the window that failed, by outcome.", probes),
	}
}

func fleetObjectives(s scope) []*panel {
	each := s.apart("objective")
	named := legend + " {{objective}}"
	return []*panel{
		lines("Budget left", share, 12, 8, over(each.budgetLeft(), named)).judged(bad, from(0, wary), from(0.25, good)).
			says("Remaining error budget over a period as long as the time shown, ending at each point: 100% if no probe was bad.", objective),
		lines("Burn rate, 1 h", ratio, 12, 8, over(each.burn("[1h]"), named)).judged(neutral, from(1, wary), from(14.4, bad)).
			says("How many times faster than allowed the error budget was used over the last hour. 14.4 triggers a page.", objective),
	}
}

func fleetGroups() []*panel {
	var panels []*panel
	for _, each := range []struct{ signal, title string }{{"ttft", "TTFT"}, {"tpot", "TPOT"}, {"itl", "ITL"}} {
		expr := `group:llm_probe_latency_seconds:ratio_best1h{target=~"$target",model=~"$model",prompt=~"$prompt",signal="` + each.signal + `"}`
		panels = append(panels, lines(each.title+": ratio to the fastest of the group", ratio, 8, 8, over(expr, "{{group}} "+legend)).empty(noRules).
			says("Median of the last hour divided by the lowest median in the group, whose targets get the same prompts: the fastest has 1. Recorded by alerts/rules.yaml.", "group:llm_probe_latency_seconds:ratio_best1h"))
	}
	return panels
}
