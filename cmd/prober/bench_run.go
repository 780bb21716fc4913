package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/bench"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/report"
)

// A benchRun is a bench under way.
type benchRun struct {
	plan     *benchPlan
	screen   *screen
	document report.Document
	drawn    []report.Sample // for the picture of a run of one step
	steps    int             // of all lengths and groups
	step     int             // the one under way, from 1
	before   []*engine.Job   // of the length before
	budgets  engine.Budgets
	exported *engine.Observers // nil: nobody
}

func newBenchRun(p *benchPlan, out, errs io.Writer) *benchRun {
	r := &benchRun{plan: p, budgets: engine.Budgets{}, screen: newScreen(out, errs, p.format)}
	r.document.Source, r.document.Started = "prober bench", time.Now()
	return r
}

// run runs the bench until its end or ctx's, and prints what was measured in
// either case.
func (p *benchPlan) run(ctx context.Context, out, errs io.Writer) error {
	r := newBenchRun(p, out, errs)
	o, err := engine.NewObservers(ctx, engine.ObserverOptions{
		Config: p.lengths[0], Build: buildInfo(), Log: newLog(errs, "warn", "console"),
	})
	if err != nil {
		return err
	}
	if o.Exporting() {
		r.exported = o
	}
	err = r.all(ctx)
	if err != nil && !errors.Is(err, errFailed) {
		r.document.Warnings = append(r.document.Warnings, err.Error())
	}
	o.Export(ctx, flushLimit)
	if ctx.Err() != nil {
		r.screen.note("interrupted: what is shown was measured until then")
		r.document.Warnings = append(r.document.Warnings, "the run was interrupted")
		err = errors.Join(err, errFailed)
	}
	if failure := r.finish(out); failure != nil {
		return failure
	}
	return err
}

// all runs every length and group.
func (r *benchRun) all(ctx context.Context) (failed error) {
	for _, c := range r.plan.lengths {
		jobs, err := engine.Assemble(c.Targets, r.plan.assets, r.plan.dial, buildInfo().Version)
		if err != nil {
			return err
		}
		for i, j := range jobs {
			if i < len(r.before) {
				j.Inherit(r.before[i])
			}
			r.budgets.Give(j)
		}
		r.before, r.steps = jobs, len(r.plan.lengths)*len(jobs)*len(r.plan.wish.Loads())
		for _, warning := range c.Warnings {
			r.screen.note("warning: " + warning)
		}
		for _, j := range jobs {
			err := r.job(ctx, j)
			j.Close()
			if ctx.Err() != nil || err != nil && !errors.Is(err, errFailed) {
				return err
			}
			failed = errors.Join(failed, err) // a group that does not answer does not stop the others
		}
	}
	if failed != nil {
		return failed
	}
	if !slices.ContainsFunc(r.document.Summaries, func(s report.Summary) bool { return s.Succeeded() > 0 }) {
		r.screen.note("no request succeeded")
		for _, s := range r.document.Summaries {
			for _, f := range s.Failures {
				r.failure(s.Target, fmt.Sprintf("%s (%d times): %s", f.Outcome, f.Requests, f.Error), f.Hint)
			}
		}
		return errFailed
	}
	return nil
}

// failure notes how requests of a target failed, and what to do.
func (r *benchRun) failure(target, how, hint string) {
	r.screen.note(target + ": " + how)
	if hint != "" {
		r.screen.note("  " + hint)
	}
}

// job runs every step of a group.
func (r *benchRun) job(ctx context.Context, j *engine.Job) error {
	next, err := r.warm(ctx, j)
	if err != nil || ctx.Err() != nil {
		return err
	}
	for lead, load := range r.plan.loads(j) {
		r.step++
		t := newTally(j, load, r)
		next = bench.Step{
			Group: j.Group(t), Load: load, First: next, Lead: lead % len(j.Targets),
			Ready: j.FitAhead, Begin: t.begin, End: t.end,
		}.Run(ctx, ctx)
		t.finish()
		if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// warm asks the targets until the prompt's length is exact, once at least, and
// returns the round after. These requests do not count: they teach what the
// servers are, and what they reject. That none is answered is an error.
func (r *benchRun) warm(ctx context.Context, j *engine.Job) (next uint64, err error) {
	r.screen.note(firstWords(j))
	results, next, err := j.Once(ctx)
	switch {
	case ctx.Err() != nil:
		return next, nil
	case err != nil:
		return 0, err
	case !r.answered(results):
		r.nothingMeasured(j, results)
		return 0, errFailed
	}
	r.lengthNote(j)
	return next, nil
}

// firstWords say what is asked before anything counts, and how long that may take
// where nobody answers.
func firstWords(j *engine.Job) string {
	words := "warm-up: "
	if j.Prompts.Workload != prompt.Dataset {
		words += fmt.Sprintf("prompts of %s tokens, ", report.Grouped(j.Targets[0].PromptTokens))
	}
	return words + fmt.Sprintf("not counted (at most %v each)", j.Targets[0].Timeout)
}

// answered tells which targets fail, and reports whether any does not.
func (r *benchRun) answered(results []*probe.Result) bool {
	ok := false
	for _, result := range results {
		if result.Outcome == probe.OK {
			ok = true
			continue
		}
		r.failure(result.Target, report.Failure(result), report.Hint(result))
	}
	if !ok {
		r.screen.note("no target answers: there is nothing to measure")
	}
	return ok
}

// nothingMeasured puts a summary of no requests into the document for each target of j,
// with how its warm-up failed: who reads the document shall learn why there is nothing.
func (r *benchRun) nothingMeasured(j *engine.Job, results []*probe.Result) {
	for _, t := range j.Targets {
		s := report.Summary{Target: t.Name, Load: "warm-up", PromptTokens: t.PromptTokens}
		if j.Prompts.Workload == prompt.Dataset {
			s.PromptTokens = 0
		}
		var samples []report.Sample
		for _, result := range results {
			if result.Target == t.Name {
				samples = append(samples, report.SampleOf(result))
				s.Warnings = append(s.Warnings, "the warm-up failed, so that nothing was measured: "+report.Failure(result))
			}
		}
		s.Failures = report.FailuresOf(samples)
		r.document.Summaries = append(r.document.Summaries, s)
	}
}

// lengthNote says where prompts are not as long as they should be.
func (r *benchRun) lengthNote(j *engine.Job) {
	if off, known := j.Off(); known && off != 0 && j.Prompts.Workload != prompt.Dataset {
		r.screen.note(engine.OffNote(off, j.Targets[0]))
	}
}

// finish writes what is written at the end: the results first, then the picture.
func (r *benchRun) finish(out io.Writer) error {
	if err := r.write(out); err != nil {
		return err
	}
	if r.plan.plot == "" || !slices.ContainsFunc(r.document.Summaries, measured) {
		return nil
	}
	if err := r.draw(); err != nil {
		return err
	}
	r.screen.note("drawn to " + r.plan.plot)
	return nil
}

// measured reports whether a summary is of any request.
func measured(s report.Summary) bool { return s.Succeeded()+s.Failed() > 0 }

// write writes the document; as text only the steps at a glance, since each was
// shown when it ended.
func (r *benchRun) write(out io.Writer) error {
	if r.plan.format != "text" {
		return report.WriteAs(out, r.plan.format, r.document)
	}
	if err := r.screen.failure(); err != nil || len(r.document.Summaries) <= len(r.plan.lengths[0].Targets) {
		return err
	}
	return report.WriteOverview(out, r.document.Summaries)
}

// draw draws the run: the curves of a ladder, or the distributions of the only
// step.
func (r *benchRun) draw() error {
	notes := report.Notes(r.document)
	steps := slices.DeleteFunc(slices.Clone(r.document.Summaries), func(s report.Summary) bool { return !measured(s) })
	page := report.LadderPage(r.plan.title(), notes, steps)
	if r.steps == 1 {
		page = report.RunPage(r.plan.title(), notes, r.drawn)
	}
	return report.Draw(r.plan.plot, page)
}
