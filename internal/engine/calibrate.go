package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/wire"
)

// promptOptions returns what the group of t is asked. Each group of a run has its own seed, so that none warms the
// cache for another.
func promptOptions(t config.Target, f *files.Files, seed uint64) (prompt.Options, error) {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(t.Group)) // never fails
	o := prompt.Options{
		Workload: prompt.Workload(t.Prompt), Tokens: t.PromptTokens, Answer: t.MaxTokens, Seed: seed ^ hash.Sum64(),
		Users: t.SessionUsers, Rounds: t.SessionRounds, System: t.SystemTokens, Depth: t.CanaryDepth,
	}
	var err error
	o.Dataset, err = f.DataSet(t)
	return o, err
}

// question returns what the members of j are asked in a round.
func (j *Job) question(round uint64) probe.Question {
	p := j.writer.Prompt(round)
	counted, estimated := j.writer.Known(round)
	q := questionOf(p)
	q.Unfit = !counted && !estimated
	q.Judge = j.length.judge()
	if p.Calibrated && p.Asked > 0 {
		q.Expect.Counted, q.Expect.Truncated = p.Tokens, p.Truncated
	}
	if p.Confirmed {
		q.Expect.PromptTokens = wire.Tokens(p.Tokens)
	}
	size, asked := p.Size, p.Asked // the function below must not hold the text until the answer ends
	q.Learn = func(tokens int) {
		j.heard.Store(true)
		if j.writer.Learn(size, tokens) {
			j.noteContradiction(tokens, asked)
		}
	}
	return q
}

// questionOf returns the question for a prompt, without what depends on whether its length is known.
func questionOf(p prompt.Prompt) probe.Question {
	q := probe.Question{
		Ask:    wire.Ask{Prompt: p.Text, Turns: p.Turns, CacheSalt: p.Salt, Session: p.Session},
		Expect: probe.Expectation{Length: p.Asked, Words: p.Words, Fresh: p.Fresh, Answer: p.Expect},
	}
	if p.Asked > 0 { // of a data set there is no length, and each prompt has words of its own
		q.Words = p.Words
	}
	return q
}

// repetitions is how often [Job.Once] asks again if answers show that prompts are not as long as expected.
const repetitions = 3

// Once makes the prompt of a round exact and asks it of all members of j. If an answer shows that it was not exact,
// Once tries again with the next round, and returns the results of the last one. next is the first round that was not
// asked. The error names the members that were not asked.
func (j *Job) Once(ctx context.Context) (results []*probe.Result, next uint64, err error) {
	return j.Ask(ctx, 0, len(j.Members))
}

// Ask does what [Job.Once] does, for the members from first up to but not including end.
func (j *Job) Ask(ctx context.Context, first, end int) (results []*probe.Result, next uint64, _ error) {
	for {
		answers, err := j.round(ctx, next, first, end)
		next++
		if err != nil && results != nil { // a budget did not allow another round
			return results, next, nil
		}
		results = answers
		exact, estimated := j.writer.Known(next)
		failed := slices.ContainsFunc(results, func(r *probe.Result) bool { return r.Outcome != probe.OK })
		if err != nil || failed || exact || estimated || next > repetitions {
			return results, next, err
		}
		j.FitAhead(ctx, next)
	}
}

// round asks some members one round. See [Job.Ask].
func (j *Job) round(ctx context.Context, round uint64, first, end int) (results []*probe.Result, err error) {
	group := j.Group(unrecorded{})
	question := func() probe.Question { return j.question(round) }
	for i := first; i < end; i++ {
		r, reason := group.Turn(ctx, i, question, round, time.Now())
		if reason == probe.SkipWaiting && j.ready(i, round) { // the slot was used to make the prompt exact
			r, reason = group.Turn(ctx, i, question, round, time.Now())
		}
		if reason != "" {
			err = errors.Join(err, fmt.Errorf("%s was not probed: %s", j.Members[i].Name(), skipText(reason)))
		} else if r.Outcome != probe.Canceled || r.Stack != nil {
			results = append(results, r)
		}
	}
	if err == nil && len(results) < end-first {
		err = errors.New("interrupted")
	}
	return results, err
}

// skipText returns why a slot was skipped, for people.
func skipText(reason probe.Skip) string {
	switch reason {
	case probe.SkipBudget:
		return errSpent.Error()
	case probe.SkipWaiting:
		return "the length of its prompts is not known"
	}
	return string(reason)
}

// unrecorded is a [probe.Recorder] that records nothing, for callers that look at the results themselves.
type unrecorded struct{}

// Record implements [probe.Recorder].
func (unrecorded) Record(*probe.Result) {}

// Skipped implements [probe.Recorder].
func (unrecorded) Skipped(string, probe.Skip) {}
