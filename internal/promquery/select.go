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
)

// latencies are the histograms that are read, in the order of [record.quantities].
var latencies = []struct{ name, metric string }{
	{"TTFT", "llm_probe_ttft_seconds"}, {"TPOT", "llm_probe_tpot_seconds"}, {"ITL", "llm_probe_itl_seconds"}, {"E2EL", "llm_probe_e2el_seconds"},
}

// Metrics are the names of the metrics that are read.
func Metrics() []string {
	names := []string{probesTotal, skippedTotal, tokensTotal, taintedTotal, targetInfo}
	for _, l := range latencies {
		names = append(names, l.metric)
	}
	return names
}

// A filter is which series are asked for.
type filter struct {
	targets []string // nil for all
	match   []string // further matchers, as PromQL writes them
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
	var matchers []string
	if f.targets != nil {
		matchers = []string{"target" + oneOf(f.targets...)}
	}
	return metric + "{" + strings.Join(slices.Concat(matchers, f.match, more), ",") + "}"
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
	subject := "any target"
	if targets != nil {
		subject = "target " + strings.Join(targets, ", ")
	}
	looked := filter{targets, r.filter.match}.selector(probesTotal)
	text := fmt.Sprintf("no data of %s %s in Prometheus at %s (looked for %s)", subject, r.span, r.base.Redacted(), looked)
	const back = 30 * 24 * time.Hour
	vector, err := r.instant(ctx, "group by (target) ("+over("present_over_time", probesTotal+`{outcome="ok"}`, back)+")", time.Now())
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
