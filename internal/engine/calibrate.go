package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/wire"
)

// promptOptions are what the group of t is asked. Each group of a run has its own seed: none warms another's cache.
func promptOptions(t config.Target, assets *Assets, seed uint64) (prompt.Options, error) {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(t.Group)) // never fails
	o := prompt.Options{
		Workload: prompt.Workload(t.Prompt), Tokens: t.PromptTokens, Answer: t.MaxTokens, Seed: seed ^ hash.Sum64(),
		Users: t.SessionUsers, Rounds: t.SessionRounds, System: t.SystemTokens, Depth: t.CanaryDepth,
	}
	var err error
	switch o.Workload {
	case prompt.Book:
		parse := func(data []byte) ([]string, error) { return prompt.ParseBook(data, o.Tokens) }
		if o.Book, err = parsed(assets, t.BookFile, o.Tokens, parse); err != nil {
			return o, fmt.Errorf("book file %s: %w", t.BookFile, err)
		}
	case prompt.Dataset:
		if o.Dataset, err = parsed(assets, t.DatasetFile, 0, prompt.ParseDataset); err != nil {
			return o, fmt.Errorf("data set file %s: %w", t.DatasetFile, err)
		}
	}
	return o, nil
}

func (j *Job) question(round uint64) probe.Question {
	p := j.writer.Prompt(round)
	q, size := questionOf(p), p.Size // without the text, which the functions would hold until the answer ends
	q.Learn = func(tokens int) { j.writer.Learn(size, tokens) }
	q.Refuse = func() { j.writer.Refuse(size) }
	return q
}

func questionOf(p prompt.Prompt) probe.Question {
	q := probe.Question{
		Ask:    wire.Ask{Prompt: p.Text, Turns: p.Turns, CacheSalt: p.Salt, Session: p.Session},
		Expect: probe.Expectation{Length: p.Asked, Words: p.Words, Fresh: p.Fresh, Answer: p.Expect},
	}
	if p.Confirmed {
		q.Expect.PromptTokens = wire.Tokens(p.Tokens)
	}
	return q
}

// ErrNoTokenizer says that a server has no route that counts tokens.
var ErrNoTokenizer = errors.New("server has no tokenizer route")

// Fit makes the prompts' length exact by the first member's tokenizer, if it has one. Without a tokenizer, a few short
// questions and the usage of the first probes tell.
func (j *Job) Fit(ctx context.Context) error {
	for _, m := range j.Members {
		m.Introduce(ctx)
	}
	if err := j.Members[0].Prepare(ctx); err != nil {
		return err
	}
	j.reached.Store(true)
	err := j.writer.Calibrate(0, func(p prompt.Prompt) (int, error) { return j.count(ctx, p) })
	if errors.Is(err, ErrNoTokenizer) {
		return j.measure(ctx)
	}
	return err
}

// ShortAnswer is how many tokens are asked of an answer that only shows that there is one: OpenAI's Responses' minimum.
const ShortAnswer = 16

// How many short questions are asked where there is no tokenizer, and the words of the longest.
const shortQuestions, shortWords = 3, 600

// measure learns the tokens per word from the usage of a few short questions, which are not counted, so that no probe
// is longer than asked. It returns [ErrNoTokenizer] if the usage of longer prompts must tell the rest.
func (j *Job) measure(ctx context.Context) error {
	asked := 0
	return j.writer.Calibrate(0, func(p prompt.Prompt) (int, error) {
		if asked++; asked > shortQuestions || p.Words > shortWords {
			return 0, ErrNoTokenizer
		}
		q := questionOf(p)
		q.Ask.MaxTokens, q.Expect.Answer = ShortAnswer, ""
		r := j.Members[0].Probe(ctx, q)
		counted := r.Usage.Prompt
		switch {
		case r.Outcome != probe.OK && r.Outcome != probe.WrongLength:
			return 0, r.Err
		case !counted.Known || counted.N == 0:
			j.writer.Learn(p.Size, 0)
			return 0, ErrNoTokenizer
		}
		return counted.N, nil
	})
}

// FitAhead makes the length of a round's prompt exact before it is due, where that needs more than [Job.Fit] did.
func (j *Job) FitAhead(ctx context.Context, round uint64) {
	if j.Targets[0].Prompt == string(prompt.Book) && j.Members[0].Capabilities().Tokenizes == wire.Always {
		// A tokenizer that fails is no reason not to probe: usage will tell.
		_ = j.writer.Calibrate(round, func(p prompt.Prompt) (int, error) { return j.count(ctx, p) })
	}
}

// ExactBy is what made the length of the prompts exact.
func (j *Job) ExactBy() string {
	if j.Members[0].Capabilities().Tokenizes == wire.Always {
		return "tokenizer"
	}
	return "usage"
}

func (j *Job) count(ctx context.Context, p prompt.Prompt) (int, error) {
	tokens, err := j.Members[0].Tokenize(ctx, questionOf(p).Ask)
	if err == nil && !tokens.Known {
		err = ErrNoTokenizer
	}
	return tokens.N, err
}

// calibrations is how often a prompt is asked in vain until its length is exact.
const calibrations = 3

// Once asks a round of j. Where only the usage of an answer tells how long a prompt is, the first ones make it exact,
// or show that it cannot be, and the last counts. Next is the first round not asked. The error names who was not asked.
func (j *Job) Once(ctx context.Context) (results []*probe.Result, next uint64, err error) {
	_ = j.Fit(ctx) // a server without a tokenizer, or without an answer, shows in the probe
	return j.Ask(ctx, 0, len(j.Members))
}

// Ask is [Job.Once] for the members from first until end, after [Job.Fit].
func (j *Job) Ask(ctx context.Context, first, end int) (results []*probe.Result, next uint64, _ error) {
	for {
		confirmed := j.writer.Prompt(next).Confirmed
		answers, err := j.round(ctx, next, first, end)
		next++
		if err != nil && results != nil { // calibrating once more was too much for a budget
			return results, next, nil
		}
		results = answers
		if err != nil || confirmed || next > calibrations || !j.calibrating(results) {
			return results, next, err
		}
	}
}

func (j *Job) round(ctx context.Context, round uint64, first, end int) (results []*probe.Result, err error) {
	var skips skips
	group := j.Group(&skips)
	for i := first; i < end; i++ {
		if r := group.Turn(ctx, i, func() probe.Question { return j.question(round) }, round, time.Now()); r != nil && r.Outcome != probe.Canceled {
			results = append(results, r)
		}
	}
	if skips.err == nil && len(results) < end-first {
		skips.err = errors.New("interrupted")
	}
	return results, skips.err
}

// A skips is a [probe.Recorder] that keeps who was not probed, and why.
type skips struct{ err error }

func (s *skips) Record(*probe.Result) {}

func (s *skips) Skipped(target string, reason probe.Skip) {
	s.err = errors.Join(s.err, fmt.Errorf("%s was not probed: %s", target, reason))
}

// calibrating reports whether the results taught how to make the next prompt exact: not where a server counts less than half.
func (j *Job) calibrating(results []*probe.Result) bool {
	t := j.Targets[0]
	failed := func(r *probe.Result) bool { return r.Outcome != probe.OK }
	if t.Prompt == string(prompt.Book) || t.Prompt == string(prompt.Dataset) || slices.ContainsFunc(results, failed) {
		return false
	}
	counted := results[0].Usage.Prompt
	return results[0].Target == t.Name && counted.Known && counted.N != t.PromptTokens && counted.N >= t.PromptTokens/2
}
