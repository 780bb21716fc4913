package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
)

// A Judgement is the verdict of an objective about one request.
type Judgement struct {
	Good, Bad int          // events: see [probe.Objective.Events]
	Value     stats.Number // seconds; NaN without a sample of the objective's signal
}

// Judge returns the judgement of o about r.
func Judge(o probe.Objective, r *probe.Result) Judgement {
	j := Judgement{Value: noValue}
	if r.Outcome == probe.OK {
		j.Value = secondsOrNoValue(o.Value(r))
	}
	j.Good, j.Bad = o.Events(r.Prompt, r)
	return j
}

// An Attainment is how many requests met an objective.
type Attainment struct {
	Objective string       `json:"objective"` // see [probe.Objective.Title]
	Goal      stats.Number `json:"goal"`      // ratio
	Good      int          `json:"good_requests"`

	// Judged counts good and bad requests. A slot that a failed request blocked is a bad one. It counts no request
	// that succeeded without a sample of the objective's signal, and no refusals unless they are bad.
	Judged int `json:"judged_requests"`

	RefusalsAreBad bool `json:"refusals_are_bad,omitzero"` // see [probe.Objective.RefusalsAreBad]

	// Worst is the highest value of a request that succeeded: NaN without any, 0 of stored data.
	Worst stats.Number `json:"worst_seconds,omitzero"`
}

// addObjectives adds to s how far samples met the objectives, by which they were judged in this order. It warns if
// there are so few requests that they would prove nothing even if all were good.
func (s *Summary) addObjectives(samples []Sample, objectives []probe.Objective) {
	var tooFew []string
	for i, o := range objectives {
		a := attainmentOf(o, i, samples)
		s.Objectives = append(s.Objectives, a)
		needed := requestsToProve(o.Goal)
		if float64(a.Judged) < needed {
			tooFew = append(tooFew, fmt.Sprintf("%s takes %.0f", a.Objective, needed))
		}
	}
	if tooFew != nil {
		s.Warnings = append(s.Warnings, fmt.Sprintf(
			"too few requests to show at %.0f%% confidence that a goal holds, even if all are good: %s",
			100*stats.Confidence, format.List(tooFew)))
	}
	s.Met = countIf(samples, missedNone)
}

// attainmentOf sums up the judgements of samples by an objective. It stands at index in their judgements.
func attainmentOf(o probe.Objective, index int, samples []Sample) Attainment {
	a := Attainment{Objective: o.Title(), Goal: stats.Number(o.Goal), RefusalsAreBad: o.RefusalsAreBad, Worst: noValue}
	for _, sample := range samples {
		j := sample.Judged[index]
		a.Good += j.Good
		a.Judged += j.Good + j.Bad
		isWorse := !(j.Value <= a.Worst) // even if there is no worst yet
		if stats.Finite(j.Value) && isWorse {
			a.Worst = j.Value
		}
	}
	return a
}

// requestsToProve returns how many requests, all of them good, show that a goal holds. If only the share goal of
// requests was good, n in a row would be good in goalⁿ cases, which must be at most 5%. Example: 299 for 99%.
func requestsToProve(goal float64) float64 {
	return math.Ceil(math.Log(1-stats.Confidence) / math.Log(goal))
}

// missedNone reports whether a request was judged and missed no objective. Refused requests are bad or not judged.
func missedNone(s Sample) bool {
	isBad := func(j Judgement) bool { return j.Bad > 0 }
	return !s.Outcome.Refusal() && !slices.ContainsFunc(s.Judged, isBad)
}

// Missed reports whether fewer requests were good than the goal demands, or none was judged.
func (a Attainment) Missed() bool {
	const rounding = 1e-9 // what is equal on paper is met
	return a.Judged == 0 || float64(a.Good) < float64(a.Goal)*float64(a.Judged)-rounding
}

// share returns the attainment as a percentage and in numbers: "99.996% (259,190 of 259,200)".
func (a Attainment) share() string {
	if a.Judged == 0 {
		return "no request has a sample"
	}
	percentage := format.Attainment(a.Good, a.Judged)
	return fmt.Sprintf("%s (%s of %s)", percentage, format.Grouped(a.Good), format.Grouped(a.Judged))
}

// Attained says in a line how far s met an objective, one of its own.
func (s Summary) Attained(a Attainment) string {
	verdict := "met"
	if a.Missed() {
		verdict = "missed"
	}
	text := a.share()
	if stats.Finite(a.Worst) {
		text += ", worst " + secondsOrNone(a.Worst)
	}
	if s.Failed() > 0 {
		text += ", " + format.Grouped(s.Failed()) + " failed"
	}
	refused := format.Grouped(s.Refused())
	switch {
	case s.Refused() == 0:
	case a.RefusalsAreBad:
		text += fmt.Sprintf(" (%s refused)", refused)
	default:
		text += fmt.Sprintf(" (%s refused and not counted)", refused)
	}
	skipped := sumOf(s.Skipped)
	if skipped > 0 {
		text += ", " + format.Grouped(skipped) + " skipped"
	}
	return fmt.Sprintf("objective %s: %s by %s: %s", a.Objective, verdict, headline(s), text)
}

// A Budget is how many requests may be bad for an objective in a window of time, and how many were. Only stored data
// has one.
type Budget struct {
	Attainment

	Limit   stats.Number `json:"limit_seconds,omitzero"` // 0 for availability
	Window  stats.Number `json:"window_seconds"`
	Covered stats.Number `json:"covered_seconds"` // how much of the window has data, in whole hours
	Due     int          `json:"due_requests"`    // in the whole window, at the mean rate of the hours with data
	Spent   stats.Number `json:"budget_spent"`    // ratio
	Left    stats.Number `json:"budget_left"`     // ratio, below 0 if the budget is overspent
	Hours   []BadHour    `json:"worst_hours"`     // the five worst, the worst first
}

// A BadHour is an hour with bad requests.
type BadHour struct {
	Start    time.Time             `json:"start"`
	Bad      int                   `json:"bad_requests"`
	Judged   int                   `json:"judged_requests"`
	Outcomes map[probe.Outcome]int `json:"outcomes"` // of those that failed, without refusals that do not count
}

// lines returns an error budget in a line, and a line for each of its worst hours.
func (b Budget) lines() []string {
	list := []string{fmt.Sprintf("Error budget of %s over %s (%s with data): %s spent, %s left; good: %s",
		b.Objective, windowLength(b.Window), windowLength(b.Covered),
		format.Percent(float64(b.Spent)), format.Percent(float64(b.Left)), b.share())}
	for _, hour := range b.Hours {
		start := hour.Start.UTC().Format("2006-01-02 15:04 UTC")
		text := fmt.Sprintf("hour from %s: %d of %d bad", start, hour.Bad, hour.Judged)
		if len(hour.Outcomes) > 0 {
			text += ": " + countsText(hour.Outcomes)
		}
		list = append(list, text)
	}
	return list
}

// countsText writes the counts above 0, by their names: "connect 12, timeout 2".
func countsText[K ~string](counts map[K]int) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] > 0 {
			list = append(list, fmt.Sprintf("%s %d", name, counts[name]))
		}
	}
	return strings.Join(list, ", ")
}

// windowLength writes a length of time in hours, or from two days on in days.
func windowLength(seconds stats.Number) string {
	const hour, day = 3600, 86400
	if seconds < 2*day {
		return format.Count(int(seconds/hour), "hour")
	}
	return fmt.Sprintf("%.4g days", seconds/day)
}
