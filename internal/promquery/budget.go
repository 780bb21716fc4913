package promquery

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// budgets reads how many requests were bad for objectives, in a window that ends where the range does.
func (r reader) budgets(ctx context.Context, found store) {
	hours := int(math.Ceil(r.window.Hours()))
	last := func(metric string) string {
		return fmt.Sprintf("max by (target, model, prompt, objective) (last_over_time(%s[%dms]))", r.selector(metric), r.window.Milliseconds())
	}
	r.each(ctx, found, last(objectiveGoal), func(one *record, goal *model.Sample) {
		b := report.Budget{Window: report.Number(r.window.Seconds()), Hours: make([]report.BadHour, hours)}
		b.Objective, b.Goal = string(goal.Metric["objective"]), report.Number(goal.Value)
		for i := range b.Hours {
			b.Hours[i] = report.BadHour{Start: r.span.to.Add(time.Duration(i-hours) * time.Hour), Outcomes: map[probe.Outcome]int{}}
		}
		one.summary.Budgets = append(one.summary.Budgets, b)
	})
	r.each(ctx, found, last(objectiveLimit), func(one *record, limit *model.Sample) {
		for b := range one.budgets(limit.Metric) {
			b.Limit = report.Number(limit.Value)
		}
	})
	r.each(ctx, found, last(probeInterval), func(one *record, interval *model.Sample) {
		for b := range one.budgets(interval.Metric) {
			b.Due = int(r.window.Seconds() / float64(interval.Value))
		}
	})
	events := func(in time.Duration) string { return r.increase(objectiveEvents, in, "objective", "verdict") }
	r.each(ctx, found, events(r.window), func(one *record, n *model.Sample) {
		for b := range one.budgets(n.Metric) {
			if b.Judged += int(math.Round(float64(n.Value))); n.Metric["verdict"] == "good" {
				b.Good += int(math.Round(float64(n.Value)))
			}
		}
	})
	hourly := func(expr string, do func(hour *report.BadHour, labels model.Metric, n int)) {
		r.course(ctx, expr, time.Hour, hours, func(labels model.Metric, i int, v float64) {
			if one := found[seriesOf(labels)]; one != nil {
				for b := range one.budgets(labels) {
					do(&b.Hours[i], labels, int(math.Round(v)))
				}
			}
		})
	}
	hourly(events(time.Hour), func(hour *report.BadHour, labels model.Metric, n int) {
		if hour.Judged += n; labels["verdict"] == "bad" {
			hour.Bad += n
		}
	})
	hourly(r.increase(probesTotal, time.Hour, "outcome"), func(hour *report.BadHour, labels model.Metric, n int) {
		if outcome := probe.Outcome(labels["outcome"]); outcome != probe.OK && n > 0 {
			hour.Outcomes[outcome] = n
		}
	})
}

// budgets are those of the objective that labels name, or all.
func (r *record) budgets(labels model.Metric) func(yield func(*report.Budget) bool) {
	return func(yield func(*report.Budget) bool) {
		name, one := labels["objective"]
		for i := range r.summary.Budgets {
			if b := &r.summary.Budgets[i]; (!one || b.Objective == string(name)) && !yield(b) {
				return
			}
		}
	}
}
