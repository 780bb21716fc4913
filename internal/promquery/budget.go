package promquery

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// mostHours is how many of the worst hours of a budget are reported.
const mostHours = 5

// A promise is an objective of a series, and each hour of the window of its error budget.
type promise struct {
	objective probe.Objective // without its signal, which is not stored
	hours     []report.BadHour
}

// newBudget returns the error budget of an objective in a window of so many hours, each of which may have data or not.
// A budget is what may be bad in the whole window at the mean rate of the hours with data, so that time without data
// has spent nothing, however many probers there are:
//
//	(1 − goal) × requests judged × window ÷ time with data
func newBudget(objective probe.Objective, hours []report.BadHour) report.Budget {
	good, judged, covered := 0, 0, 0
	for _, h := range hours {
		good += h.Judged - h.Bad
		judged += h.Judged
		covered += min(h.Judged, 1)
	}
	due := int(math.Round(float64(judged*len(hours)) / float64(max(covered, 1))))
	spent := float64(judged-good) / ((1 - objective.Goal) * float64(max(due, 1)))

	worst := slices.DeleteFunc(slices.Clone(hours), func(h report.BadHour) bool { return h.Bad == 0 })
	slices.SortFunc(worst, func(x, y report.BadHour) int {
		return cmp.Or(cmp.Compare(y.Bad, x.Bad), y.Start.Compare(x.Start))
	})
	const hour = 3600
	return report.Budget{
		Attainment: report.Attainment{
			Objective: objective.Title(), Goal: report.Number(objective.Goal), Good: good, Judged: judged,
		},
		Limit:  report.Number(objective.Limit.Seconds()),
		Window: report.Number(len(hours) * hour), Covered: report.Number(covered * hour),
		Due: due, Spent: report.Number(spent), Left: report.Number(1 - spent),
		Hours: slices.Clip(worst[:min(len(worst), mostHours)]),
	}
}

// promises reads the objectives of the records, and the events of each hour of the window.
func (r reader) promises(ctx context.Context, found store) {
	r.objectives(ctx, found)
	const some = " >= 0.5" // the many zeros of a month stay in Prometheus
	hours := int(r.window.Hours())
	events := r.increase(objectiveEvents, time.Hour, "objective", "verdict") + some
	r.course(ctx, events, time.Hour, hours, func(labels model.Metric, i int, v float64) {
		for _, p := range found.promises(labels) {
			n := int(math.Round(v))
			p.hours[i].Judged += n
			if labels["verdict"] == "bad" {
				p.hours[i].Bad += n
			}
		}
	})
	outcomes := r.increase(probesTotal, time.Hour, "outcome") + some
	r.course(ctx, outcomes, time.Hour, hours, func(labels model.Metric, i int, v float64) {
		outcome := probe.Outcome(labels["outcome"])
		if outcome == probe.OK || outcome.Refusal() {
			return
		}
		for _, p := range found.promises(labels) {
			p.hours[i].Outcomes[outcome] = int(math.Round(v))
		}
	})
}

// objectives reads names, goals and limits as they are now, where there is a prober, whatever a prober before it said.
func (r reader) objectives(ctx context.Context, found store) {
	last := func(metric string) string {
		const largest = "max by (target, model, prompt, objective) "
		m := r.selector(metric)
		return fmt.Sprintf("%s(%s) or %[1]s(last_over_time(%[2]s[%dms]))", largest, m, r.window.Milliseconds())
	}
	hours := int(r.window.Hours())
	r.each(ctx, found, last(objectiveGoal), func(one *record, goal *model.Sample) {
		p := &promise{
			objective: probe.Objective{Name: string(goal.Metric["objective"]), Goal: float64(goal.Value)},
			hours:     make([]report.BadHour, hours),
		}
		for i := range p.hours {
			start := r.span.to.Add(time.Duration(i-hours) * time.Hour)
			p.hours[i] = report.BadHour{Start: start, Outcomes: map[probe.Outcome]int{}}
		}
		one.promises = append(one.promises, p)
	})
	r.each(ctx, found, last(objectiveLimit), func(_ *record, limit *model.Sample) {
		for _, p := range found.promises(limit.Metric) {
			p.objective.Limit = time.Duration(math.Round(float64(limit.Value) * 1e9))
		}
	})
}

// promises returns those of the series that labels name: of the objective, or all if the labels name none.
func (s store) promises(labels model.Metric) []*promise {
	one := s[seriesOf(labels)]
	if one == nil {
		return nil
	}
	name := string(labels["objective"])
	other := func(p *promise) bool { return name != "" && p.objective.Name != name }
	return slices.DeleteFunc(slices.Clone(one.promises), other)
}
