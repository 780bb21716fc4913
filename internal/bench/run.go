package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/schedule"
)

// ErrFailed is returned when it was already said what failed.
var ErrFailed = errors.New("failed")

// Setup is what a run works with.
type Setup struct {
	Plan      *Plan
	Files     *engine.Files     // through which the plan's configurations were read
	Dial      probe.Dial        // how targets are reached; nil: over the network
	Observers *engine.Observers // that export over OTLP; nil: nothing is exported
	Version   string            // ours
	Screen    *Screen
	Out       io.Writer // for the document at the end
}

type run struct {
	Setup
	document    report.Document
	drawn       []*report.Step // for the plots of a run of one step
	steps       int            // of all lengths and groups
	step        int            // the one under way, from 1
	comparisons int            // of all steps, which have one confidence together
	before      []*engine.Job  // of the length before
	budgets     engine.Budgets
	lost        error // the first of writing results, which does not end the run
}

func newRun(s Setup) *run {
	return &run{Setup: s, budgets: engine.Budgets{}, document: report.Document{
		Source: "prober bench", Version: s.Version, Settings: s.Plan.settings(), Started: time.Now(),
	}}
}

// Run runs a bench until its end or ctx's, and prints what was measured. The error is [ErrFailed] if no request succeeded, a group
// did not answer or ctx ended the run; of a finished run [report.ErrMissed], if it shall fail on what was measured.
func Run(ctx context.Context, s Setup) error {
	r := newRun(s)
	err := r.all(ctx)
	if err != nil && !errors.Is(err, ErrFailed) {
		r.document.Warnings = append(r.document.Warnings, err.Error())
	}
	if r.Observers != nil {
		r.Observers.Export(ctx, 5*time.Second)
	}
	if ctx.Err() != nil {
		r.Screen.Note("interrupted: the results are those until now")
		r.document.Warnings = append(r.document.Warnings, "the run was interrupted")
		err = errors.Join(err, ErrFailed)
	}
	if err := cmp.Or(r.finish(), err); err != nil {
		return err
	}
	return r.gate()
}

func (r *run) objectives() []probe.Objective { return r.Plan.Lengths[0].Given }

// gate says what the run fails on. The error is [report.ErrMissed] if there is anything.
func (r *run) gate() (err error) {
	fail := func(line string) {
		r.Screen.Note(line)
		err = report.ErrMissed
	}
	if r.Plan.Gate.Objective {
		for _, s := range r.document.Summaries {
			for _, a := range s.Objectives {
				if a.Missed() {
					fail(s.Attained(a))
				} else if s.Slots() > s.Sent() {
					r.Screen.Note(s.Attained(a)) // it does not fail, but may not show what was asked
				}
			}
		}
	}
	if r.Plan.Gate.Regression {
		for _, c := range r.document.Comparisons {
			slower, notes := r.Plan.Gate.Regressions(c)
			for _, line := range slower {
				fail(line)
			}
			for _, line := range notes {
				r.Screen.Note(line)
			}
		}
		if len(r.document.Comparisons) < r.steps {
			fail("regression: a target was not asked: nothing to compare")
		}
	}
	return err
}

func (r *run) all(ctx context.Context) (failed error) {
	for _, c := range r.Plan.Lengths {
		jobs, err := r.assemble(ctx, c)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			err := r.job(ctx, j)
			j.Close()
			if ctx.Err() != nil || err != nil && !errors.Is(err, ErrFailed) {
				return err
			}
			failed = errors.Join(failed, err) // a group that does not answer does not stop the others
		}
	}
	if failed != nil {
		return failed
	}
	if slices.ContainsFunc(r.document.Summaries, func(s report.Summary) bool { return s.Succeeded() > 0 }) {
		return nil
	}
	r.Screen.Note("no request succeeded")
	if r.Plan.Format == "text" {
		return ErrFailed // the blocks say why
	}
	for _, s := range r.document.Summaries {
		for _, f := range s.Failures {
			r.noteFailure(s.Target, fmt.Sprintf("%s (%d times): %s", f.Outcome, f.Requests, f.Error), f.Hint)
		}
	}
	return ErrFailed
}

// assemble makes the jobs of one length. They know of their servers what those of the length before learned.
func (r *run) assemble(ctx context.Context, c *config.Config) ([]*engine.Job, error) {
	c.Targets = engine.Present(ctx, c)
	jobs, err := engine.Assemble(c.Targets, r.Files, r.Dial, r.Version)
	if err != nil {
		return nil, err
	}
	for i, j := range jobs {
		if i < len(r.before) {
			j.Inherit(r.before[i])
		}
		r.budgets.Give(j)
	}
	r.before = jobs
	stepsOfJob := len(r.Plan.Lengths) * len(r.Plan.Loads(schedule.Plan{}))
	r.steps, r.comparisons = stepsOfJob*len(jobs), 0
	for _, j := range jobs {
		r.comparisons += stepsOfJob * (len(j.Targets) - 1)
	}
	for _, warning := range c.Warnings {
		r.Screen.Note("warning: " + warning)
	}
	if len(jobs) > 0 && c == r.Plan.Lengths[0] {
		r.noteTooFewRequests(jobs[0].Plan)
	}
	return jobs, nil
}

// noteTooFewRequests says before the run if a step will show no difference whatever it measures.
func (r *run) noteTooFewRequests(plan schedule.Plan) {
	for _, load := range r.Plan.Loads(plan) {
		if warning := r.tooFewRequests(load); warning != "" {
			r.Screen.Note("warning: " + warning)
			return
		}
	}
}

// tooFewRequests is why a step can show no difference; empty if it may, or has nothing to compare.
func (r *run) tooFewRequests(load Load) string {
	switch {
	case r.comparisons == 0:
		return ""
	case !load.Planned() && load.Concurrency == 0:
		return fmt.Sprintf("%s: requests in flight together are one pair, so no difference can be shown: "+
			"use --concurrency, --ladder without --qps inf, or --qps", load)
	}
	least := report.PairsNeeded(r.comparisons) * max(1, load.InFlight()) // see report.Comparison.RequestsInPair
	if total, known := load.Total(); known && total < least {
		return fmt.Sprintf("%s: no difference can be shown with %s of each target, this step needs %s",
			load, format.Count(total, "request"), format.Grouped(least))
	}
	return ""
}

func (r *run) noteFailure(target, how, hint string) {
	r.Screen.Note(target + ": " + how)
	if hint != "" {
		r.Screen.Note("  " + hint)
	}
}

func (r *run) job(ctx context.Context, j *engine.Job) error {
	next, err := r.warmUp(ctx, j)
	if err != nil || ctx.Err() != nil {
		return err
	}
	for lead, load := range r.Plan.Loads(j.Plan) {
		r.step++
		t := newTally(j, load, r)
		s := step{j.Group(t), load, j.FitAhead, t.ask}
		if load.Planned() {
			s.group.Interval = load.Plan.Interval
		}
		next = s.run(ctx, next, lead%len(j.Targets))
		t.finish()
		if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// warmUp asks the targets, uncounted, until the prompt's length is exact. next is the round after; [ErrFailed]: none answered.
func (r *run) warmUp(ctx context.Context, j *engine.Job) (next uint64, err error) {
	first, length := j.Targets[0], ""
	if n := askedTokens(first); n > 0 {
		length = "prompts of " + format.Grouped(n) + " tokens, "
	}
	r.Screen.Note(fmt.Sprintf("warm-up: %snot counted (at most %s each)", length, format.Short(first.Timeout.Seconds())))
	results, next, err := j.Once(ctx)
	switch {
	case ctx.Err() != nil:
		return next, nil
	case err != nil:
		return 0, err
	}
	answered := 0
	for _, result := range results {
		if result.Outcome == probe.OK {
			answered++
		} else {
			r.noteFailure(result.Target, result.Failure(), result.Hint())
		}
	}
	if answered == 0 {
		r.Screen.Note("no target answers: there is nothing to measure")
		r.nothingMeasured(j, results)
		return 0, ErrFailed
	}
	for i, t := range j.Targets {
		if note := j.LengthNote(i); note != "" {
			r.Screen.Note(t.Name + ": " + note)
		}
	}
	return next, nil
}

// nothingMeasured puts a summary of no requests into the document for each target of j, with how its warm-up failed.
func (r *run) nothingMeasured(j *engine.Job, results []*probe.Result) {
	for _, t := range j.Targets {
		s := report.Summary{Target: t.Name, URL: t.URL, Model: t.Model, Load: "warm-up", PromptTokens: askedTokens(t)}
		var samples []report.Sample
		for _, result := range results {
			if result.Target == t.Name {
				samples = append(samples, report.SampleOf(result))
				s.Warnings = append(s.Warnings, "the warm-up failed, so that nothing was measured: "+result.Failure())
			}
		}
		s.Failures = report.Summarize(samples).Failures
		r.document.Summaries = append(r.document.Summaries, s)
	}
}

// askedTokens is the length of the prompts of t; 0 where each has its own.
func askedTokens(t config.Target) int {
	if t.Prompt == string(prompt.Dataset) || t.Prompt == string(prompt.Sessions) {
		return 0
	}
	return t.PromptTokens
}

// finish writes the results first, then the plots. As text each step was shown when it ended: only the overview is left.
func (r *run) finish() error {
	if len(r.document.Summaries) > len(r.Plan.Lengths[0].Targets) {
		r.lost = cmp.Or(r.lost, r.Screen.Result(report.Overview(r.document.Summaries)))
	}
	err := r.lost
	if r.Plan.Format != "text" {
		err = r.document.Write(r.Out, r.Plan.Format, 0)
	}
	steps := slices.DeleteFunc(slices.Clone(r.document.Summaries), func(s report.Summary) bool { return s.Sent() == 0 })
	if err != nil || r.Plan.Plot == "" || len(steps) == 0 {
		return err
	}
	var targets []string
	for _, t := range r.Plan.Lengths[0].Targets {
		targets = append(targets, t.Name)
	}
	charts := report.LadderCharts(steps)
	if r.steps == 1 {
		charts = report.RunCharts(r.drawn)
	}
	title := "prober bench: " + strings.Join(targets, ", ")
	if err := report.Draw(r.Plan.Plot, report.Page(title, r.document, charts)); err != nil {
		return err
	}
	r.Screen.Note("drawn to " + r.Plan.Plot)
	return nil
}
