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

func (r reader) budgets(ctx context.Context, found store) {
	hours := int(r.window.Hours())
	last := func(metric string) string { // as it is now, where there is a prober, whatever a prober before it said
		const largest = "max by (target, model, prompt, objective) "
		m := r.selector(metric)
		return fmt.Sprintf("%s(%s) or %[1]s(last_over_time(%[2]s[%dms]))", largest, m, r.window.Milliseconds())
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
		for _, b := range one.budgets(limit.Metric) {
			b.Limit = report.Number(limit.Value)
		}
	})
	for _, expr := range []string{r.increase(objectiveEvents, time.Hour, "objective", "verdict"), r.increase(probesTotal, time.Hour, "outcome")} {
		const some = " >= 0.5" // the many zeros of a month stay in Prometheus
		r.course(ctx, expr+some, time.Hour, hours, func(labels model.Metric, i int, v float64) {
			n, outcome := int(math.Round(v)), probe.Outcome(labels["outcome"])
			if one := found[seriesOf(labels)]; one != nil && outcome != probe.OK && !outcome.Refusal() {
				for _, b := range one.budgets(labels) {
					hour := &b.Hours[i]
					if outcome != "" {
						hour.Outcomes[outcome] = n
						continue
					}
					if hour.Judged += n; labels["verdict"] == "bad" {
						hour.Bad += n
					}
				}
			}
		})
	}
}

// budgets are those of the objective that labels name, or all.
func (r *record) budgets(labels model.Metric) (list []*report.Budget) {
	for i := range r.summary.Budgets {
		if name := string(labels["objective"]); name == "" || name == r.summary.Budgets[i].Objective {
			list = append(list, &r.summary.Budgets[i])
		}
	}
	return list
}
