package bench

import (
	"context"
	"fmt"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/report"
)

// warmUp asks the targets of j, uncounted, until the length of their prompts is exact. It returns the next round, or
// [ErrFailed] if none of them answered.
func (r *run) warmUp(ctx context.Context, j *engine.Job) (nextRound uint64, err error) {
	first := j.Targets[0]
	length := ""
	tokens := promptTokens(first)
	if tokens > 0 {
		length = "prompts of " + format.Grouped(tokens) + " tokens, "
	}
	timeout := format.Short(first.Timeout.Seconds())
	if r.Plan.Prompts {
		length = j.Length.Prompts[0].Name + ", " + length
	}
	r.Screen.Note(fmt.Sprintf("warm-up: %snot counted (at most %s each)", length, timeout))
	results, nextRound, err := j.Once(ctx)
	switch {
	case ctx.Err() != nil:
		return nextRound, nil
	case err != nil:
		return 0, err
	}
	answered := 0
	for _, result := range results {
		if result.Outcome == probe.OK {
			answered++
		} else {
			places := j.Targets[j.Index(result.Target)].Places
			r.noteFailure(result.Target, report.Failure(result), report.Hint(result, places))
		}
	}
	if answered == 0 {
		r.Screen.Note("no target answers: there is nothing to measure")
		r.addFailedWarmUp(j, results)
		return 0, ErrFailed
	}
	for i, t := range j.Targets {
		note := report.LengthNote(j.Length.Prompts[0].Snapshot(i))
		if note != "" {
			r.Screen.Note(t.Name + ": " + note)
		}
	}
	return nextRound, nil
}

// addFailedWarmUp adds a summary without requests to the document for each target of j, with how its warm-up failed.
func (r *run) addFailedWarmUp(j *engine.Job, results []*probe.Result) {
	for _, t := range j.Targets {
		s := report.Summary{
			Target: t.Name, URL: t.URL, Model: t.Model, Load: "warm-up", PromptTokens: promptTokens(t),
		}
		var samples []report.Sample
		for _, result := range results {
			if result.Target != t.Name {
				continue
			}
			samples = append(samples, report.SampleOf(result, t.Places))
			s.Warnings = append(s.Warnings, "the warm-up failed, so that nothing was measured: "+report.Failure(result))
		}
		s.Failures = report.Summarize(samples).Failures
		r.document.Summaries = append(r.document.Summaries, s)
	}
}

// promptTokens returns the length of the prompts of t. It is 0 if each prompt has its own.
func promptTokens(t config.Target) int {
	if t.Prompt == string(prompt.Dataset) || t.Prompt == string(prompt.Sessions) {
		return 0
	}
	return t.PromptTokens
}
