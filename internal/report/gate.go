package report

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llm-prober/prober/internal/usage"
)

// ErrMissed says that a gate failed. Which objective was missed, or what is slower, was printed before.
var ErrMissed = errors.New("missed")

// A Gate says what lets a run fail: an objective that is missed, or a regression.
type Gate struct {
	Objective  bool
	Regression bool

	// MinSlowdown is the slowdown, in per cent, below which a regression does not count.
	MinSlowdown float64
}

// Judged says what a command can judge, for [ParseGate].
type Judged struct {
	Objectives bool // somebody gave objectives for its targets
	Compared   bool // it can compare targets
	Pair       bool // it has two targets of one group
}

// regression is the word of --fail-on for a comparison, with the least slowdown that counts.
var regression = regexp.MustCompile(`^regression(>(\d+(\.\d+)?)%)?$`)

// ParseGate reads the values of the flag --fail-on.
func ParseGate(failOn []string, judged Judged) (g Gate, problems usage.Problems) {
	for _, word := range failOn {
		word = strings.ReplaceAll(word, " ", "")
		place := usage.FlagPlace("fail-on", word)
		slower := regression.FindStringSubmatch(word)
		switch {
		case word == "objective" && judged.Objectives:
			g.Objective = true
		case word == "objective":
			problems.Add(place, "there is no objective", "add one, for example --objective ttft=2s@95%")
		case slower == nil && judged.Compared:
			problems.Add(place, "unknown", "want objective, regression or 'regression>5%'")
		case slower == nil:
			problems.Add(place, "unknown", "want objective")
		case !judged.Pair:
			problems.Add(place, "needs two targets of one group to compare", "want prober bench before=URL after=URL")
		default:
			g.Regression = true
			g.MinSlowdown, _ = strconv.ParseFloat(slower[2], 64) // 0 without one
		}
	}
	return g, problems
}

// Judge returns [ErrMissed] if g says that a missed objective is a failure, and one of these was missed.
func (g Gate) Judge(all []Attainment) error {
	if g.Objective && slices.ContainsFunc(all, Attainment.Missed) {
		return ErrMissed
	}
	return nil
}

// Regressions returns a line for each quantity in which B of c is certainly slower than A, and by at least
// g.MinSlowdown. Notes are lines about quantities that were not judged, with the reason, and about quantities that only
// look slower, because neighbouring pairs resemble each other. If no quantity was judged, it returns that as a
// regression: what was not measured does not pass.
func (g Gate) Regressions(c Comparison) (slower, notes []string) {
	prefix := "regression, " + c.Load + ": "
	judged := 0
	for _, q := range quantities {
		reason := c.whyNotJudged(q.Name)
		if reason != "" {
			notes = append(notes, prefix+q.Name+" was not judged: "+reason)
			continue
		}
		judged++
		l, _ := c.line(q.Name)
		looksSlower := l.HiddenByCorrelation && float64(l.Ratio.Median)-1 >= g.MinSlowdown/100
		switch {
		case l.SlowerBy(g.MinSlowdown / 100):
			slower = append(slower, prefix+l.Metric+": "+l.Verdict)
		case looksSlower:
			notes = append(notes, prefix+l.Metric+": "+l.Verdict)
		}
	}
	if judged == 0 { // the last warning of c says why: see [Compare]
		return []string{prefix + "nothing was judged: " + c.Warnings[len(c.Warnings)-1]}, nil
	}
	return slower, notes
}

// whyNotJudged says why c cannot show a difference of a quantity. It is empty if c can.
func (c Comparison) whyNotJudged(metric string) string {
	var reasons []string
	l, ok := c.line(metric)
	if ok && l.Bounded() {
		return ""
	}
	if ok {
		reasons = append(reasons, fmt.Sprintf("too few %s, %d of %d needed", c.pairNoun(2), l.Pairs, l.Needed))
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

// line returns the line of a quantity. ok is false if c has none.
func (c Comparison) line(metric string) (l Line, ok bool) {
	i := slices.IndexFunc(c.Lines, func(l Line) bool { return l.Metric == metric })
	if i < 0 {
		return l, false
	}
	return c.Lines[i], true
}
