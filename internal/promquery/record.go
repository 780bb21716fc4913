package promquery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// A series is what is counted as one: a target, its model and its prompt, from however many probers.
type series struct{ target, model, prompt string }

func seriesOf(labels model.Metric) series {
	return series{string(labels["target"]), string(labels["model"]), string(labels["prompt"])}
}

// A record is what is stored of a series in a range.
type record struct {
	series

	span       Range
	summary    report.Summary
	quantities []quantity // TTFT, TPOT, ITL, E2EL
	tainted    int        // requests that were read late
}

// A reader reads the records of a filter in one range.
type reader struct {
	*client

	filter filter
	span   Range
}

// records are those of the filter, sorted by target. A target that was asked for and has nothing is
// an error that says what there is; so is a range without any data.
func (r reader) records(ctx context.Context) ([]record, error) {
	found, err := r.counters(ctx)
	if err != nil {
		return nil, err
	}
	records := r.choose(found)
	var missing []string
	for _, target := range r.filter.targets {
		if !slices.ContainsFunc(records, func(r record) bool { return r.target == target }) {
			missing = append(missing, target)
		}
	}
	if missing != nil || len(records) == 0 {
		return nil, r.absent(ctx, missing)
	}
	return records, errors.Join(r.urls(ctx, records), r.latencies(ctx, records), r.warn(ctx, records))
}

// urls adds the URLs that targets had.
func (r reader) urls(ctx context.Context, records []record) error {
	info := over("last_over_time", r.filter.selector(targetInfo), r.span.Length())
	vector, err := r.instant(ctx, "group by (target, url) ("+info+")", r.span.To)
	for _, sample := range vector {
		for i := range records {
			if s := &records[i].summary; records[i].target == string(sample.Metric["target"]) {
				s.URL = strings.TrimPrefix(s.URL+", "+string(sample.Metric["url"]), ", ")
			}
		}
	}
	return err
}

// counters reads what is not a latency. Every series has one of each outcome from its start.
func (r reader) counters(ctx context.Context) (map[series]*record, error) {
	found := map[series]*record{}
	for _, counter := range []struct {
		metric, label string
		add           func(r *record, value string, n int)
	}{
		{probesTotal, "outcome", func(r *record, outcome string, n int) { r.summary.Outcomes[probe.Outcome(outcome)] += n }},
		{skippedTotal, "reason", func(r *record, reason string, n int) { r.summary.Skipped[probe.Skip(reason)] += n }},
		{taintedTotal, "reason", func(r *record, _ string, n int) { r.tainted += n }},
		{tokensTotal, "kind", func(r *record, kind string, n int) {
			switch kind {
			case "prompt":
				r.summary.Input += n
			case "output":
				r.summary.Output += n
			}
		}},
	} {
		vector, err := r.instant(ctx, r.filter.increase(counter.metric, r.span.Length(), counter.label), r.span.To)
		if err != nil {
			return nil, err
		}
		for _, sample := range vector {
			id := seriesOf(sample.Metric)
			if found[id] == nil {
				found[id] = &record{series: id, span: r.span, summary: report.Summary{
					Target: id.target, Model: id.model, Start: r.span.From, Duration: r.span.Length(), Outcomes: map[probe.Outcome]int{}, Skipped: map[probe.Skip]int{},
				}}
			}
			if n := int(math.Round(float64(sample.Value))); n > 0 {
				counter.add(found[id], string(sample.Metric[model.LabelName(counter.label)]), n)
			}
		}
	}
	return found, nil
}

// choose leaves out series without requests of targets that have others. It names those apart that
// are left of one target.
func (r reader) choose(found map[series]*record) []record {
	made, left := map[string]int{}, map[string]int{}
	for _, r := range found {
		made[r.target] += r.requests()
	}
	maps.DeleteFunc(found, func(id series, one *record) bool {
		return one.requests() == 0 && made[id.target] > 0
	})
	var records []record
	for _, r := range found {
		left[r.target]++
		records = append(records, *r)
	}
	for i := range records {
		if r := &records[i]; left[r.target] > 1 {
			r.summary.Target = fmt.Sprintf("%s (model %s, prompt %s)", r.target, r.model, r.prompt)
			r.summary.Warnings = append(r.summary.Warnings, "this target has several models or prompts in this range; each is listed on its own")
		}
	}
	slices.SortFunc(records, func(a, b record) int { return cmp.Compare(a.summary.Target, b.summary.Target) })
	return records
}

func (r *record) requests() int { return r.summary.Succeeded() + r.summary.Failed() }
