package report

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// ErrMissed is returned when it was already said which objective was missed, or what is slower.
var ErrMissed = errors.New("missed")

// What [CheckGate] allows.
const (
	OnObjective  = "objective"
	OnRegression = "regression"
)

// CheckGate finds what is wrong with what a run shall fail on, the flag --fail-on. Targets are those that it compares.
func CheckGate(failOn []string, objectives []probe.Objective, targets []config.Target) (problems config.Problems) {
	wrong := func(word, text, hint string) {
		problems = append(problems, config.Problem{Place: config.FlagPlace("fail-on", word), Text: text, Hint: hint})
	}
	pair := len(targets) == 2 && targets[0].Group == targets[1].Group && !targets[0].EachAddress && !targets[1].EachAddress
	for _, word := range failOn {
		switch {
		case word != OnObjective && word != OnRegression:
			wrong(word, "unknown", "want objective or regression")
		case word == OnObjective && objectives == nil:
			wrong(word, "there is no objective", "add one, for example --objective ttft=2s@95%")
		case word == OnRegression && !pair:
			wrong(word, "needs two targets of one group to compare", "want prober bench before=URL after=URL")
		}
	}
	return problems
}

// A Judgement is what an objective says of one request.
type Judgement struct {
	Good, OK bool   // as [probe.Objective.Judge] says
	Value    Number // seconds; NaN without a sample of the signal
}

func judge(o probe.Objective, r *probe.Result) Judgement {
	j := Judgement{Value: none}
	if r.Outcome == probe.OK {
		j.Value = secondsOf(o.Value(r))
	}
	j.Good, j.OK = o.Judge(r)
	return j
}

// An Attainment is how many requests met an objective.
type Attainment struct {
	Objective string `json:"objective"` // "ttft<2s@95%"
	Goal      Number `json:"goal"`      // ratio
	Good      int    `json:"good_requests"`
	Judged    int    `json:"judged_requests"`        // all but those that succeeded without a sample of the signal
	Worst     Number `json:"worst_seconds,omitzero"` // of the requests that succeeded; NaN without a sample, 0 of stored data
}

// attain judges the samples that count, and warns where even good ones would be too few.
func (s *Summary) attain(samples []Sample, objectives []probe.Objective) {
	var few []string
	for i, o := range objectives {
		a := Attainment{
			Objective: o.String(), Goal: Number(o.Goal), Worst: none,
			Good:   number(samples, func(s Sample) bool { return s.Judged[i].Good }),
			Judged: number(samples, func(s Sample) bool { return s.Judged[i].OK }),
		}
		for _, sample := range samples {
			if v := sample.Judged[i].Value; finite(v) && !(v <= a.Worst) {
				a.Worst = v
			}
		}
		s.Objectives = append(s.Objectives, a)
		if need := math.Ceil(math.Log(1-confidence) / math.Log(o.Goal)); float64(a.Judged) < need {
			few = append(few, fmt.Sprintf("%s takes %.0f", o, need))
		}
	}
	if few != nil {
		s.Warnings = append(s.Warnings, fmt.Sprintf("too few requests to show at %.0f%% confidence that a goal holds, even if all are good: %s",
			100*confidence, format.List(few)))
	}
	s.Met = number(samples, func(s Sample) bool {
		return !slices.ContainsFunc(s.Judged, func(j Judgement) bool { return !j.Good })
	})
}

// Missed reports whether fewer requests were good than the goal demands, or none was judged.
func (a Attainment) Missed() bool {
	const rounding = 1e-9 // what is equal on paper is met
	return a.Judged == 0 || float64(a.Good) < float64(a.Goal)*float64(a.Judged)-rounding
}

// share is "88% (44 of 50)".
func (a Attainment) share() string {
	if a.Judged == 0 {
		return "no request has a sample"
	}
	return fmt.Sprintf("%.4g%% (%d of %d)", 100*float64(a.Good)/float64(a.Judged), a.Good, a.Judged)
}

// Attained says in a line how far s met one of its objectives.
func (s Summary) Attained(a Attainment) string {
	verdict, text := "met", a.share()
	if a.Missed() {
		verdict = "missed"
	}
	if finite(a.Worst) {
		text += ", worst " + seconds(a.Worst)
	}
	if s.Failed() > 0 {
		text += ", " + format.Grouped(s.Failed()) + " failed"
	}
	return fmt.Sprintf("objective %s: %s by %s: %s", a.Objective, verdict, headline(s), text)
}

// Regressions are the quantities in which B of c is significantly slower than A, a line each. Where c can show no
// difference at all, a line says why: what was not judged does not pass.
func Regressions(c Comparison) (list []string) {
	where := "regression, " + c.Load + ": "
	for _, l := range c.Lines {
		if l.Shown && l.Difference.High < 0 {
			list = append(list, where+l.Metric+": "+l.Verdict)
		}
	}
	if !slices.ContainsFunc(c.Lines, Line.bounded) {
		return []string{where + c.Warnings[len(c.Warnings)-1]}
	}
	return list
}
