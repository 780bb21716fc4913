package main

// Each query names one of the two targets exactly, so that names need no quoting
// for regular expressions.
const (
	sideA = ofProber + `,target="$a",prompt=~"$prompt"`
	sideB = ofProber + `,target="$b",prompt=~"$prompt"`
)

// A pair is the two targets that are compared, told apart by prompt.
type pair struct{ a, b scope }

func sides(by string) pair { return pair{a: scope{sideA, by}, b: scope{sideB, by}} }

// A latency is a histogram that dashboards compare.
type latency struct{ title, what, histogram string }

func latencies() []latency {
	return []latency{
		{"TTFT", "time to first token", ttft}, {"TPOT", "time per output token", tpot},
		{"ITL", "inter-token latency", itl}, {"E2EL", "end-to-end latency", e2el},
	}
}

// compare is one target against another.
func compare() *dashboard {
	b := newDashboard("compare", "Compare", "A against B: paired differences, latency distributions, quantiles, by location of the prober, week over week, client against server.")
	first, last := single("a", "A", about+"{"+ofProber+`,group=~"$group"}`, "target"), single("b", "B", about+"{"+ofProber+`,group=~"$group"}`, "target")
	first.Description = "Targets of one group get the same prompts in the same rounds"
	last.Sort = 2 // so that A and B differ at first
	b.vars(append(append(probers(), several("group", "Group", about+"{"+ofProber+"}"), first, last,
		several("prompt", "Prompt", about+"{"+ofProber+`,group=~"$group"}`),
		variable{
			Type: "custom", Name: "split", Label: "Split by", Query: "instance,job,cluster,region,namespace",
			Options:     choices("instance", "job", "cluster", "region", "namespace"),
			Description: "The label that says where a prober runs",
		}, atLeast()), serverVariables()...)...)
	b.marks("$a|$b")
	both := sides("prompt")
	b.add(differences(both)...)
	b.add(differenceCurves(both)...)
	b.row("Latency distributions", false, shapesOfBoth(both)...)
	b.row("Quantiles", false, quantilesOfBoth(sides("target, prompt"))...)
	b.row("Success and answers", false, successOfBoth(sides("target, prompt"))...)
	b.row("By location of the prober", true, vantages(sides("target, prompt, $split"))...)
	b.row("Week over week", true, weeks(sides("target, prompt"))...)
	b.row("Client against server", true, servers(sides("target, model"))...)
	return b.number()
}

// difference is of the averages over the window, where both have enough.
func (p pair) difference(histogram string) string { return p.join(histogram, "-") }

// ratio is A over B.
func (p pair) ratio(histogram string) string { return p.join(histogram, "/") }

func (p pair) join(histogram, operator string) string {
	return "(" + p.a.enough(p.a.average(histogram, window), 1) + ")\n" + operator + " on (" + p.a.by + ")\n(" +
		p.b.enough(p.b.average(histogram, window), 1) + ")"
}

// paired says what the difference of two averages means.
const paired = "Targets of one group get the same prompts in the same rounds, so the difference of the averages is the mean paired difference, " +
	"except for rounds in which one of the two failed. Below 0, A is faster."

func differences(both pair) []*panel {
	var panels []*panel
	for _, l := range latencies() {
		panels = append(panels, figure(l.title+": A − B", seconds, 6, 4, now(both.difference(l.histogram), "{{prompt}}")).
			says("Mean "+l.what+" of A minus that of B, over the window. "+paired, l.histogram))
	}
	return panels
}

func differenceCurves(both pair) []*panel {
	difference := func(title string, list ...latency) *panel {
		var queries []query
		for _, l := range list {
			queries = append(queries, over(both.difference(l.histogram), l.title+" {{prompt}}"))
		}
		return lines(title, seconds, 8, 8, queries...).says("Differences of means over the window. "+paired, list[0].histogram)
	}
	l := latencies()
	var ratios []query
	for _, each := range l {
		ratios = append(ratios, over(both.ratio(each.histogram), each.title+" {{prompt}}"))
	}
	return []*panel{
		difference("A − B: TTFT and E2EL", l[0], l[3]),
		difference("A − B: TPOT and ITL", l[1], l[2]),
		lines("A / B", ratio, 8, 8, ratios...).says("Ratio of the means over the window. 1 means no difference; below 1, A is faster.", ttft),
	}
}

func shapesOfBoth(both pair) []*panel {
	return []*panel{
		heatmap("TTFT of A", 12, 8, both.a.heat(ttft)).says("Time to first token of A.", ttft),
		heatmap("TTFT of B", 12, 8, both.b.heat(ttft)).says("Time to first token of B.", ttft),
		heatmap("ITL of A", 12, 8, both.a.heat(itl)).says("Inter-token latency of A, one sample per token; a dot is the longest gap of a probe.", itl),
		heatmap("ITL of B", 12, 8, both.b.heat(itl)).says("Inter-token latency of B, one sample per token; a dot is the longest gap of a probe.", itl),
	}
}

func quantilesOfBoth(both pair) []*panel {
	var panels []*panel
	for _, l := range latencies() {
		var queries []query
		for _, s := range []scope{both.a, both.b} {
			queries = append(queries,
				over(s.enough(s.quantile(0.5, l.histogram, window), 1), "p50 {{target}} {{prompt}}"),
				over(s.enough(s.quantile(0.95, l.histogram, window), 2), "p95 {{target}} {{prompt}}"),
				over(s.samples(l.histogram, window), "samples {{target}} {{prompt}}"))
		}
		panels = append(panels, lines(l.title, seconds, 12, 8, queries...).aside("C", "samples").aside("F", "samples").
			says("Median and p95 "+l.what+" of A and B over the window. p50 needs 10 probes, p95 20; bars are the number of samples.", l.histogram))
	}
	return panels
}

func successOfBoth(both pair) []*panel {
	each := func(build func(scope) string, legend string) []query {
		return []query{over(build(both.a), legend), over(build(both.b), legend)}
	}
	canary := func(s scope) string {
		return s.with(`prompt="canary"`).share(probes, `outcome="wrong_answer"`, window)
	}
	return []*panel{
		lines("Success", share, 8, 8, each(func(s scope) string { return s.share(probes, `outcome="ok"`, window) }, "{{target}} {{prompt}}")...).upTo(0, 1).
			judged(bad, from(0.95, wary), from(0.99, good)).says("Share of probes in the window that succeeded; lines at 95% and 99%.", probes),
		lines("Canaries with a wrong answer", share, 8, 8, each(canary, "{{target}}")...).upTo(0, 1).empty("No canary prompts").judged(neutral, from(0.01, bad)).
			says("Share of canary probes whose answer lacked the words it was asked for, for example because of a broken KV cache or quantization. The line is at 1%.", probes),
		stacked("Failures by outcome", count, 8, 8, each(func(s scope) string {
			return s.with(`outcome!="ok"`).apart("outcome").increase(probes, window) + " > 0"
		}, "{{outcome}} {{target}} {{prompt}}")...).empty("None").says("Probes in the window that failed.", probes),
	}
}

func vantages(both pair) []*panel {
	const split = "{{target}} {{prompt}} {{$split}}"
	var panels []*panel
	for _, l := range latencies() {
		panels = append(panels, lines(l.title+" p50 by $split", seconds, 6, 8,
			over(both.a.enough(both.a.quantile(0.5, l.histogram, window), 1), split),
			over(both.b.enough(both.b.quantile(0.5, l.histogram, window), 1), split)).
			says("Median "+l.what+" over the window, by location of the prober. Differences between locations come from the network and gateways.", l.histogram))
	}
	return append(panels, lines("Success by $split", share, 24, 7,
		over(both.a.share(probes, `outcome="ok"`, window), split), over(both.b.share(probes, `outcome="ok"`, window), split)).upTo(0, 1).
		judged(bad, from(0.95, wary), from(0.99, good)).says("Share of probes in the window that succeeded, by location of the prober; lines at 95% and 99%.", probes))
}

func weeks(both pair) []*panel {
	var panels []*panel
	for _, l := range latencies() {
		var queries []query
		for _, s := range []scope{both.a, both.b} {
			queries = append(queries,
				over(s.enough(s.quantile(0.5, l.histogram, window), 1), "{{target}} {{prompt}}"),
				over(s.quantile(0.5, l.histogram, window+" offset 1w"), "{{target}} {{prompt}}, a week before"))
		}
		panels = append(panels, lines(l.title+" p50, now and a week before", seconds, 12, 8, queries...).
			override("byRegexp", "a week before$", property{"custom.lineStyle", map[string]any{"fill": "dash", "dash": []int{6, 6}}}).
			says("Median "+l.what+" over the window (solid) and over the same window a week before (dashed).", l.histogram))
	}
	return panels
}
