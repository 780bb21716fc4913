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
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/observe"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/schedule"
)

// ErrFailed is returned after the reason was printed.
var ErrFailed = errors.New("failed")

// Setup has the plan of a run, and everything that the run uses.
type Setup struct {
	Plan      *Plan
	Files     *files.Files       // through which the plan's configurations were read
	Dial      probe.Dial         // how targets are reached; nil: over the network
	Observers *observe.Observers // that export over OTLP; nil: nothing is exported
	Version   string             // of the prober
	Screen    *Screen
	Out       io.Writer // for the document at the end
}

// A run carries out a plan.
type run struct {
	Setup
	document report.Document
	writeErr error // the first error of writing results; the run goes on

	steps       int // of all lengths and groups
	stepsBegun  int
	comparisons int // of all steps; they share one confidence

	previousJobs []*engine.Job // of the length before
	budgets      engine.Budgets
	book         *length.Book
	plotSteps    []*report.Step // of each target, if the run has a single step
}

// newRun returns a run that has not begun.
func newRun(s Setup) *run {
	return &run{Setup: s, budgets: engine.Budgets{}, book: length.NewBook(), document: report.Document{
		Source:   "prober bench",
		Version:  s.Version,
		Settings: s.Plan.Settings,
		Started:  time.Now(),
	}}
}

// Run runs a bench until its end or until ctx is done, and prints what was measured. It returns [ErrFailed] if no
// request succeeded, a group did not answer, or ctx ended the run; [report.ErrMissed] if the gate of the plan fails;
// and other errors if results cannot be written or targets cannot be set up.
func Run(ctx context.Context, s Setup) error {
	const exportTimeout = 5 * time.Second
	r := newRun(s)
	err := r.measureAll(ctx)
	if err != nil && !errors.Is(err, ErrFailed) {
		r.document.Warnings = append(r.document.Warnings, err.Error())
	}
	if r.Observers != nil {
		r.Observers.Shutdown(ctx, exportTimeout)
	}
	if ctx.Err() != nil {
		r.Screen.Note("interrupted: the results are those until now")
		r.document.Warnings = append(r.document.Warnings, "the run was interrupted")
		err = errors.Join(err, ErrFailed)
	}
	err = cmp.Or(r.writeResults(), err)
	if err != nil {
		return err
	}
	return r.gate()
}

// measureAll measures all groups with all lengths of prompts. A group that does not answer does not stop the others.
func (r *run) measureAll(ctx context.Context) (failed error) {
	for _, c := range r.Plan.Lengths {
		jobs, err := r.assemble(ctx, c)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			err := r.measure(ctx, j)
			j.Close()
			if ctx.Err() != nil || err != nil && !errors.Is(err, ErrFailed) {
				return err
			}
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil {
		return failed
	}
	hasSuccess := func(s report.Summary) bool { return s.Succeeded() > 0 }
	if slices.ContainsFunc(r.document.Summaries, hasSuccess) {
		return nil
	}
	r.noteNoSuccess()
	return ErrFailed
}

// noteNoSuccess says that no request succeeded, and why, unless the blocks of a text have said it.
func (r *run) noteNoSuccess() {
	r.Screen.Note("no request succeeded")
	if r.Plan.Format == "text" {
		return
	}
	for _, s := range r.document.Summaries {
		for _, f := range s.Failures {
			r.noteFailure(s.Target, fmt.Sprintf("%s (%d times): %s", f.Outcome, f.Requests, f.Error), f.Hint)
		}
	}
}

// noteFailure says how a target failed, and what to do about it.
func (r *run) noteFailure(target, how, hint string) {
	r.Screen.Note(target + ": " + how)
	if hint != "" {
		r.Screen.Note("  " + hint)
	}
}

// assemble returns the jobs of one length of prompts, one for each group. They take over what the jobs of the length
// before have learned of their servers.
func (r *run) assemble(ctx context.Context, c *config.Config) ([]*engine.Job, error) {
	c.Targets = engine.LookUpTargets(ctx, c)
	jobs, err := engine.Assemble(c.Targets, r.Files, r.book, r.Dial, r.Version)
	if err != nil {
		return nil, err
	}
	for i, j := range jobs {
		if i < len(r.previousJobs) {
			j.Inherit(r.previousJobs[i])
		}
		r.budgets.AssignTo(j)
	}
	r.previousJobs = jobs
	isFirst := c == r.Plan.Lengths[0] // which has all targets
	if isFirst {
		for _, j := range jobs {
			stepsOfJob := r.lengthsOf(j.Targets[0]) * len(r.Plan.Loads)
			r.steps += stepsOfJob
			r.comparisons += stepsOfJob * (len(j.Targets) - 1)
		}
		for _, warning := range c.Warnings {
			r.Screen.Note("warning: " + warning)
		}
	}
	if isFirst && len(jobs) > 0 {
		r.noteTooFewRequests(jobs[0].Plan)
	}
	return jobs, nil
}

// lengthsOf returns with how many lengths and prompts the group of a target is measured.
func (r *run) lengthsOf(t config.Target) (n int) {
	name := cmp.Or(t.Workload, t.Name)
	for _, c := range r.Plan.Lengths {
		isThere := func(t config.Target) bool { return cmp.Or(t.Workload, t.Name) == name }
		if slices.ContainsFunc(c.Targets, isThere) {
			n++
		}
	}
	return n
}

// noteTooFewRequests says before the run if a step cannot show a difference, whatever it measures.
func (r *run) noteTooFewRequests(plan schedule.Plan) {
	for _, load := range r.Plan.Loads {
		warning := r.tooFewRequests(load.For(plan))
		if warning != "" {
			r.Screen.Note("warning: " + warning)
			return
		}
	}
}

// tooFewRequests says why a step of this load cannot show a difference. It is empty if it may, or if nothing is
// compared.
func (r *run) tooFewRequests(load Load) string {
	allAtOnce := !load.ByTheClock && load.Concurrency == 0
	switch {
	case r.comparisons == 0:
		return ""
	case allAtOnce:
		return fmt.Sprintf("%s: requests in flight together are one pair, so no difference can be shown: "+
			"use --concurrency, --ladder without --qps inf, or --qps", load)
	}
	requestsInPair := max(1, load.InFlight()) // see report.Comparison.RequestsInPair
	needed := report.PairsNeeded(r.comparisons) * requestsInPair
	total, known := load.Total()
	if !known || total >= needed {
		return ""
	}
	return fmt.Sprintf("%s: no difference can be shown with %s of each target, this step needs %s",
		load, format.Count(total, "request"), format.Grouped(needed))
}

// measure warms up the targets of a group, and runs its steps. In each step another target is the first.
func (r *run) measure(ctx context.Context, j *engine.Job) error {
	nextRound, err := r.warmUp(ctx, j)
	if err != nil || ctx.Err() != nil {
		return err
	}
	for i, load := range r.Plan.Loads {
		r.stepsBegun++
		load = load.For(j.Plan)
		t := newTally(j, load, r)
		s := sender{group: j.Group(t), load: load, prepare: j.Length.Ahead, watch: t.watch}
		if load.ByTheClock {
			s.group.Interval = load.Plan.Interval
		}
		nextRound = s.run(ctx, nextRound, i%len(j.Targets))
		t.finish()
		if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// writeResults writes the document, and then the plots. Of text, each step was shown when it ended, and only the
// overview is left.
func (r *run) writeResults() error {
	if len(r.document.Summaries) > len(r.Plan.Lengths[0].Targets) {
		r.showResult(report.Overview(r.document.Summaries))
	}
	err := r.writeErr
	if r.Plan.Format != "text" {
		err = r.document.Write(r.Out, r.Plan.Format, 0)
	}
	if err != nil || r.Plan.Plot == "" {
		return err
	}
	return r.drawPlots()
}

// showResult shows a result on the screen, and keeps the first error.
func (r *run) showResult(text string) {
	r.writeErr = cmp.Or(r.writeErr, r.Screen.Result(text))
}

// drawPlots writes the page with plots: distributions and timelines of a single step, or the curves of a ladder. It
// writes none if no request was sent.
func (r *run) drawPlots() error {
	wasNotSent := func(s report.Summary) bool { return s.Sent() == 0 }
	steps := slices.DeleteFunc(slices.Clone(r.document.Summaries), wasNotSent)
	if len(steps) == 0 {
		return nil
	}
	charts := report.LadderCharts(steps)
	if r.steps == 1 {
		charts = report.RunCharts(r.plotSteps)
	}
	var targets []string
	for _, t := range r.Plan.Lengths[0].Targets {
		targets = append(targets, t.Name)
	}
	title := "prober bench: " + strings.Join(targets, ", ")
	err := report.WritePageFile(r.Plan.Plot, title, r.document, charts)
	if err != nil {
		return err
	}
	r.Screen.Note("drawn to " + r.Plan.Plot)
	return nil
}
