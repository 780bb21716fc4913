package promquery

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/report"
)

// The metrics that are read, apart from the histograms: see histogramOf.
const (
	probesTotal  = "llm_probe_probes_total"
	skippedTotal = "llm_probe_skipped_total"
	tokensTotal  = "llm_probe_tokens_total"
	taintedTotal = "llm_probe_tainted_total"

	objectiveEvents = "llm_probe_objective_events_total"
	objectiveGoal   = "llm_probe_objective_goal_ratio"
	objectiveLimit  = "llm_probe_objective_limit_seconds"
	targetInfo      = "llm_probe_target_info"
)

// histogramOf returns the name of the histogram of a quantity: llm_probe_ttft_seconds.
func histogramOf(q report.Quantity) string {
	return "llm_probe_" + strings.ToLower(q.Name) + "_seconds"
}

// Metrics returns the names of the metrics that are read.
func Metrics() []string {
	names := []string{
		probesTotal, skippedTotal, tokensTotal, taintedTotal, objectiveEvents, objectiveGoal, objectiveLimit,
		targetInfo,
	}
	for _, q := range report.Quantities() {
		names = append(names, histogramOf(q))
	}
	return names
}

// seriesLabels are the labels of a [series], in PromQL.
const seriesLabels = "target, model, prompt, vantage"

// A selection is the series that are read.
type selection struct {
	targets  []string // nil for all
	matchers []string // further matchers, in PromQL
}

// selector returns the PromQL selector of a metric: llm_probe_probes_total{target="a",job="prober"}.
func (s selection) selector(metric string, more ...string) string {
	matchers := slices.Concat(s.matchers, more)
	if s.targets != nil {
		matchers = append([]string{"target" + equals(s.targets...)}, matchers...)
	}
	return metric + "{" + strings.Join(matchers, ",") + "}"
}

// equals returns what follows a label in a selector if it must have one of these values: ="a", or =~"a|b".
func equals(values ...string) string {
	if len(values) == 1 {
		return "=" + strconv.Quote(values[0])
	}
	var quoted []string
	for _, v := range values {
		quoted = append(quoted, regexp.QuoteMeta(v))
	}
	return "=~" + strconv.Quote(strings.Join(quoted, "|"))
}

// increase returns the expression of how much a metric grew in some time. It sums up probers and ingestion paths by
// series, and by further labels.
func (s selection) increase(metric string, in time.Duration, labels ...string) string {
	by := strings.Join(append([]string{seriesLabels}, labels...), ", ")
	return fmt.Sprintf("sum by (%s) (increase(%s[%dms]))", by, s.selector(metric), in.Milliseconds())
}

// mean returns the expression of the mean of a histogram over some time: of the native one, or else of the classic one.
func (s selection) mean(metric string, in time.Duration) string {
	native := "histogram_avg(" + s.increase(metric, in) + ")"
	classic := s.increase(metric+"_sum", in) + " / " + s.increase(metric+"_count", in)
	return native + " or " + classic
}

// lastValue returns the expression of a gauge of objectives: its value now or, if no prober reports it, its last one in
// the window.
func (s selection) lastValue(metric string, window time.Duration) string {
	const largest = "max by (" + seriesLabels + ", objective) "
	return fmt.Sprintf("%s(%s) or %[1]s(last_over_time(%[2]s[%dms]))", largest, s.selector(metric), window.Milliseconds())
}

// badRefusals returns the expression of the series for whose objectives refused requests were bad at some time in the
// window.
func (s selection) badRefusals(window time.Duration) string {
	info := s.selector(targetInfo, `refusals="bad"`)
	return fmt.Sprintf("max by (%s) (last_over_time(%s[%dms]))", seriesLabels, info, window.Milliseconds())
}
