package report

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// ErrMissed is returned when it was already said which objective was missed, or what is slower.
var ErrMissed = errors.New("missed")

// A Gate is what a run fails on.
type Gate struct {
	Objective, Regression bool

	Least float64 // slowdown in per cent, below which a regression does not count
}

// A Judgement is what an objective says of one request.
type Judgement struct {
	Good, Bad int    // events, see [probe.Objective.Events]
	Value     Number // seconds; NaN without a sample of the signal
}

// Judge returns what o says of r.
func Judge(o probe.Objective, r *probe.Result) Judgement {
	j := Judgement{Value: none}
	if r.Outcome == probe.OK {
		j.Value = secondsOf(o.Value(r))
	}
	j.Good, j.Bad = o.Events(r)
	return j
}

// An Attainment is how many requests met an objective.
type Attainment struct {
	Objective string `json:"objective"` // see [probe.Objective.Title]
	Goal      Number `json:"goal"`      // ratio
	Good      int    `json:"good_requests"`
	// all but refusals and those that succeeded without a sample of the signal; with the slots that failed ones blocked
	Judged int    `json:"judged_requests"`
	Worst  Number `json:"worst_seconds,omitzero"` // of the requests that succeeded; NaN without a sample, 0 of stored data
}

// attain judges the samples that count, and warns where even good ones would be too few.
func (s *Summary) attain(samples []Sample, objectives []probe.Objective) {
	var few []string
	for i, o := range objectives {
		a := Attainment{Objective: o.Title(), Goal: Number(o.Goal), Worst: none}
		for _, sample := range samples {
			j := sample.Judged[i]
			a.Good += j.Good
			a.Judged += j.Good + j.Bad
			if finite(j.Value) && !(j.Value <= a.Worst) {
				a.Worst = j.Value
			}
		}
		s.Objectives = append(s.Objectives, a)
		if need := math.Ceil(math.Log(1-confidence) / math.Log(o.Goal)); float64(a.Judged) < need {
			few = append(few, fmt.Sprintf("%s takes %.0f", a.Objective, need))
		}
	}
	if few != nil {
		s.Warnings = append(s.Warnings, fmt.Sprintf("too few requests to show at %.0f%% confidence that a goal holds, even if all are good: %s",
			100*confidence, format.List(few)))
	}
	s.Met = number(samples, func(s Sample) bool {
		missed := func(j Judgement) bool { return j.Bad > 0 }
		return !s.Outcome.Refusal() && !slices.ContainsFunc(s.Judged, missed)
	})
}

// Missed reports whether fewer requests were good than the goal demands, or none was judged.
func (a Attainment) Missed() bool {
	const rounding = 1e-9 // what is equal on paper is met
	return a.Judged == 0 || float64(a.Good) < float64(a.Goal)*float64(a.Judged)-rounding
}

// share returns the attainment in per cent and in numbers: "99.996% (259,190 of 259,200)".
func (a Attainment) share() string {
	if a.Judged == 0 {
		return "no request has a sample"
	}
	return fmt.Sprintf("%s (%s of %s)", format.Attainment(a.Good, a.Judged), format.Grouped(a.Good), format.Grouped(a.Judged))
}

// Attained says in a line how far s met one of its objectives.
func (s Summary) Attained(a Attainment) string {
	verdict, text := "met", a.share()
	if a.Missed() {
		verdict = "missed"
	}
	if finite(a.Worst) {
		text += ", worst " + secondsOrNone(a.Worst)
	}
	if s.Failed() > 0 {
		text += ", " + format.Grouped(s.Failed()) + " failed"
	}
	if n := s.Refused(); n > 0 {
		text += fmt.Sprintf(" (%s refused and not counted)", format.Grouped(n))
	}
	if n := sum(s.Skipped); n > 0 {
		text += ", " + format.Grouped(n) + " skipped"
	}
	return fmt.Sprintf("objective %s: %s by %s: %s", a.Objective, verdict, headline(s), text)
}

// Regressions are the quantities in which B of c is significantly slower than A, a line each, and notes are of
// quantities that were not judged, with the reason. Where c can show no difference at all, a line says why: what was
// not judged does not pass.
func (g Gate) Regressions(c Comparison) (slower, notes []string) {
	where := "regression, " + c.Load + ": "
	for _, q := range quantities {
		if reason := c.notJudged(q.name); reason != "" {
			notes = append(notes, where+q.name+" was not judged: "+reason)
			continue
		}
		l, _ := c.line(q.name)
		least := 100 * (float64(l.Ratio.Low) - 1) // slowdown in percent that the interval allows
		if l.Difference.Low > 0 && !(least < g.Least) {
			slower = append(slower, where+l.Metric+": "+l.Verdict)
		}
	}
	if len(notes) == len(quantities) {
		return []string{where + "nothing was judged: " + c.Warnings[len(c.Warnings)-1]}, nil
	}
	return slower, notes
}

// notJudged is why c can show no difference of a quantity; empty if it can.
func (c Comparison) notJudged(metric string) string {
	var reasons []string
	l, ok := c.line(metric)
	switch {
	case ok && l.bounded():
		return ""
	case ok:
		reasons = append(reasons, fmt.Sprintf("too few %s, %d of %d needed", c.pairs(2), l.Pairs, l.Needed))
	}
	for _, e := range c.Excluded {
		if e.Metric == metric {
			reasons = append(reasons, e.Reason)
		}
	}
	if reasons == nil {
		return "no pair has a value on both sides"
	}
	return strings.Join(reasons, "; ")
}

// line is that of a quantity, if c has one.
func (c Comparison) line(metric string) (l Line, ok bool) {
	i := slices.IndexFunc(c.Lines, func(l Line) bool { return l.Metric == metric })
	if i < 0 {
		return l, false
	}
	return c.Lines[i], true
}
