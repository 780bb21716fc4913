package archive

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// The metrics that are read.
const (
	probesTotal  = "llm_probe_probes_total"
	skippedTotal = "llm_probe_skipped_total"
	tokensTotal  = "llm_probe_tokens_total"
	taintedTotal = "llm_probe_tainted_total"

	ttftSeconds = "llm_probe_ttft_seconds"
	tpotSeconds = "llm_probe_tpot_seconds"
	itlSeconds  = "llm_probe_itl_seconds"
	e2elSeconds = "llm_probe_e2el_seconds"
)

// Metrics are the names of the metrics that are read.
func Metrics() []string {
	return []string{probesTotal, skippedTotal, tokensTotal, taintedTotal, ttftSeconds, tpotSeconds, itlSeconds, e2elSeconds}
}

// unknown is the model of a target whose server has not told it yet.
const unknown = "unknown"

// A Filter is which targets are asked for. What is empty asks for all.
type Filter struct {
	Targets       []string
	Model, Prompt string
}

// A Selection is the series that are read as one: of one target, model and
// workload, from however many probers.
type Selection struct {
	Target, Model, Prompt string

	alone       bool // the target has no other model or prompt
	withUnknown bool // what was counted before the server told its model belongs to it
}

// name is the target, and what sets it apart from others of the same target.
func (s Selection) name() string {
	if s.alone {
		return s.Target
	}
	return fmt.Sprintf("%s (model %s, prompt %s)", s.Target, s.Model, s.Prompt)
}

// selector selects the series of a metric, with further matchers.
func (a *Archive) selector(metric string, s Selection, matchers ...string) string {
	all := []string{"target=" + quote(s.Target), "prompt=" + quote(s.Prompt)}
	if s.withUnknown {
		all = append(all, "model=~"+quote(regexp.QuoteMeta(s.Model)+"|"+unknown))
	} else {
		all = append(all, "model="+quote(s.Model))
	}
	return a.of(metric, append(all, matchers...)...)
}

// of selects the series of a metric by matchers and those that all must have.
func (a *Archive) of(metric string, matchers ...string) string {
	for _, m := range a.match {
		matchers = append(matchers, m.Label+"="+quote(m.Value))
	}
	return metric + "{" + strings.Join(matchers, ",") + "}"
}

func quote(s string) string { return strconv.Quote(s) }

// selections finds what a filter asks for in a range, sorted by target, model and
// prompt. Some may have no sample there.
func (a *Archive) selections(ctx context.Context, f Filter, r Range) ([]Selection, error) {
	series, err := a.series(ctx, a.of(probesTotal, `outcome="ok"`), r)
	if err != nil {
		return nil, err
	}
	models := map[[2]string][]string{} // by target and prompt
	for _, labels := range series {
		target, m, prompt := string(labels["target"]), string(labels["model"]), string(labels["prompt"])
		at := [2]string{target, prompt}
		known := f.Targets == nil || slices.Contains(f.Targets, target)
		if known && (f.Prompt == "" || f.Prompt == prompt) && !slices.Contains(models[at], m) {
			models[at] = append(models[at], m)
		}
	}
	var all []Selection
	for at, of := range models {
		for _, s := range fold(of) {
			if s.Target, s.Prompt = at[0], at[1]; f.Model == "" || f.Model == s.Model {
				all = append(all, s)
			}
		}
	}
	slices.SortFunc(all, func(a, b Selection) int {
		return slices.Compare([]string{a.Target, a.Model, a.Prompt}, []string{b.Target, b.Model, b.Prompt})
	})
	return all, nil
}

// fold makes selections of the models of a target. What is of a model that is
// not known yet belongs to the one other, if there is one.
func fold(models []string) []Selection {
	if len(models) == 2 && slices.Contains(models, unknown) {
		models = slices.DeleteFunc(models, func(m string) bool { return m == unknown })
		return []Selection{{Model: models[0], withUnknown: true}}
	}
	var all []Selection
	for _, m := range models {
		all = append(all, Selection{Model: m})
	}
	return all
}

// absent says what was looked for in vain, and what there is.
func (a *Archive) absent(ctx context.Context, f Filter, targets []string, r Range) error {
	text := fmt.Sprintf("no data of %s from %s to %s in Prometheus at %s (looked for %s)",
		subject(targets), stamp(r.From), stamp(r.To), a.place, a.of(probesTotal, describe(f, targets)...))
	spans, err := a.coverage(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%s; listing its targets failed: %w", text, err)
	case len(spans) == 0:
		return fmt.Errorf("%s; there is no target at all in the last %d days: check that this Prometheus scrapes a prober or receives its OTLP", text, coveredDays)
	}
	var there []string
	for _, target := range slices.Sorted(maps.Keys(spans)) {
		there = append(there, fmt.Sprintf("%s (between %s and %s)", target, stamp(spans[target].From), stamp(spans[target].To)))
	}
	return fmt.Errorf("%s; there is data, by day, of %s", text, strings.Join(there, ", "))
}

func subject(targets []string) string {
	if len(targets) == 0 {
		return "any target"
	}
	return "target " + strings.Join(targets, ", ")
}

// describe are the matchers of a filter.
func describe(f Filter, targets []string) []string {
	var all []string
	if len(targets) == 1 {
		all = append(all, "target="+quote(targets[0]))
	}
	if f.Model != "" {
		all = append(all, "model="+quote(f.Model))
	}
	if f.Prompt != "" {
		all = append(all, "prompt="+quote(f.Prompt))
	}
	return all
}

// coveredDays is how far back is looked for targets that a range does not have.
const coveredDays = 400

// coverage is between which days each target has data.
func (a *Archive) coverage(ctx context.Context) (map[string]Range, error) {
	now, day := time.Now(), 24*time.Hour
	matrix, err := a.steps(ctx, "count by (target) (present_over_time("+a.of(probesTotal, `outcome="ok"`)+"[1d]))",
		v1.Range{Start: now.Add(-coveredDays * day), End: now, Step: day})
	if err != nil {
		return nil, err
	}
	spans := map[string]Range{}
	for _, stream := range matrix {
		if n := len(stream.Values); n > 0 {
			spans[string(stream.Metric[model.LabelName("target")])] = Range{
				From: stream.Values[0].Timestamp.Time().Add(-day), To: stream.Values[n-1].Timestamp.Time(),
			}
		}
	}
	return spans, nil
}

// stamp writes a time as people do, in UTC.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
