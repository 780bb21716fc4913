package bench

import (
	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/report"
)

// IsPair reports whether targets are two of one group, whose comparison shows a regression. A target that stands for
// its addresses may become several.
func IsPair(targets []config.Target) bool {
	if len(targets) != 2 {
		return false
	}
	a, b := targets[0], targets[1]
	return a.Group == b.Group && !a.EachAddress && !b.EachAddress
}

// gate notes what the run fails on. It returns [report.ErrMissed] if there is anything.
func (r *run) gate() error {
	passed := true
	if r.Plan.Gate.Objective {
		passed = r.gateObjectives()
	}
	if r.Plan.Gate.Regression {
		passed = r.gateRegressions() && passed
	}
	if !passed {
		return report.ErrMissed
	}
	return nil
}

// gateObjectives notes which objectives were missed, and reports whether none was.
func (r *run) gateObjectives() (passed bool) {
	passed = true
	for _, s := range r.document.Summaries {
		someSkipped := s.Slots() > s.Sent()
		for _, a := range s.Objectives {
			if a.Missed() {
				passed = false
			}
			if a.Missed() || someSkipped { // skipped slots do not fail, but what was asked may not have been shown
				r.Screen.Note(s.Attained(a))
			}
		}
	}
	return passed
}

// gateRegressions notes which targets are slower than the first and what was not judged. It reports whether no target
// is slower and every step was compared.
func (r *run) gateRegressions() (passed bool) {
	passed = true
	for _, c := range r.document.Comparisons {
		slower, notes := r.Plan.Gate.Regressions(c)
		for _, line := range append(slower, notes...) {
			r.Screen.Note(line)
		}
		passed = passed && len(slower) == 0
	}
	if len(r.document.Comparisons) < r.steps {
		r.Screen.Note("regression: a target was not asked: nothing to compare")
		return false
	}
	return passed
}
