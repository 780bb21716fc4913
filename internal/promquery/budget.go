package promquery

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/stats"
)

// objectiveHours are an objective of a series, and its requests in each hour of the window of its error budget.
type objectiveHours struct {
	objective probe.Objective // without its signal, which is not stored
	hours     []report.BadHour
}

// newBudget returns the error budget of an objective from all hours of its window, with and without data.
//
// The budget is what may be bad in the whole window, at the mean rate of the hours with data:
//
//	(1 − goal) × requests judged × hours of the window ÷ hours with data
//
// So hours without data spend nothing, however many probers there are. Example: a goal of 99% over 720 hours, of which
// 72 have data with 25,920 requests, allows 0.01 × 25,920 × 10 = 2,592 bad ones. If 259 were bad, 10% is spent.
func newBudget(objective probe.Objective, hours []report.BadHour) report.Budget {
	good, judged, hoursWithData := 0, 0, 0
	for _, h := range hours {
		good += h.Judged - h.Bad
		judged += h.Judged
		if h.Judged > 0 {
			hoursWithData++
		}
	}
	due := int(math.Round(float64(judged*len(hours)) / float64(max(hoursWithData, 1))))
	spent := float64(judged-good) / ((1 - objective.Goal) * float64(max(due, 1)))
	const hour = 3600
	return report.Budget{
		Attainment: report.Attainment{
			Objective: objective.Title(), Goal: stats.Number(objective.Goal), Good: good, Judged: judged,
			RefusalsAreBad: objective.RefusalsAreBad,
		},
		Limit:   stats.Number(objective.Limit.Seconds()),
		Window:  stats.Number(len(hours) * hour),
		Covered: stats.Number(hoursWithData * hour),
		Due:     due,
		Spent:   stats.Number(spent),
		Left:    stats.Number(1 - spent),
		Hours:   worstHours(hours),
	}
}

// worstHours returns up to five hours with the most bad requests. Of hours that are equally bad, the latest come first.
func worstHours(hours []report.BadHour) []report.BadHour {
	const maxHours = 5
	isGood := func(h report.BadHour) bool { return h.Bad == 0 }
	worst := slices.DeleteFunc(slices.Clone(hours), isGood)
	slices.SortFunc(worst, func(a, b report.BadHour) int {
		return cmp.Or(cmp.Compare(b.Bad, a.Bad), b.Start.Compare(a.Start))
	})
	return slices.Clip(worst[:min(len(worst), maxHours)])
}

// addGoals adds an objective for each goal. Goals of series without requests count for nothing and are left out.
func (s recordSet) addGoals(goals model.Vector) {
	for _, goal := range goals {
		one := s.bySeries[seriesOf(goal.Metric)]
		if one == nil {
			continue
		}
		objective := probe.Objective{Name: string(goal.Metric["objective"]), Goal: float64(goal.Value)}
		one.objectives = append(one.objectives, &objectiveHours{objective: objective, hours: s.emptyHours()})
	}
}

// addLimits adds the limits of the objectives, in seconds.
func (s recordSet) addLimits(limits model.Vector) {
	for _, limit := range limits {
		for _, o := range s.objectivesOf(limit.Metric) {
			o.objective.Limit = time.Duration(math.Round(float64(limit.Value) * 1e9))
		}
	}
}

// addBadRefusals adds for which series refused requests are bad.
func (s recordSet) addBadRefusals(infos model.Vector) {
	for _, info := range infos {
		for _, o := range s.objectivesOf(info.Metric) {
			o.objective.RefusalsAreBad = true
		}
	}
}

// addEvents adds how many requests of each hour were good and bad. They are rounded in each hour, not in the sum, so
// that the hours that are shown add up to the window.
func (s recordSet) addEvents(events []periodValue) {
	for _, v := range events {
		n := toCount(v.value)
		for _, o := range s.objectivesOf(v.labels) {
			hour := &o.hours[v.period]
			hour.Judged += n
			if v.labels["verdict"] == "bad" {
				hour.Bad += n
			}
		}
	}
}

// addFailures adds the outcomes of each hour: how many requests failed. Refusals are left out unless they are bad.
func (s recordSet) addFailures(outcomes []periodValue) {
	for _, v := range outcomes {
		outcome := probe.Outcome(v.labels["outcome"])
		if outcome == probe.OK {
			continue
		}
		for _, o := range s.objectivesOf(v.labels) {
			if outcome.Refusal() && !o.objective.RefusalsAreBad {
				continue
			}
			o.hours[v.period].Outcomes[outcome] = toCount(v.value)
		}
	}
}

// emptyHours returns the hours of the window, without requests.
func (s recordSet) emptyHours() []report.BadHour {
	hours := make([]report.BadHour, int(s.window.Hours()))
	for i := range hours {
		start := s.selection.span.to.Add(time.Duration(i-len(hours)) * time.Hour)
		hours[i] = report.BadHour{Start: start, Outcomes: map[probe.Outcome]int{}}
	}
	return hours
}

// objectivesOf returns the objectives of the series that labels name: the one that they name, or all if they name none.
func (s recordSet) objectivesOf(labels model.Metric) []*objectiveHours {
	one := s.bySeries[seriesOf(labels)]
	if one == nil {
		return nil
	}
	name := string(labels["objective"])
	if name == "" {
		return one.objectives
	}
	isOther := func(o *objectiveHours) bool { return o.objective.Name != name }
	return slices.DeleteFunc(slices.Clone(one.objectives), isOther)
}
