package probe

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// A Member is a target in a group and what its server has shown. It is safe for concurrent use.
type Member struct {
	target Target
	model  string // configured; empty to take the server's first

	mostInFlight int // probes at a time, at least 1

	Disabled          atomic.Bool // it has no slots: nothing is sent, and nothing is skipped
	Budget            *Budget     // not to be changed once probes have begun
	Waiting, Draining atomic.Bool // slots are skipped as [SkipWaiting], as [SkipDraining]
	worked            atomic.Bool // some probe succeeded

	mu           sync.Mutex
	inFlight     []*flight // oldest first
	capabilities Capabilities
	warmed       [sha256.Size]byte // hash of the last prompt for a warm cache that was answered, see [Member.again]
	pausedUntil  time.Time         // end of the pause that the server asked for; zero: none
}

// NewMember returns a member of at most inFlight probes at once. A nil dialect and an empty model are asked of the
// server.
func NewMember(t Target, model string, inFlight int) *Member {
	return &Member{
		target: t, model: model, mostInFlight: inFlight, Budget: new(Budget),
		capabilities: Capabilities{Findings: Findings{Dialect: t.Dialect, Server: t.Server, Model: model}},
	}
}

// Inherit copies what old learned, which probed the same server with the same credentials.
func (m *Member) Inherit(old *Member) {
	old.mu.Lock()
	known, pausedUntil := old.capabilities, old.pausedUntil
	old.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capabilities, m.pausedUntil = known, pausedUntil
	m.worked.Store(old.worked.Load())
	m.Waiting.Store(m.Waiting.Load() && old.Waiting.Load())
}

// Name returns the target's name.
func (m *Member) Name() string { return m.target.Name }

// A flight is a probe in flight.
type flight struct {
	start    time.Time
	answered atomic.Bool // it only waits for the end of its connection
	blocked  int         // slots that were skipped because of it; see [Result.Blocked]
}

// take takes a slot for a probe that starts now. ok is false if none is free: the oldest probe in flight blocks it.
func (m *Member) take() (probe *flight, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.inFlight) == m.mostInFlight {
		m.inFlight[0].blocked++
		return nil, false
	}
	probe = &flight{start: time.Now()}
	m.inFlight = append(m.inFlight, probe)
	return probe, true
}

// release gives back the slot of a probe that has ended, and returns how many others it blocked.
func (m *Member) release(probe *flight) (blocked int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.inFlight, probe)
	m.inFlight = slices.Delete(m.inFlight, i, i+1)
	return probe.blocked
}

// InFlight returns the number of probes in flight and the start of the oldest; zero if there is none. A probe whose
// answer has ended is not in flight, although its connection is still waited for.
func (m *Member) InFlight() (n int, oldest time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, probe := range m.inFlight {
		if probe.answered.Load() {
			continue
		}
		if n == 0 {
			oldest = probe.start
		}
		n++
	}
	return n, oldest
}

// Stuck returns how many requests did not return at their limit and have not since. Once there are two, slots are
// skipped as [SkipStuck]: the server, or a proxy on the way to it, hangs the HTTP client.
func (m *Member) Stuck() int { return int(m.target.Transport.stuck.n.Load()) }

// Close closes idle connections.
func (m *Member) Close() { m.target.Transport.Close() }

// Capabilities returns the learned capabilities so far.
func (m *Member) Capabilities() Capabilities {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.capabilities
}

// learn changes the learned capabilities.
func (m *Member) learn(change func(*Capabilities)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.capabilities)
}

// Probe asks one question. A server of which too little is known is asked for that first; if that fails, it is the
// result.
func (m *Member) Probe(ctx context.Context, q Question) (r *Result) {
	start := time.Now()
	defer func() { m.pause(r) }()
	defer m.survive(&r, start)
	err := m.Prepare(ctx)
	if err != nil {
		return m.Unreached(start, err)
	}
	var without, omitted []wire.Field // the fields not sent, and those of them because of this question
	q.Expect.Again = m.again(q)
	for {
		target, filled := m.fill(q)
		without = filled.Ask.Omit
		r = target.probe(ctx, filled)
		fields := m.learnRejected(r, without)
		if len(fields) == 0 {
			break
		}
		omitted = append(omitted, fields...)
	}
	switch {
	case isRefused(r): // omitting fields did not help
		m.restore(omitted)
	case r.Outcome == OK:
		m.keepOmitted(without)
	}
	r.Began = start
	m.explainNotFound(r)
	if r.Outcome == OK {
		m.worked.Store(true)
	}
	if r.Status == http.StatusNotFound && (m.target.Dialect == nil || m.model == "") {
		m.learn(func(c *Capabilities) { c.Stale = true })
	}
	m.learnFrom(r, q)
	m.learnWarm(q, r)
	m.lookAfterChange(ctx, r)
	return r
}

// ProbeWithinBudget asks one question, if the day's tokens allow that: ok is false if they do not. What was never sent
// costs nothing.
func (m *Member) ProbeWithinBudget(ctx context.Context, q Question) (r *Result, ok bool) {
	tokens := q.cost() + q.Ask.MaxTokens
	day, ok := m.Budget.Reserve(time.Now(), tokens, m.target.DayLimit)
	if !ok {
		return nil, false
	}
	r = m.Probe(ctx, q)
	if r.unsent() {
		m.Budget.Return(day, tokens)
	}
	return r, true
}

// unsent reports whether the server never got the whole request.
func (r *Result) unsent() bool {
	_, undiscovered := r.Undiscovered()
	return undiscovered || r.Status == 0 && r.Timeline.Phases.Wrote == 0
}

// again reports whether the server should find the beginning of q in its cache, because it had been sent it before: the
// prompt for a warm cache that was answered last, or an earlier round of the same session.
func (m *Member) again(q Question) bool {
	if q.Ask.Session != "" {
		return slices.ContainsFunc(q.Ask.Turns, func(t wire.Turn) bool { return t.Role == "assistant" })
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return q.warm() && m.warmed == sha256.Sum256([]byte(q.Ask.Prompt))
}

// learnWarm notes the prompt for a warm cache that was answered last.
func (m *Member) learnWarm(q Question, r *Result) {
	if r.Outcome != OK || !q.warm() {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.warmed = sha256.Sum256([]byte(q.Ask.Prompt))
}

// survive turns a panic of the prober into a probe that does not count, so that the others go on. The caller defers it.
func (m *Member) survive(r **Result, start time.Time) {
	p := recover()
	if p != nil {
		stack := debug.Stack()
		other, isOther := p.(panicValue)
		if isOther {
			p, stack = other.value, other.stack
		}
		*r = m.Unreached(start, failure(Canceled, "prober panicked, please report it: %v", p))
		(*r).Stack = stack
	}
}

// Insist makes m obey no pause that the server asks for.
func (m *Member) Insist() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.target.Backoff = 0
}

// Obeys reports whether m obeys the pauses that the server asks for.
func (m *Member) Obeys() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.target.Backoff > 0
}

// pause notes the pause that a server asked for, up to the target's limit.
func (m *Member) pause(r *Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	pause := min(r.RetryAfter, m.target.Backoff)
	until := r.Start.Add(r.Elapsed + pause)
	if pause > 0 && until.After(m.pausedUntil) {
		m.pausedUntil = until
	}
}

// Skipping returns why the member's slots are skipped now; empty if they are not.
func (m *Member) Skipping() Skip {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.Draining.Load():
		return SkipDraining
	case m.Waiting.Load():
		return SkipWaiting
	case time.Now().Before(m.pausedUntil):
		return SkipBackoff
	case m.target.Transport.stuck.full():
		return SkipStuck
	}
	return ""
}

// Tokenize asks the server for the tokens of a prompt; none if it has no route for that.
func (m *Member) Tokenize(ctx context.Context, ask wire.Ask) (wire.Count, error) {
	err := m.Prepare(ctx)
	if err != nil {
		return wire.Count{}, err
	}
	target, q := m.fill(Question{Ask: ask})
	tokens, err := target.Tokenize(ctx, q.Ask)
	m.learn(func(c *Capabilities) {
		if err == nil {
			c.Tokenizes = claim(tokens.Known)
		} else if errors.Is(err, ErrTooLong) {
			v, _ := errors.AsType[verdict](err)
			c.Limits = v.limits.Or(c.Limits)
		}
	})
	return tokens, err
}

// fill completes a question, and the target that it is asked of, by what is known of the server.
func (m *Member) fill(q Question) (Target, Question) {
	t, known := m.target, m.Capabilities()
	t.Dialect = known.Dialect
	q.Ask.Model = known.Model
	q.Ask.Version = t.Version
	q.Ask.Server = known.Server
	q.Ask.Omit = known.Omit
	q.Ask.Priority = t.Priority
	q.Expect.ExactLimit = known.ExactLimit
	q.Expect.ExactOutput = known.ExactOutput
	q.Expect.CacheCounts = known.countsCached(q.Expect.Again)
	q.Expect.CacheApart = known.CacheApart
	q.Expect.Uncached = known.Uncached
	return t, q
}

// learnFrom updates the capabilities by the result of a question.
func (m *Member) learnFrom(r *Result, q Question) {
	maxTokens := q.Ask.MaxTokens
	m.learn(func(c *Capabilities) {
		m.learnServer(c, r)
		c.learnLimits(r)
		c.learnPromptCount(r, q.Words)
		c.unlearn(r, maxTokens)
		staysOpen := r.closing == leftOpen || r.closing == endMissing
		c.LeavesOpen = m.target.Transport.route.Reuse && staysOpen
		if r.Outcome == OK {
			c.learnFromAnswer(r, maxTokens)
		}
	})
}

// learnServer takes the gateway that the answer names for the server, unless the server type is configured.
func (m *Member) learnServer(c *Capabilities, r *Result) {
	configured := m.target.Server.Name != ""
	if configured || r.gateway.Name == "" || r.gateway.Name == c.Server.Name {
		return
	}
	c.Server = r.gateway
	c.Version = ""
}

// learnLimits learns how long prompts and answers may be. A failed answer can say that, too.
func (c *Capabilities) learnLimits(r *Result) {
	limits, _ := wire.TooLong(r.rejected)
	c.Limits = limits.Or(c.Limits)
	if r.Usage.Prompt.Known {
		c.Prompt = r.Usage.Prompt
	}
	stillUnlimited := c.Unlimited && r.Outcome != OK
	c.Unlimited = stillUnlimited || errors.Is(r.Err, ErrUnlimited)
}

// learnFromAnswer learns from a successful answer. One that ended at its limit with exactly maxTokens shows that the
// server obeys the limit. If the request also forbade the server to stop early, all answers have this length. Usage in
// every frame is an extension of vLLM and its relatives.
func (c *Capabilities) learnFromAnswer(r *Result, maxTokens int) {
	c.Answered = true
	endedAtLimit := wire.EndingOf(r.Finish) == wire.AtLimit
	exact := endedAtLimit && r.Usage.Generated() == wire.Tokens(maxTokens)
	c.ExactLimit = c.ExactLimit || exact

	ask := wire.Ask{Server: c.Server, Omit: c.Omit}
	forbidsEarlyStop := slices.Contains(c.Dialect.Fields, wire.FieldIgnoreEOS) && !ask.Omits(wire.FieldIgnoreEOS)
	counted := r.Source == FromUsage
	c.ExactOutput = c.ExactOutput || exact && counted && forbidsEarlyStop
	if c.Continuous != wire.Always {
		c.Continuous = claim(counted)
	}
	c.learnCached(r.Usage, r.again)
}

// Await asks each second until the server is ready. It returns an error once limit is over or ctx is done.
func (m *Member) Await(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for !m.target.Ready(ctx, m.model) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
	return nil
}
