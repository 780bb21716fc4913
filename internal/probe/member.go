package probe

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// A Member is a target at work: what it was configured with, and what its
// server has taught since. It is safe for concurrent use.
type Member struct {
	target Target
	model  string // configured; empty to take the server's first
	slots  *Slots
	budget *Budget

	mu           sync.Mutex
	capabilities Capabilities
	waiting      bool      // for its server to be ready
	draining     bool      // its server is about to stop
	rested       time.Time // when the server may be asked again; zero: now
}

// NewMember returns a member that probes t with at most inFlight probes at once
// and within budget. The dialect of t may be nil and the model empty: then the
// server is asked.
func NewMember(t Target, model string, inFlight int, budget *Budget) *Member {
	return &Member{
		target: t, model: model, slots: NewSlots(inFlight), budget: budget,
		capabilities: Capabilities{Dialect: t.Dialect, Server: t.Server, Model: model},
	}
}

// Inherit takes over from a member that probed the same server as the same client:
// what the server taught, until when it is to be left alone, and that the server
// has been ready.
func (m *Member) Inherit(old *Member) {
	l := old.Capabilities()
	old.mu.Lock()
	rested, waiting := old.rested, old.waiting
	old.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capabilities, m.rested = l, rested
	m.waiting = m.waiting && waiting
}

// SpendFrom makes b the budget of the member, which has not been probed yet.
func (m *Member) SpendFrom(b *Budget) { m.budget = b }

// Resting reports whether the server asked not to be asked at now.
func (m *Member) Resting(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return now.Before(m.rested)
}

// rest obeys a server that asked not to be asked again for a while, up to the
// target's limit.
func (m *Member) rest(r *Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if pause := min(r.RetryAfter, m.target.Backoff); pause > 0 {
		if until := r.Timeline.Start.Add(r.Elapsed + pause); until.After(m.rested) {
			m.rested = until
		}
	}
}

// Name is the target's name.
func (m *Member) Name() string { return m.target.Name }

// InFlight is the number of probes under way and the start of the oldest.
func (m *Member) InFlight() (n int, oldest time.Time) { return m.slots.InFlight() }

// Capabilities returns what the server has taught so far.
func (m *Member) Capabilities() Capabilities {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.capabilities
	l.Omit = slices.Clone(l.Omit)
	return l
}

// learn changes the capabilities.
func (m *Member) learn(change func(*Capabilities)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(&m.capabilities)
}

// Probe asks one question. A server that has not told yet what it is, is asked
// that first; while it cannot be, that is the result. A panic of ours is a failed probe:
// it must not end the probing of all others.
func (m *Member) Probe(ctx context.Context, q Question) (r *Result) {
	start := time.Now()
	defer func() {
		if p := recover(); p != nil {
			r = m.Unreached(start, panicked(p))
		}
		m.rest(r)
	}()
	if err := m.Prepare(ctx); err != nil {
		return m.Unreached(start, err)
	}
	before := m.Capabilities().Omit
	for again := true; again; again = m.learnRejected(r) {
		r = m.ready().probe(ctx, m.fill(q))
	}
	if refused(r) { // whatever it complains of, it is not these fields
		m.learn(func(l *Capabilities) { l.Omit = before })
	}
	if r.Status == http.StatusNotFound {
		m.doubt()
	}
	m.learnFrom(r, q.Ask.MaxTokens)
	return r
}

// doubt forgets what was found out and not configured: a server that does not know
// the path or the model any more may be another one.
func (m *Member) doubt() {
	m.learn(func(l *Capabilities) {
		if m.target.Dialect == nil || m.model == "" {
			*l = Capabilities{Dialect: m.target.Dialect, Server: m.target.Server, Model: m.model}
		}
	})
}

// Prepare finds out what the server is, unless that is known. A server that
// answers but does not tell is taken for one of openai-chat.
func (m *Member) Prepare(ctx context.Context) error {
	known := m.Capabilities()
	if known.Dialect != nil && known.Model != "" {
		return nil
	}
	found, err := m.Discover(ctx)
	if err == nil || !assumable(err) {
		return err
	}
	m.learn(func(l *Capabilities) {
		l.Dialect, l.Server, l.Model, l.Asked = cmp.Or(found.Dialect, assumed), found.Server, found.Model, true
	})
	return nil
}

// Introduce asks a server whose dialect and model are configured what it is, unless
// that was done: its type and the length of its context are worth to be known. It is
// probed whatever it says.
func (m *Member) Introduce(ctx context.Context) {
	if known := m.Capabilities(); known.Dialect != nil && known.Model != "" && !known.Asked {
		_, _ = m.Discover(ctx) // what keeps it from answering shows in the probes
	}
}

// assumable reports whether a server that could not be asked what it is may be
// probed all the same: it answered, and did not refuse our credentials. Some
// have no model list, and need no model.
func assumable(err error) bool {
	u, ok := errors.AsType[undiscovered](err)
	return ok && u.verdict.outcome == Rejected &&
		u.verdict.status != http.StatusUnauthorized && u.verdict.status != http.StatusForbidden
}

// Discover asks the server what it is, whether or not that is known, and learns
// it.
func (m *Member) Discover(ctx context.Context) (Findings, error) {
	found, err := m.target.Discover(ctx, m.model)
	if err == nil {
		m.learn(func(l *Capabilities) {
			l.Dialect, l.Server, l.Version, l.Model = found.Dialect, found.Server, found.Version, found.Model
			l.Context, l.Asked = found.Context(), found.Reached
		})
	}
	return found, err
}

// Unreached is the result of a probe that could not be asked because of err,
// which is [Member.Discover]'s.
func (m *Member) Unreached(start time.Time, err error) *Result {
	return m.target.Unreached(start, m.Capabilities().Model, err)
}

// Close closes the connections that nobody uses.
func (m *Member) Close() { m.target.Transport.Close() }

// Tokenize asks the server for the tokens of a question. None means that it has
// no route for that.
func (m *Member) Tokenize(ctx context.Context, ask wire.Ask) (wire.Tokenized, error) {
	if err := m.Prepare(ctx); err != nil {
		return wire.Tokenized{}, err
	}
	tokens, err := m.ready().Tokenize(ctx, m.fill(Question{Ask: ask}).Ask)
	if errors.Is(err, ErrTooLong) {
		if context, _ := wire.TooLong([]byte(err.Error())); context > 0 {
			m.learn(func(l *Capabilities) { l.Context = context })
		}
	}
	if err == nil {
		m.learn(func(l *Capabilities) { l.Tokenizes = claim(tokens.N > 0) })
	}
	return tokens, err
}

// ready is the target with the dialect that was found.
func (m *Member) ready() Target {
	t := m.target
	t.Dialect = m.Capabilities().Dialect
	return t
}

// fill completes a question with what was learnt.
func (m *Member) fill(q Question) Question {
	known := m.Capabilities()
	q.Ask.Model, q.Ask.Version, q.Ask.Server, q.Ask.Omit = known.Model, m.target.Version, known.Server, known.Omit
	q.Ask.Priority = m.target.Priority
	q.Expect.ExactLimit, q.Expect.ExactOutput = known.ExactLimit, known.ExactOutput
	return q
}

// learnRejected reports whether to ask again: the server rejected the very first
// question because of fields that it does not know, and has not been asked
// without them. Once it has answered, nothing is asked twice.
func (m *Member) learnRejected(r *Result) bool {
	known := m.Capabilities()
	if !refused(r) || known.Answered {
		return false
	}
	named := wire.Rejected(known.Dialect, r.rejected, known.Omit)
	if len(named) == 0 {
		return false
	}
	m.learn(func(l *Capabilities) { l.Omit = append(l.Omit, named...) })
	return true
}

// refused reports whether the server says that it cannot use the request.
func refused(r *Result) bool {
	return r.Status == http.StatusBadRequest || r.Status == http.StatusUnprocessableEntity
}

// learnFrom takes the capabilities of a result. A server that marks usage on every
// frame knows the extensions of vLLM's family; one answer of exactly the length
// asked, ended for its length, shows that it obeys them.
func (m *Member) learnFrom(r *Result, maxTokens int) {
	m.learn(func(l *Capabilities) {
		if s := r.gateway; s.Name != "" && m.target.Server.Name == "" && s.Name != l.Server.Name {
			l.Server, l.Version = s, ""
		}
		if context, _ := wire.TooLong(r.rejected); context > 0 {
			l.Context = context
		}
		l.Unlimited = errors.Is(r.Err, ErrUnlimited) || l.Unlimited && r.Outcome != OK
	})
	if r.Outcome != OK {
		return
	}
	exact := r.Usage.Generated() == wire.Tokens(maxTokens) && wire.EndingOf(r.Finish) == wire.AtLimit
	obeys := r.Source == FromUsage && exact
	m.learn(func(l *Capabilities) {
		l.Answered = true
		forced := l.sends(wire.FieldIgnoreEOS)
		l.ExactOutput = l.ExactOutput || obeys && forced
		l.ExactLimit = l.ExactLimit || exact
		if l.Continuous != wire.Always {
			l.Continuous = claim(r.Source == FromUsage)
		}
		if r.Usage.Cached.Known || l.Cached == "" {
			l.Cached = claim(r.Usage.Cached.Known)
		}
	})
}
