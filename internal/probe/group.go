package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// A Group is targets that answer the same prompts: in each round one after another, in rotating order.
type Group struct {
	Members  []*Member
	Interval time.Duration // between rounds; each member has its share of it
	Output   int           // tokens asked of each answer
	Recorder Recorder
	Ask      func(round uint64) Question // writes the prompt of a round; safe for concurrent use
}

// A Recorder takes what comes of probes, the canceled included. It is safe for concurrent use.
type Recorder interface {
	Record(r *Result)
	Skipped(target string, reason Skip)
}

// A Skip is why a slot went without a probe.
type Skip string

// The reasons to skip.
const (
	SkipOverlap  Skip = "overlap"  // as many probes as allowed were still in flight
	SkipBudget   Skip = "budget"   // the day's tokens were spent
	SkipLate     Skip = "late"     // the next slot was due as well
	SkipBackoff  Skip = "backoff"  // the server had asked for a pause
	SkipWaiting  Skip = "waiting"  // the server was not ready yet
	SkipDraining Skip = "draining" // the servers are about to stop
	SkipPaused   Skip = "paused"   // somebody paused the target, or it is not its time
)

// Skips returns every reason to skip.
func Skips() []Skip {
	return []Skip{SkipOverlap, SkipBudget, SkipLate, SkipBackoff, SkipWaiting, SkipDraining, SkipPaused}
}

// Round asks every member the question of a round, which is due at due. A member's turn starts when the one before it is done,
// and at the latest after its share of the interval. No turn starts once starts is done; a probe in flight goes on until
// probes is done. The question is written for the first member that has a free slot. Round returns when all are done.
func (g *Group) Round(starts, probes context.Context, round uint64, due time.Time) {
	question := sync.OnceValue(func() Question { return g.Ask(round) })
	share := g.Interval / time.Duration(len(g.Members))
	var running sync.WaitGroup
	defer running.Wait()

	turn := due
	for place := range g.Members {
		i := (place + int(round%uint64(len(g.Members)))) % len(g.Members)
		latest := due.Add(share * time.Duration(place+1)) // for the next turn
		wait, done := context.WithDeadline(starts, latest)
		begins := turn
		running.Go(func() {
			g.Turn(probes, i, question, round, begins)
			done()
		})
		if place == len(g.Members)-1 {
			return
		}
		<-wait.Done()
		if turn = latest; errors.Is(wait.Err(), context.Canceled) {
			turn = time.Now()
		}
		if starts.Err() != nil {
			return
		}
	}
}

// Turn is one member's part of a round, which is due at due. The result is read only; nil if the slot was skipped.
func (g *Group) Turn(ctx context.Context, i int, question func() Question, round uint64, due time.Time) *Result {
	var r *Result
	reason := g.Members[i].Skipping()
	if reason == "" {
		r, reason = g.attempt(ctx, i, question, 0)
	}
	if reason != "" {
		g.Recorder.Skipped(g.Members[i].Name(), reason)
		return nil
	}
	r.Due, r.Round = due, round
	g.Recorder.Record(r)
	return r
}

// extraPatience is how long [Group.Extra] waits for the end of a probe in flight: beside it neither would be timed right.
const extraPatience = 10 * time.Second

// Extra asks member i the question of a round outside its slots, also while these are skipped. It records nothing. The
// reason says why there is no result: [SkipOverlap] or [SkipBudget].
func (g *Group) Extra(ctx context.Context, i int, round uint64) (r *Result, reason Skip) {
	if r, reason = g.attempt(ctx, i, func() Question { return g.Ask(round) }, extraPatience); r != nil {
		r.Due, r.Round, r.Extra = r.Start, round, true
	}
	return r, reason
}

// attempt asks member i the question, if it may have one more in flight by then and has tokens left of the day.
func (g *Group) attempt(ctx context.Context, i int, question func() Question, patience time.Duration) (*Result, Skip) {
	probe, ok := g.Members[i].take(ctx, patience)
	if !ok {
		return nil, SkipOverlap
	}
	r := g.answer(ctx, i, question, probe.start)
	blocked := g.Members[i].release(probe)
	if r == nil {
		return nil, SkipBudget
	}
	r.Blocked = blocked
	return r, ""
}

// answer asks member i the question; nil if the day's tokens are spent.
func (g *Group) answer(ctx context.Context, i int, question func() Question, start time.Time) (r *Result) {
	m := g.Members[i]
	defer m.survive(&r, start)
	q := question()
	if !m.Budget.Reserve(start, q.cost()+g.Output, m.target.DayLimit) {
		return nil
	}
	r = m.Probe(ctx, q.forMember(i, g.Output))
	if i == 0 {
		q.report(r)
	}
	return r
}

// Late counts a round that was skipped for every member.
func (g *Group) Late() {
	for _, m := range g.Members {
		g.Recorder.Skipped(m.Name(), SkipLate)
	}
}

// A Question is one prompt, what is expected of the answer, and who wants to know what the server made of it.
type Question struct {
	Ask    wire.Ask
	Expect Expectation // by the tokenizer of the group's first member

	Learn  func(tokens int) // told how many the first member's server counted, 0 if it does not; safe for concurrent use
	Refuse func()           // told that it rejected the request; safe for concurrent use
}

// An Expectation is how prompt and answer are judged. The zero value accepts every length, but no answer cut short.
type Expectation struct {
	Length       int        // prompt tokens asked for; 0: any
	Words        int        // words in the prompt: it has at least as many tokens, whatever the tokenizer
	Fresh        int        // tokens at the prompt's end that cannot be cached; 0 if a warm cache is meant
	PromptTokens wire.Count // tokens that the server must count for the prompt; unknown: not judged
	Again        bool       // the server had been sent the prompt, or what it begins with: see [Member.again]
	CacheCounts  bool       // where the server counts no cached tokens there were none: see [Capabilities.countsCached]
	ExactLimit   bool       // an answer with a finish reason for its length must have [wire.Ask.MaxTokens]
	ExactOutput  bool       // every answer must have [wire.Ask.MaxTokens]
	Answer       string     // words that the answer must contain; empty: any answer is right
}

// warm reports whether the whole prompt is one that a cache is meant to know. It is no prompt that only makes another
// exact, or asks whether the server answers.
func (q Question) warm() bool {
	return q.Expect.Fresh == 0 && q.Expect.Words > 0 && len(q.Ask.Turns) == 0
}

// forMember is the question for the group's member i, with output tokens to generate. All get the same text, whose length is
// exact for the first one's tokenizer only; salts differ, because several members may lead to one server's cache.
func (q Question) forMember(i, output int) Question {
	q.Ask.MaxTokens = output
	if i > 0 {
		q.Expect.PromptTokens, q.Expect.Length = wire.Count{}, 0
		if q.Ask.CacheSalt != "" {
			q.Ask.CacheSalt = fmt.Sprintf("%s-%d", q.Ask.CacheSalt, i)
		}
	}
	return q
}

// cost is the number of tokens in the prompt, estimated at four bytes a token where it is unknown.
func (q Question) cost() int {
	if q.Expect.Length > 0 {
		return q.Expect.Length
	}
	bytes := len(q.Ask.Prompt)
	for _, t := range q.Ask.Turns {
		bytes += len(t.Text)
	}
	return max(q.Expect.Words, bytes/4)
}

func (q Question) report(r *Result) {
	switch {
	case refused(r) || r.Status == http.StatusRequestEntityTooLarge || errors.Is(r.Err, ErrTooLong):
		q.Refuse()
	case r.Outcome == OK || r.Outcome == WrongLength:
		q.Learn(r.Usage.Prompt.N) // 0 if the server does not count
	}
}

// A Budget counts the tokens that a target was sent and asked for in a day of UTC. It is safe for concurrent use.
type Budget struct {
	mu   sync.Mutex
	day  time.Time
	used int
}

// Reserve counts tokens. It reports false, and counts nothing, if the day would have more than limit; 0 is no limit.
func (b *Budget) Reserve(now time.Time, tokens, limit int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if day := dayOf(now); !day.Equal(b.day) {
		b.day, b.used = day, 0
	}
	if limit > 0 && b.used+tokens > limit {
		return false
	}
	b.used += tokens
	return true
}

// Unspent reports whether nothing is spent of the day of now.
func (b *Budget) Unspent(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used == 0 || !dayOf(now).Equal(b.day)
}

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }
