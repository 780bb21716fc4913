package promquery

import (
	"cmp"
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
	events := func(in time.Duration) string { return r.increase(objectiveEvents, in, "objective", "verdict") }
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
	for what, expr := range map[string]string{"limit": last(objectiveLimit), "interval": last(probeInterval), "": events(r.window)} {
		r.each(ctx, found, expr, func(one *record, sample *model.Sample) {
			n := int(math.Round(float64(sample.Value)))
			for _, b := range one.budgets(sample.Metric) {
				switch cmp.Or(what, string(sample.Metric["verdict"])) {
				case "limit":
					b.Limit = report.Number(sample.Value)
				case "interval":
					b.Due = int(b.Window / report.Number(sample.Value))
				case "good":
					b.Good += n
					b.Judged += n
				case "bad":
					b.Judged += n
				}
			}
		})
	}
	for _, expr := range []string{events(time.Hour), r.increase(probesTotal, time.Hour, "outcome")} {
		r.course(ctx, expr, time.Hour, hours, func(labels model.Metric, i int, v float64) {
			n, outcome := int(math.Round(v)), probe.Outcome(labels["outcome"])
			if one := found[seriesOf(labels)]; one != nil && n > 0 && outcome != probe.OK {
				for _, b := range one.budgets(labels) {
					switch hour := &b.Hours[i]; {
					case outcome != "":
						hour.Outcomes[outcome] = n
					case labels["verdict"] == "bad":
						hour.Bad += n
						hour.Judged += n
					default:
						hour.Judged += n
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
