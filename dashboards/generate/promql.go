package main

import "strconv"

// Label matchers of every query: of the prober, and of what it probes.
const (
	ofProber  = `job=~"$job",instance=~"$instance"`
	ofTargets = ofProber + `,target=~"$target",model=~"$model",prompt=~"$prompt"`
)

// identity are the labels of one probed combination.
const identity = "target, model, prompt"

// Ranges. Quantiles look back over the window that the reader chose: at 0.1 probes
// a second Grafana's rate interval of a minute holds six.
const (
	window   = "[$window]"
	shown    = "[$__range]"         // all that the dashboard shows
	interval = "[$__rate_interval]" // heatmaps only
)

// A scope is the label matchers of a query and the labels it groups by.
type scope struct {
	matchers string
	by       string
}

// with is the scope with further matchers.
func (s scope) with(matchers string) scope {
	s.matchers += "," + matchers
	return s
}

// apart is the scope grouped by further labels as well.
func (s scope) apart(labels string) scope {
	s.by += ", " + labels
	return s
}

// of selects a metric.
func (s scope) of(metric string) string { return metric + "{" + s.matchers + "}" }

// sum adds up what an expression says.
func (s scope) sum(expr string) string { return "sum by (" + s.by + ") (" + expr + ")" }

// max is the largest of a metric, which copies of it make no larger.
func (s scope) max(metric string) string { return "max by (" + s.by + ") (" + s.of(metric) + ")" }

// rate and increase are of a counter.
func (s scope) rate(counter, over string) string { return s.sum("rate(" + s.of(counter) + over + ")") }
func (s scope) increase(counter, over string) string {
	return s.sum("increase(" + s.of(counter) + over + ")")
}

// share is the part of a counter's increase that further matchers select.
func (s scope) share(counter, matchers, over string) string {
	return s.with(matchers).increase(counter, over) + "\n/ " + s.increase(counter, over)
}

// either is the first expression where it has something, else the second. Both
// have the same labels.
func either(native, classic string) string { return native + "\nor " + classic }

// quantile is of a histogram, scraped natively or as classic buckets.
// over may have a modifier, as in [1h] offset 1d.
func (s scope) quantile(q float64, histogram, over string) string {
	f := "histogram_quantile(" + number(q) + ", "
	return either(f+s.rate(histogram, over)+")", f+s.apart("le").rate(histogram+"_bucket", over)+")")
}

// average is the mean of a histogram.
func (s scope) average(histogram, over string) string {
	return either("histogram_avg("+s.rate(histogram, over)+")",
		s.rate(histogram+"_sum", over)+" / "+s.rate(histogram+"_count", over))
}

// samples is how many samples a histogram got.
func (s scope) samples(histogram, over string) string {
	return either("histogram_count("+s.increase(histogram, over)+")", s.increase(histogram+"_count", over))
}

// heat is a histogram as a heatmap: native, or classic buckets where there are no
// native ones.
func (s scope) heat(histogram string) string {
	native := "sum(rate(" + s.of(histogram) + interval + "))"
	return native + "\nor (sum by (le) (rate(" + s.of(histogram+"_bucket") + interval + ")) unless on () " + native + ")"
}

// enough drops values with fewer than times × $min_probes successful probes.
func (s scope) enough(expr string, times int) string {
	return s.least(expr, times, s.with(`outcome="ok"`))
}

// ended is enough, counting failed probes as well.
func (s scope) ended(expr string, times int) string { return s.least(expr, times, s) }

func (s scope) least(expr string, times int, counted scope) string {
	least := "$min_probes"
	if times > 1 {
		least = strconv.Itoa(times) + " * " + least
	}
	return "(" + expr + ")\nand on (" + s.by + ") " + counted.increase(probes, window) + " >= " + least
}

// spoken is an expression without NaN.
func spoken(expr string) string { return "(" + expr + ") >= 0" }

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// The metrics that more than one panel shows.
const (
	probes    = "llm_probe_probes_total"
	ttft      = "llm_probe_ttft_seconds"
	tpot      = "llm_probe_tpot_seconds"
	itl       = "llm_probe_itl_seconds"
	e2el      = "llm_probe_e2el_seconds"
	chunkGap  = "llm_probe_chunk_gap_seconds"
	maxGap    = "llm_probe_max_gap_seconds"
	ttfat     = "llm_probe_ttfat_seconds"
	server    = "llm_probe_server_ttft_seconds"
	objective = "llm_probe_objective_events_total"
	goal      = "llm_probe_objective_goal_ratio"
	tokens    = "llm_probe_tokens_total"
	frames    = "llm_probe_frames_total"
	skipped   = "llm_probe_skipped_total"
	joined    = "llm_probe_joined_tokens_total"
	tainted   = "llm_probe_tainted_total"
	succeeded = "llm_probe_last_success_timestamp_seconds"
	oldest    = "llm_probe_oldest_in_flight_seconds"
	about     = "llm_probe_target_info"
	buildInfo = "llm_prober_build_info"
)

// badShare is the share of judged probes that were bad.
func (s scope) badShare(over string) string {
	return s.share(objective, `verdict="bad"`, over)
}

// budget is what an objective allows.
func (s scope) budget() string { return "(1 - " + s.max(goal) + ")" }

// budgetLeft is the share of an objective's error budget that remains over the time
// shown: 1 if no probe was bad, below 0 if more were than it allows.
func (s scope) budgetLeft() string {
	return "1 - " + s.badShare(shown) + "\n/ " + s.budget()
}

// burn is how many times faster than allowed the budget is used.
func (s scope) burn(over string) string { return s.badShare(over) + "\n/ " + s.budget() }
