package main

// instrument is how the prober itself is.
func instrument() *dashboard {
	b := newDashboard("instrument", "Instrument", "Is the prober well: is it on time, is it scraped as it should be, does it have what it needs.")
	b.vars(probers()...)
	b.marks(".*")
	self := scope{ofProber, "job, instance"}
	b.add(instrumentFigures(self)...)
	b.row("On time", false, onTime(self)...)
	b.row("Measurement", false, measurement(self)...)
	b.row("Exported and scraped", false, exported(self)...)
	b.row("Process", false, process(self)...)
	b.row("Cost", true, cost(self)...)
	return b.number()
}

// known keeps what is said of probers, also of one that is gone since.
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
			says("Whether the last scrape of the prober worked; nothing where it sends by OTLP instead.", "up"),
		figure("Histograms", ratio, 4, 4, now(mode, named)).judged(neutral, from(0, wary), from(1, good)).
			word("1", "native", good).word("0", "classic only", wary).word("-1", "none yet", neutral).
			says("How latencies come in: classic only means that the prober has native histograms and nobody scrapes them (scrape_native_histograms: true).", e2el),
		figure("Configuration", ratio, 4, 4, now("min by ("+s.by+") ("+s.of("llm_prober_config_last_reload_successful")+")", named)).
			judged(bad, from(1, good)).word("1", "loaded", good).word("0", "refused", bad).
			says("Whether the configuration could be loaded the last time; if not, the one before is in force.", "llm_prober_config_last_reload_successful"),
		figure("Export failures in 1 h", count, 4, 4, now(s.increase("llm_prober_export_failures_total", "[1h]"), named)).judged(good, from(0.5, wary)).
			says("Metrics or traces that could not be sent by OTLP in the last hour, after all retries.", "llm_prober_export_failures_total"),
		figure("Oldest result, in intervals", ratio, 4, 4, now(age, named)).judged(neutral, from(2, wary), from(5, bad)).
			says("Time since the last probe of the target that is worst off, over its interval: a stuck prober shows here, and a target whose probes hang.", "llm_probe_last_probe_timestamp_seconds"),
		figure("Running", ratio, 4, 4, now("max by ("+s.by+", version, goversion) ("+s.of(buildInfo)+")", "{{instance}} {{version}} {{goversion}}")).textOnly().
			says("Version of the program and of the Go that it was built with.", buildInfo),
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
			says("How late probes started, over the window: above a tenth of the interval the machine is too busy to be trusted. The bars are samples.", delay),
		stacked("Skipped", count, 8, 8, over(each.apart("reason").increase(skipped, window)+" > 0", "{{reason}} "+full)).empty("None").
			says("Probes in the window that were due and not made, by reason: overlap, budget, late, backoff, waiting, draining.", skipped),
		lines("Skipped of what was due", share, 8, 8, over(
			due.increase(skipped, window)+"\n/ ("+due.increase(skipped, window)+" + "+each.increase(probes, window)+")", full)).
			upTo(0, 1).judged(neutral, from(0.05, wary)).says("Share of due probes in the window that were not made, without those of servers that were not ready yet or are about to stop; the line is at 5%, where an alert fires.", skipped),
		lines("In flight", count, 8, 8, over(each.max("llm_probe_in_flight"), full)).
			says("Probes under way.", "llm_probe_in_flight"),
		lines("Oldest in flight", seconds, 8, 8, over(each.max(oldest), full)).judged(neutral, from(60, wary), from(120, bad)).
			says("How long the oldest probe under way has been so; lines at half of the default timeout and all of it.", oldest),
		lines("Time since the last probe, in intervals", ratio, 8, 8, over(
			"(time() - "+each.max("llm_probe_last_probe_timestamp_seconds")+")\n/ "+each.max("llm_probe_interval_seconds"), full)).
			judged(neutral, from(2, wary), from(5, bad)).
			says("Time since the last probe ended, over its interval: below 2 when all is well and answers take less than an interval.", "llm_probe_last_probe_timestamp_seconds"),
	}
}

// measurement is whether gaps between tokens are the server's, and who says so.
func measurement(s scope) []*panel {
	delay, refused, each := "llm_prober_read_delay_seconds", "llm_prober_refused_stamps_total", s.apart(identity)
	named, full := "{{job}} {{instance}}", "{{target}} {{model}} {{prompt}} {{instance}}"
	stamps := table("Stamps", ratio, 12, 8, rows(each.with(`stamp!=""`).apart("stamp").max(about)))
	stamps.Transformations = append(stamps.Transformations, renamed(
		[]string{"target", "model", "prompt", "stamp", "job", "instance"}, nil, []string{""}))
	return []*panel{
		lines("Read delay", seconds, 12, 8,
			over(s.quantile(0.5, delay, window), "p50 "+named), over(s.quantile(0.99, delay, window), "p99 "+named),
			over(s.samples(delay, window), "samples "+named)).aside("C", "samples").empty("No kernel time stamps").
			says("How long the bytes of tokens lay unread, from the kernel's time stamp until the prober read them, over the window: tens of microseconds are healthy; near the time of a token it has too little processor, and single gaps are lost. The bars are samples.", delay),
		lines("Joined tokens and tainted probes", share, 12, 8, over(
			each.increase(joined, window)+"\n/ ("+each.with(`kind="output"`).increase(tokens, window)+" > 0)", "joined "+full), over(
			each.apart("reason").increase(tainted, window)+"\n/ on ("+each.by+") group_left ()\n"+each.increase(probes, window), "tainted, {{reason}} "+full)).
			upTo(0, 1).judged(neutral, from(0.1, wary)).
			says("Share of tokens in the window that the prober read late and together with others, so that their ITL is a mean and max gap may be missing; and of probes that have no ITL because nearly all their tokens were. A server that counts no tokens shows no share. The line is at a tenth, where an alert fires.", joined),
		lines("Refused stamps", count, 12, 8, over(s.increase(refused, window), named)).judged(neutral, from(1, wary)).
			says("Kernel time stamps in the window that were not believed, since they were from the future or the wall clock had been set: the prober's own time took their place.", refused),
		stamps.empty("No token yet").
			says("Who stamps the arrival of a target's token frames: kernel, or user for the prober itself, which then cannot tell its own lateness from the server's.", about),
	}
}

func exported(s scope) []*panel {
	named, lookups := "{{job}} {{instance}}", "llm_prober_dns_lookup_failures_total"
	return []*panel{
		lines("Failed exports and lookups", count, 8, 8,
			over(s.increase("llm_prober_export_failures_total", window), "exports "+named),
			over(s.increase(lookups, window), "lookups "+named)).judged(neutral, from(1, wary)).
			says("Metrics or traces in the window that could not be sent by OTLP, after all retries (llm_prober_export_failures_total), and hosts of dns+ URLs that could not be looked up.", lookups),
		lines("Samples a scrape", count, 8, 8, over(s.known(s.max("scrape_samples_scraped")), named)).empty("Not scraped").
			says("Samples that a scrape brings: native histograms are one each, classic ones one for every bucket.", "scrape_samples_scraped"),
		lines("Scrape duration", seconds, 8, 8, over(s.known(s.max("scrape_duration_seconds")), named)).empty("Not scraped").
			says("How long a scrape of the prober took.", "scrape_duration_seconds"),
	}
}

func process(s scope) []*panel {
	named := "{{job}} {{instance}}"
	const scraped = "Only where the prober is scraped."
	return []*panel{
		lines("CPU", share, 6, 7, over(s.known(s.rate("process_cpu_seconds_total", window)), named)).empty("Not scraped").
			says("Processor time that the prober used: 100% is one core. "+scraped, "process_cpu_seconds_total"),
		lines("Memory", "bytes", 6, 7, over(s.known(s.max("process_resident_memory_bytes")), named)).empty("Not scraped").
			says("Resident memory of the prober. "+scraped, "process_resident_memory_bytes"),
		lines("Goroutines", count, 6, 7, over(s.known(s.max("go_goroutines")), named)).empty("Not scraped").
			says("Goroutines of the prober: they should not grow. "+scraped, "go_goroutines"),
		lines("Open files", count, 6, 7,
			over(s.known(s.max("process_open_fds")), named), over(s.known(s.max("process_max_fds")), "limit "+named)).empty("Not scraped").
			override("byFrameRefID", "B", property{"custom.lineStyle", map[string]any{"fill": "dash", "dash": []int{6, 6}}}).
			says("Open files and sockets of the prober, and its limit. "+scraped, "process_open_fds"),
	}
}

func cost(s scope) []*panel {
	spent := s.with(`kind=~"prompt|output"`).apart(identity)
	full := "{{target}} {{model}} {{prompt}} {{instance}}"
	return []*panel{
		lines("Tokens in 24 h", count, 12, 8, over(spent.increase(tokens, "[1d]"), full)).
			says("Tokens of prompts and answers in the 24 hours before each point, as the servers count them.", tokens),
		lines("Tokens a day at this rate", count, 12, 8, over("86400 * "+spent.rate(tokens, window), full)).
			says("What a day will cost at the rate of the window.", tokens),
	}
}
