package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// repetitions is how often [Job.Once] asks again if answers contradict the count of their prompts.
const repetitions = 3

// Once asks all members of j each prompt once, and has the prompts counted before if they were not. If an answer
// contradicts the count, Once has the prompt counted again and asks it in another round; the results are those of the
// last one. next is the first round that was not asked. The error names the members that were not asked.
func (j *Job) Once(ctx context.Context) (results []*probe.Result, next uint64, err error) {
	for prompt := range j.Length.Prompts {
		ofPrompt, errOfPrompt := j.Ask(ctx, prompt, 0, len(j.Members))
		results = append(results, ofPrompt...)
		err = errors.Join(err, errOfPrompt)
		if ctx.Err() != nil {
			break
		}
	}
	return results, j.next.Load(), err
}

// Ask does what [Job.Once] does, for one prompt and the members from first up to but not including end.
func (j *Job) Ask(ctx context.Context, prompt, first, end int) (results []*probe.Result, err error) {
	isNotOK := func(r *probe.Result) bool { return r.Outcome != probe.OK }
	results, err = j.round(ctx, prompt, first, end)
	for range repetitions {
		if err != nil || slices.ContainsFunc(results, isNotOK) || j.areReady(prompt, first, end) {
			break
		}
		j.Length.Ahead(ctx)
		again, errAgain := j.round(ctx, prompt, first, end)
		if errAgain != nil { // the budget of the day does not allow another round, or ctx is done
			break
		}
		results = again
	}
	return results, err
}

// areReady reports whether the length of a prompt is known for some members.
func (j *Job) areReady(prompt, first, end int) bool {
	for i := first; i < end; i++ {
		if !j.Length.Prompts[prompt].Ready(i) {
			return false
		}
	}
	return true
}

// round asks some members the next round of a prompt. See [Job.Ask].
func (j *Job) round(ctx context.Context, prompt, first, end int) (results []*probe.Result, err error) {
	round := j.next.Add(1) - 1
	for at, _ := j.Length.At(round); at != prompt; at, _ = j.Length.At(round) {
		round = j.next.Add(1) - 1 // nobody misses the rounds of other prompts
	}
	group := j.Group(noRecorder{})
	for i := first; i < end; i++ {
		r, reason := group.Turn(ctx, i, round, time.Now())
		if reason == probe.SkipWaiting && j.Length.Prompts[prompt].Ready(i) { // the slot was used to have the prompt counted
			r, reason = group.Turn(ctx, i, round, time.Now())
		}
		switch {
		case reason != "":
			err = errors.Join(err, fmt.Errorf("%s was not probed: %s", j.Targets[i].Title(prompt), report.SkipReason(reason)))
		case r.Outcome != probe.Canceled || r.Stack != nil:
			results = append(results, r)
		}
	}
	if err == nil && len(results) < end-first {
		err = errors.New("interrupted")
	}
	return results, err
}

// noRecorder is a [probe.Recorder] that records nothing, for callers that look at the results themselves.
type noRecorder struct{}

// Record implements [probe.Recorder].
func (noRecorder) Record(*probe.Result) {}

// Skipped implements [probe.Recorder].
func (noRecorder) Skipped(string, string, probe.Skip) {}
