package promquery

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The metrics that are read.
const (
	probesTotal  = "llm_probe_probes_total"
	skippedTotal = "llm_probe_skipped_total"
	tokensTotal  = "llm_probe_tokens_total"
	taintedTotal = "llm_probe_tainted_total"
	targetInfo   = "llm_probe_target_info"

	ttftSeconds = "llm_probe_ttft_seconds"
	tpotSeconds = "llm_probe_tpot_seconds"
	itlSeconds  = "llm_probe_itl_seconds"
	e2elSeconds = "llm_probe_e2el_seconds"
)

// Metrics are the names of the metrics that are read.
func Metrics() []string {
	return []string{probesTotal, skippedTotal, tokensTotal, taintedTotal, targetInfo, ttftSeconds, tpotSeconds, itlSeconds, e2elSeconds}
}

// A filter is which series are asked for. What is empty asks for all.
type filter struct {
	targets       []string
	model, prompt string
	match         []string // further matchers, as PromQL writes them
}

// matchers are those of a filter, as PromQL writes them.
func (f filter) matchers() []string {
	var all []string
	if f.targets != nil {
		all = append(all, "target"+oneOf(f.targets...))
	}
	if f.model != "" {
		all = append(all, "model"+oneOf(f.model))
	}
	if f.prompt != "" {
		all = append(all, "prompt"+oneOf(f.prompt))
	}
	return append(all, f.match...)
}

// oneOf matches any of some values.
func oneOf(values ...string) string {
	if len(values) == 1 {
		return "=" + strconv.Quote(values[0])
	}
	var quoted []string
	for _, v := range values {
		quoted = append(quoted, regexp.QuoteMeta(v))
	}
	return "=~" + strconv.Quote(strings.Join(quoted, "|"))
}

// selector selects the series of a metric.
func (f filter) selector(metric string, more ...string) string {
	return metric + "{" + strings.Join(append(f.matchers(), more...), ",") + "}"
}

// increase is the expression of what a metric grew by in a time, summed over all probers and
// ingestion paths for each target, model, prompt and further label.
func (f filter) increase(metric string, in time.Duration, labels ...string) string {
	by := strings.Join(append([]string{"target", "model", "prompt"}, labels...), ", ")
	return "sum by (" + by + ") (" + over("increase", f.selector(metric), in) + ")"
}

// over applies a function to a range of so long.
func over(function, selector string, in time.Duration) string {
	return fmt.Sprintf("%s(%s[%dms])", function, selector, in.Milliseconds())
}

// absent says what was looked for in vain, and what there is.
func (r reader) absent(ctx context.Context, targets []string) error {
	looked, subject := r.filter, "any target"
	if looked.targets = targets; targets != nil {
		subject = "target " + strings.Join(targets, ", ")
	}
	text := fmt.Sprintf("no data of %s %s in Prometheus at %s (looked for %s)", subject, r.span, r.base.Redacted(), looked.selector(probesTotal))
	const back = 30 * 24 * time.Hour
	all := filter{match: r.filter.match}
	vector, err := r.instant(ctx, "group by (target) ("+over("present_over_time", all.selector(probesTotal, `outcome="ok"`), back)+")", time.Now())
	switch {
	case err != nil:
		return fmt.Errorf("%s; listing its targets failed: %w", text, err)
	case len(vector) == 0:
		return fmt.Errorf("%s; there is no target at all in the last %s: check that this Prometheus scrapes a prober or receives its OTLP", text, length(back))
	}
	var there []string
	for _, sample := range vector {
		there = append(there, string(sample.Metric["target"]))
	}
	slices.Sort(there)
	return fmt.Errorf("%s; the last %s have data of %s", text, length(back), strings.Join(there, ", "))
}
