package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/wire"
)

// promptOptions are what the group of t is asked. They read the file that is
// asked from. Groups of one run have seeds of their own, so that none warms the
// cache for another.
func promptOptions(t config.Target, files *reading, seed uint64) (prompt.Options, error) {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(t.Group)) // never fails
	o := prompt.Options{
		Workload: prompt.Workload(t.Prompt), Tokens: t.PromptTokens, Answer: t.MaxTokens, Seed: seed ^ hash.Sum64(),
		Users: t.SessionUsers, Rounds: t.SessionRounds, System: t.SystemTokens, Depth: t.CanaryDepth,
	}
	switch o.Workload {
	case prompt.Book:
		var err error
		if o.Book, o.Passages, err = files.book(t.BookFile, o.Tokens); err != nil {
			return o, fmt.Errorf("book file %s: %w", t.BookFile, err)
		}
	case prompt.Dataset:
		var err error
		if o.Dataset, err = files.dataset(t.DatasetFile); err != nil {
			return o, fmt.Errorf("data set file %s: %w", t.DatasetFile, err)
		}
	}
	return o, nil
}

// question writes the prompt of a round.
func (j *job) question(round uint64) probe.Question {
	p := j.writer.Prompt(round)
	q := questionOf(p)
	q.Learn = func(tokens int) { j.writer.Learn(p.Size, tokens) }
	q.Refuse = func() { j.writer.Refuse(p.Size) }
	return q
}

// questionOf is a prompt as a question.
func questionOf(p prompt.Prompt) probe.Question {
	q := probe.Question{
		Ask:    wire.Ask{Prompt: p.Text, IDs: p.IDs, CacheSalt: p.Salt, Session: p.Session},
		Expect: probe.Expectation{Length: p.Asked, Words: p.Words, Fresh: p.Fresh, Answer: p.Expect},
	}
	for _, t := range p.Turns {
		q.Ask.Turns = append(q.Ask.Turns, wire.Turn(t))
	}
	if p.Held {
		q.Expect.PromptTokens = wire.Tokens(p.Tokens)
	}
	return q
}

// errNoTokenizer says that a server has no route that counts tokens.
var errNoTokenizer = errors.New("server has no tokenizer route")

// fit makes the prompts' length exact by the first member's tokenizer, where it
// has one: they are written as token ids where the server takes those and they go
// to nobody else, and fitted else. Without a tokenizer, the usage of the first
// probes tells.
func (j *job) fit(ctx context.Context) error {
	for _, m := range j.group.Members {
		m.Introduce(ctx)
	}
	if err := j.group.Members[0].Prepare(ctx); err != nil {
		return err
	}
	j.reached.Store(true)
	if ok, err := j.useIDs(ctx); ok || err != nil {
		return err
	}
	err := j.writer.Fit(func(p prompt.Prompt) (int, error) { return j.count(ctx, p) })
	if errors.Is(err, errNoTokenizer) {
		return j.measure(ctx)
	}
	return err
}

// The short questions whose usage is asked for where there is no tokenizer: how many,
// and their longest prompt in words.
const (
	shortQuestions = 3
	shortWords     = 600
)

// measure finds out what a word costs by the usage of a few short questions, which do
// not count, so that the first probe is as long as was asked, and never longer. It
// returns [errNoTokenizer] if the usage of longer prompts is to tell the rest.
func (j *job) measure(ctx context.Context) error {
	asked := 0
	return j.writer.Fit(func(p prompt.Prompt) (int, error) {
		if asked++; asked > shortQuestions || p.Words > shortWords {
			return 0, errNoTokenizer
		}
		q := questionOf(p)
		q.Ask.MaxTokens, q.Expect.Answer = checkTokens, ""
		r := j.group.Members[0].Probe(ctx, q)
		counted := r.Usage.Prompt
		switch {
		case r.Outcome != probe.OK && r.Outcome != probe.WrongLength:
			return 0, r.Err
		case !counted.Known || counted.N == 0:
			j.writer.Learn(p.Size, 0)
			return 0, errNoTokenizer
		}
		return counted.N, nil
	})
}

// fitAhead makes the length of a round's prompt exact before it is due, where
// that needs more than [job.fit] did.
func (j *job) fitAhead(ctx context.Context, round uint64) {
	if j.targets[0].Prompt == string(prompt.Book) && j.group.Members[0].Capabilities().Tokenizes == wire.Always {
		// A tokenizer that fails is no reason not to probe: usage will tell.
		_ = j.writer.FitRound(round, func(p prompt.Prompt) (int, error) { return j.count(ctx, p) })
	}
}

// exactBy is what made the length of the prompts exact.
func (j *job) exactBy() string {
	switch {
	case j.writer.Prompt(0).IDs != nil:
		return "token ids"
	case j.group.Members[0].Capabilities().Tokenizes == wire.Always:
		return "tokenizer"
	}
	return "usage"
}

// count asks the first member's tokenizer for the length of a prompt.
func (j *job) count(ctx context.Context, p prompt.Prompt) (int, error) {
	tokens, err := j.group.Members[0].Tokenize(ctx, questionOf(p).Ask)
	if err == nil && tokens.N == 0 {
		err = errNoTokenizer
	}
	return tokens.N, err
}

// useIDs makes the prompts token ids, where that can be.
func (j *job) useIDs(ctx context.Context) (ok bool, err error) {
	workload := prompt.Workload(j.targets[0].Prompt)
	if len(j.group.Members) > 1 || workload != prompt.Cold && workload != prompt.Warm {
		return false, nil
	}
	m := j.group.Members[0]
	if err := m.Prepare(ctx); err != nil {
		return false, err
	}
	if known := m.Capabilities(); !known.Dialect.TakesIDs(known.Server) {
		return false, nil
	}
	head, err := m.Tokenize(ctx, wire.Ask{Prompt: prompt.VocabularyHead()})
	if err != nil || head.IDs == nil {
		return false, err
	}
	all, err := m.Tokenize(ctx, wire.Ask{Prompt: prompt.VocabularyText()})
	if err != nil {
		return false, err
	}
	vocabulary, ok := prompt.NewVocabulary(head.IDs, all.IDs)
	if ok {
		j.writer.UseIDs(vocabulary)
	}
	return ok, nil
}
