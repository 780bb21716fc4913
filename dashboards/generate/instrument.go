package main

// instrument is how the prober itself is.
func instrument() *dashboard {
	b := newDashboard("instrument", "Instrument", "Health of the prober itself: schedule, measurement, export and scrape, process, cost.")
	b.vars(probers()...)
	b.marks(".*")
	self := scope{ofProber, "job, instance"}
	b.add(instrumentFigures(self)...)
	b.row("Schedule", false, onTime(self)...)
	b.row("Measurement", false, measurement(self)...)
	b.row("Exported and scraped", false, exported(self)...)
	b.row("Process", false, process(self)...)
	b.row("Cost", true, cost(self)...)
	return b.number()
}

// known keeps series of probers, also of those that have gone within the time shown.
func (s scope) known(expr string) string {
	return expr + "\nand on (" + s.by + ") last_over_time(" + s.of(buildInfo) + shown + ")"
}

func instrumentFigures(s scope) []*panel {
	each := s.apart(identity)
	age := "max by (job, instance) ((time() - " + each.max("llm_probe_last_probe_timestamp_seconds") + ") / " + each.max("llm_probe_interval_seconds") + ")"
	mode := "group by (" + s.by + ") (histogram_count(" + s.of(e2el) + "))\nor 0 * group by (" + s.by + ") (" + s.of(e2el+"_bucket") +
		")\nor group by (" + s.by + ") (" + s.of(buildInfo) + ") - 2"
	named := "{{job}} {{instance}}"
	return []*panel{
		figure("Up", ratio, 4, 4, now(s.known("min by ("+s.by+") ("+s.of("up")+")"), named)).empty("Not scraped").judged(bad, from(1, good)).
			word("1", "up", good).word("0", "down", bad).
			says("Whether the last scrape of the prober succeeded. Empty if it only sends OTLP.", "up"),
		figure("Histograms", ratio, 4, 4, now(mode, named)).judged(neutral, from(0, wary), from(1, good)).
			word("1", "native", good).word("0", "classic only", wary).word("-1", "none yet", neutral).
			says("Form in which latencies are stored. \"Classic only\": native histograms are offered but not scraped; set scrape_native_histograms: true in the scrape job.", e2el),
		figure("Configuration", ratio, 4, 4, now("min by ("+s.by+") ("+s.of("llm_prober_config_last_reload_successful")+")", named)).
			judged(bad, from(1, good)).word("1", "loaded", good).word("0", "rejected", bad).
			says("Whether the last load of the configuration succeeded. If it was rejected, the previous one stays in use.", "llm_prober_config_last_reload_successful"),
		figure("Export failures in 1 h", count, 4, 4, now(s.increase("llm_prober_export_failures_total", "[1h]"), named)).judged(good, from(0.5, wary)).
			says("OTLP exports of metrics or traces that failed in the last hour, after all retries.", "llm_prober_export_failures_total"),
		figure("Oldest result, in intervals", ratio, 4, 4, now(age, named)).judged(neutral, from(2, wary), from(5, bad)).
			says("Time since the last probe ended, divided by the interval, for the worst target. High if the prober is stuck or a target's probes hang.", "llm_probe_last_probe_timestamp_seconds"),
		figure("Running", ratio, 4, 4, now("max by ("+s.by+", version, goversion) ("+s.of(buildInfo)+")", "{{instance}} {{version}} {{goversion}}")).textOnly().
			says("Version of the prober, and the Go version it was built with.", buildInfo),
	}
}

// textOnly shows the names of series and not their values.
func (p *panel) textOnly() *panel {
	p.Options["textMode"] = "name"
	return p
}

func onTime(s scope) []*panel {
	delay, each := "llm_prober_schedule_delay_seconds", s.apart(identity)
	due := each.with(`reason!~"waiting|draining"`)
	named, full := "{{job}} {{instance}}", "{{target}} {{model}} {{prompt}} {{instance}}"
	return []*panel{
		lines("Schedule delay", seconds, 8, 8,
			over(s.quantile(0.5, delay, window), "p50 "+named), over(s.quantile(0.95, delay, window), "p95 "+named),
			over(s.samples(delay, window), "samples "+named)).aside("C", "samples").
			says("How late probes started, over the window. Above a tenth of the interval the machine is too busy for reliable results. Bars are the number of samples.", delay),
		stacked("Skipped", count, 8, 8, over(each.apart("reason").increase(skipped, window)+" > 0", "{{reason}} "+full)).empty("None").
			says("Probes that were due in the window but not made, by reason: overlap, budget, late, backoff, waiting, draining.", skipped),
		lines("Share skipped", share, 8, 8, over(
			due.increase(skipped, window)+"\n/ ("+due.increase(skipped, window)+" + "+each.increase(probes, window)+")", full)).
			upTo(0, 1).judged(neutral, from(0.05, wary)).says("Share of due probes in the window that were not made, not counting servers that were not ready yet or are draining. The line is at 5%, where an alert fires.", skipped),
		lines("In flight", count, 8, 8, over(each.max("llm_probe_in_flight"), full)).
			says("Probes in flight.", "llm_probe_in_flight"),
		lines("Oldest in flight", seconds, 8, 8, over(each.max(oldest), full)).judged(neutral, from(60, wary), from(120, bad)).
			says("Age of the oldest probe in flight; lines at half the default timeout and at the default timeout.", oldest),
		lines("Time since the last probe, in intervals", ratio, 8, 8, over(
			"(time() - "+each.max("llm_probe_last_probe_timestamp_seconds")+")\n/ "+each.max("llm_probe_interval_seconds"), full)).
			judged(neutral, from(2, wary), from(5, bad)).
			says("Time since the last probe ended, divided by the interval: normally below 2 if answers take less than an interval.", "llm_probe_last_probe_timestamp_seconds"),
	}
}

// measurement shows whether gaps between tokens are the server's or the prober's own.
func measurement(s scope) []*panel {
	delay, refused, each := "llm_prober_read_delay_seconds", "llm_prober_refused_stamps_total", s.apart(identity)
	named, full := "{{job}} {{instance}}", "{{target}} {{model}} {{prompt}} {{instance}}"
	stamps := table("Timestamp source", ratio, 12, 8, rows(each.with(`stamp!=""`).apart("stamp").max(about)))
	stamps.Transformations = append(stamps.Transformations, renamed(
		[]string{"target", "model", "prompt", "stamp", "job", "instance"}, nil, []string{""}))
	return []*panel{
		lines("Read delay", seconds, 12, 8,
			over(s.quantile(0.5, delay, window), "p50 "+named), over(s.quantile(0.99, delay, window), "p99 "+named),
			over(s.samples(delay, window), "samples "+named)).aside("C", "samples").empty("No kernel timestamps").
			says("Time from the kernel's receive timestamp until the prober read the bytes, over the window. Tens of microseconds are healthy; near the time per token the prober lacks CPU and single gaps are lost. Bars are the number of samples.", delay),
		lines("Joined tokens and tainted probes", share, 12, 8, over(
			each.increase(joined, window)+"\n/ ("+each.with(`kind="output"`).increase(tokens, window)+" > 0)", "joined "+full), over(
			each.apart("reason").increase(tainted, window)+"\n/ on ("+each.by+") group_left ()\n"+each.increase(probes, window), "tainted, {{reason}} "+full)).
			upTo(0, 1).judged(neutral, from(0.1, wary)).
			says("Joined: share of tokens that the prober read late and together with others, so that their ITL is a mean and max gap may be missing. Tainted: share of probes without ITL because nearly all their tokens were joined. Empty if the server does not count tokens. The line is at 10%, where an alert fires.", joined),
		lines("Rejected kernel timestamps", count, 12, 8, over(s.increase(refused, window), named)).judged(neutral, from(1, wary)).
			says("Kernel timestamps in the window that were rejected because they were in the future or the wall clock had been set. The prober's own read time was used instead.", refused),
		stamps.empty("No tokens yet").
			says("Source of arrival timestamps: kernel, or user for the prober's own clock, which cannot tell the prober's delay from the server's.", about),
	}
}

func exported(s scope) []*panel {
	named, lookups := "{{job}} {{instance}}", "llm_prober_dns_lookup_failures_total"
	return []*panel{
		lines("Failed exports and lookups", count, 8, 8,
			over(s.increase("llm_prober_export_failures_total", window), "exports "+named),
			over(s.increase(lookups, window), "lookups "+named)).judged(neutral, from(1, wary)).
			says("OTLP exports of metrics or traces that failed in the window, after all retries (llm_prober_export_failures_total), and failed DNS lookups of dns+ targets.", lookups),
		lines("Samples per scrape", count, 8, 8, over(s.known(s.max("scrape_samples_scraped")), named)).empty("Not scraped").
			says("Samples in one scrape. A native histogram is one sample, a classic one has a sample for each bucket.", "scrape_samples_scraped"),
		lines("Scrape duration", seconds, 8, 8, over(s.known(s.max("scrape_duration_seconds")), named)).empty("Not scraped").
			says("How long a scrape of the prober took.", "scrape_duration_seconds"),
	}
}

func process(s scope) []*panel {
	named := "{{job}} {{instance}}"
	const scraped = "Empty if the prober is not scraped."
	return []*panel{
		lines("CPU", share, 6, 7, over(s.known(s.rate("process_cpu_seconds_total", window)), named)).empty("Not scraped").
			says("CPU used by the prober: 100% is one core. "+scraped, "process_cpu_seconds_total"),
		lines("Memory", "bytes", 6, 7, over(s.known(s.max("process_resident_memory_bytes")), named)).empty("Not scraped").
			says("Resident memory of the prober. "+scraped, "process_resident_memory_bytes"),
		lines("Goroutines", count, 6, 7, over(s.known(s.max("go_goroutines")), named)).empty("Not scraped").
			says("Goroutines of the prober. Their number should not grow. "+scraped, "go_goroutines"),
		lines("Open files", count, 6, 7,
			over(s.known(s.max("process_open_fds")), named), over(s.known(s.max("process_max_fds")), "limit "+named)).empty("Not scraped").
			override("byFrameRefID", "B", property{"custom.lineStyle", map[string]any{"fill": "dash", "dash": []int{6, 6}}}).
			says("Open files and sockets of the prober, and the limit. "+scraped, "process_open_fds"),
	}
}

func cost(s scope) []*panel {
	spent := s.with(`kind=~"prompt|output"`).apart(identity)
	full := "{{target}} {{model}} {{prompt}} {{instance}}"
	return []*panel{
		lines("Tokens in 24 h", count, 12, 8, over(spent.increase(tokens, "[1d]"), full)).
			says("Prompt and output tokens in the 24 hours before each point, as the servers count them.", tokens),
		lines("Tokens per day at this rate", count, 12, 8, over("86400 * "+spent.rate(tokens, window), full)).
			says("Prompt and output tokens per day at the rate of the window.", tokens),
	}
}
