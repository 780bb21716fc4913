// Package check finds out, for prober check, what targets are and whether they can do what is planned for them.
//
// What comes in are the jobs that the engine would run, and [Options]. What goes out is a [Report]: findings about each
// target. They can be written as lines while they are found, as a table of all targets at the end, or as one JSON
// document. A target passes if it can be reached, its context is long enough, and it answers a short question and a
// probe of full length.
//
// Start with [Run] and checker.check: the steps of a check stand in checker.go in their order. The lines stand in
// listing.go, the table in table.go.
package check

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
)

// Options say how targets are checked, and who is told meanwhile.
type Options struct {
	Quick    bool              // send no probe of full length
	Problems usage.Problems    // of the configuration; the targets without any are checked
	Rejected []config.Rejected // the targets that are not checked because of these problems

	Lines    io.Writer // gets the findings as lines, in the order of the targets, as soon as that allows; nil: nobody does
	Progress io.Writer // shows which targets are checked now, if it is a terminal; nil: nobody is shown
}

// A Report is what was found out. It is the JSON document.
type Report struct {
	Passed       bool           `json:"passed"`
	Interrupted  bool           `json:"interrupted,omitempty"` // before all targets were checked, so it did not pass
	Problems     usage.Problems `json:"problems,omitempty"`    // of the configuration
	Targets      []*Target      `json:"targets,omitempty"`     // those that were checked, in their order
	Disabled     []string       `json:"disabled,omitempty"`    // names of targets that are not checked, and cost nothing
	TokensPerDay int            `json:"tokens_per_day"`        // at most

	rejected []config.Rejected
	enabled  int  // targets that were to be checked
	timed    bool // a probe of full length of each target was timed, so that its cost is known
}

// A Target is one that was checked.
type Target struct {
	Name         string    `json:"name"`
	URL          string    `json:"url"`
	Passed       bool      `json:"passed"`
	TokensPerDay int       `json:"tokens_per_day"` // at most
	Findings     []Finding `json:"findings"`

	Objectives []report.Attainment `json:"objectives,omitempty"` // of the probe of full length

	judgements []string // of these objectives, a line each
	row        row      // of the table
}

// A Finding is the outcome of one step.
type Finding struct {
	Step   Step   `json:"step"`
	Prompt string `json:"prompt,omitempty"` // that it is about, if the target has several; empty: the target as a whole
	Name   string `json:"name,omitempty"`   // of what the server supports
	Text   string `json:"text"`
	Hint   string `json:"hint,omitempty"` // what to do
}

// A Step says what a finding is about, or that something is wrong.
type Step string

// The steps.
const (
	Failed   Step = "failed"   // the target does not pass
	Warning  Step = "warning"  // the target passes
	Server   Step = "server"   // what it is
	Tokens   Step = "tokens"   // how long prompts are, and who says so
	Answer   Step = "answer"   // to a short question
	Supports Step = "supports" // one ability of the server
	Note     Step = "note"     // what is unusual about the server
	Probe    Step = "probe"    // the probe of full length
	Plan     Step = "plan"     // what is sent how often, and what it costs
)

// sideBySide is how many servers are checked at the same time: a few servers that hang do not hold up the others, and
// the probes do not compete for the cores of this machine.
const sideBySide = 4

// Run checks every target of jobs that is enabled, until ctx is done. A target whose check was interrupted is not among
// the results, because nothing failed there.
func Run(ctx context.Context, jobs []*engine.Job, o Options) *Report {
	lines := newListing(o.Lines, Count(jobs))
	var checkers []*checker // of all targets, in their order
	enabled := 0
	for _, j := range jobs {
		j.IgnorePauses()
		for i, t := range j.Targets {
			checkers = append(checkers, &checker{
				quick: o.Quick, turn: len(checkers), lines: lines, found: &Target{Name: t.Name, URL: t.URL},
				job: j, place: i, target: t, member: j.Members[i], server: serverOf(t),
				prompts: make([]promptCheck, len(t.Prompts)), asked: -1,
			})
			if t.Enabled {
				enabled++
			}
		}
	}

	shown := &progress{out: o.Progress, total: enabled}
	var running errgroup.Group
	running.SetLimit(sideBySide)
	for _, queue := range queues(checkers) {
		running.Go(func() error {
			for _, c := range queue {
				c.check(ctx, shown)
				lines.end(c.turn)
			}
			return nil
		})
	}
	_ = running.Wait() // there are no errors: what fails is a finding
	shown.clear()

	r := &Report{
		Passed: len(o.Problems) == 0, Problems: o.Problems, rejected: o.Rejected,
		enabled: enabled, timed: true,
	}
	for _, c := range checkers {
		switch {
		case !c.target.Enabled:
			r.Disabled = append(r.Disabled, c.target.Name)
		case c.done:
			r.Targets = append(r.Targets, c.found)
			r.TokensPerDay += c.found.TokensPerDay
			r.Passed = r.Passed && c.found.Passed
			r.timed = r.timed && c.probeTime() > 0
		}
	}
	if len(r.Targets) < enabled {
		r.Interrupted = true
		r.Passed = false
	}
	lines.write(r.total())
	return r
}

// queues divides targets into queues, whose targets are checked one after another. Targets of one server would make
// each other slow, and a member of a job gets the prompts that the members before it have counted. A target that shares
// its job with one queue and its server with another one joins the two.
func queues(checkers []*checker) [][]*checker {
	byTurn := func(a, b *checker) int { return cmp.Compare(a.turn, b.turn) }
	var all [][]*checker
	for _, c := range checkers {
		mustQueue := func(other *checker) bool { return other.job == c.job || other.server == c.server }
		joined := []*checker{c}
		var others [][]*checker
		for _, queue := range all {
			if slices.ContainsFunc(queue, mustQueue) {
				joined = append(joined, queue...)
			} else {
				others = append(others, queue)
			}
		}
		slices.SortFunc(joined, byTurn)
		all = append(others, joined)
	}
	slices.SortFunc(all, func(a, b []*checker) int { return byTurn(a[0], b[0]) })
	return all
}

// serverOf returns what distinguishes the server of t from others: host and port, and for one of several addresses that
// one.
func serverOf(t config.Target) string {
	u, _ := url.Parse(t.URL) // it was validated
	return u.Host + " " + t.Address
}

// Count returns how many targets jobs have.
func Count(jobs []*engine.Job) (targets int) {
	for _, j := range jobs {
		targets += len(j.Targets)
	}
	return targets
}

// total returns the last line: what all targets cost, or how many were checked before somebody ended it.
func (r *Report) total() string {
	if r.Interrupted {
		return fmt.Sprintf("interrupted: %d of %s checked\n", len(r.Targets), format.Count(r.enabled, "target"))
	}
	return fmt.Sprintf("in all %s a day\n", dailyCost(r.TokensPerDay, r.timed))
}

// Judgements returns a line for each objective of each target that was judged.
func (r *Report) Judgements() (lines []string) {
	for _, t := range r.Targets {
		lines = append(lines, t.judgements...)
	}
	return lines
}

// Attainments returns how far the targets met their objectives.
func (r *Report) Attainments() (all []report.Attainment) {
	for _, t := range r.Targets {
		all = append(all, t.Objectives...)
	}
	return all
}
