package probe

import (
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"net/http"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/wire"
)

// A Member is a target in a group and what is known of its server. It is safe for concurrent use.
type Member struct {
	target Target
	model  string // configured; empty to take one that the server lists

	mostInFlight int     // probes at a time, at least 1
	Budget       *Budget // not to be changed once probes have begun

	// What the owner of the member sets, at any time. If several hold, [Member.Skipping] says which counts.
	Disabled atomic.Bool // it has no slots: nothing is sent, and nothing is skipped
	Draining atomic.Bool // its slots are skipped as [SkipDraining]
	Waiting  atomic.Bool // its slots are skipped as [SkipWaiting]
	Missing  atomic.Bool // the last lookup of its host lacked its address; it is probed all the same

	mu          sync.Mutex // guards all below
	inFlight    []*flight  // oldest first
	known       server.Knowledge
	askedAt     time.Time // when the server was asked last what it is; zero: never
	pausedUntil time.Time // end of the pause that the server asked for; zero: none
	failing     bool      // see [Member.Failing]
	sane        sanity    // what its answers have shown

	// warmed has the hash of the last text for a warm cache that was answered, by the name of the prompt: see
	// [Member.sentBefore].
	warmed map[string][sha256.Size]byte
}

// NewMember returns a member of at most inFlight probes at once. Its server is asked for what the target leaves open:
// an empty model, and the API if neither that nor the type of the server is given.
func NewMember(t Target, model string, inFlight int) *Member {
	given := server.Identity{Dialect: t.Dialect, Type: t.Server, Model: model}
	if t.Server.Name != "" {
		given.Dialect = t.dialectOf(t.Server)
	}
	return &Member{
		target: t, model: model, mostInFlight: inFlight, Budget: new(Budget), known: server.Knowledge{Identity: given},
	}
}

// Inherit takes over what old knew of the same server. A pause that the server asked for is one of its client: it is
// taken over only if both ask with the same credentials.
func (m *Member) Inherit(old *Member, sameClient bool) {
	old.mu.Lock()
	known, askedAt, pausedUntil, sane := old.known, old.askedAt, old.pausedUntil, old.sane
	old.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = known
	m.sane = sane
	if sameClient { // else the server is asked what it is: another client may use other models
		m.askedAt, m.pausedUntil = askedAt, pausedUntil
	}
	m.Waiting.Store(m.Waiting.Load() && old.Waiting.Load())
}

// Name returns the target's name.
func (m *Member) Name() string { return m.target.Name }

// Close closes idle connections.
func (m *Member) Close() { m.target.Transport.Close() }

// Probes.

// ProbeWithinBudget asks one question, if the day's tokens allow that: ok is false if they do not. What was never sent
// costs nothing.
func (m *Member) ProbeWithinBudget(ctx context.Context, q Question) (r *Result, ok bool) {
	tokens := q.cost() + q.Ask.MaxTokens
	day, ok := m.Budget.Reserve(time.Now(), tokens, m.target.DayLimit)
	if !ok {
		return nil, false
	}
	r = m.Probe(ctx, q)
	wasNotSent := r.NotSent || r.Status == 0 && r.Timeline.Phases.Wrote == 0
	if wasNotSent {
		m.Budget.Return(day, tokens)
	}
	return r, true
}

// Probe asks one question. If too little is known of the server, it is asked what it is first, and a token is fetched
// if the probe needs one. If such a request fails, the failure is the result.
func (m *Member) Probe(ctx context.Context, q Question) (r *Result) {
	start := time.Now()
	defer func() { m.noteResult(r) }()
	defer m.survive(&r, start) // before the result is noted
	err := m.ensureToken(ctx)
	if err == nil {
		err = m.identifyForRequest(ctx)
	}
	if err != nil {
		return m.UnsentResult(start, err)
	}
	q.began = start
	q.Expect.SentBefore = m.sentBefore(q)
	r, answer := m.ask(ctx, q)
	m.noteWording(r)

	before := m.Knowledge()
	m.learn(answer)
	if r.Outcome == OK && q.warm() {
		m.noteWarm(q)
	}
	if before.MayBeOther(answer) {
		_, _ = m.Identify(ctx, 0) // what is known of it holds until it says something else
		now := m.Knowledge().Model
		if m.model == "" && now != "" {
			r.Model = now // the server has answered by the model that it has now, whatever it was asked for
		}
	}
	if m.target.Tokens != nil {
		m.target.Tokens.renew(ctx) // after the probe, so that the next one need not wait for it
	}
	return r
}

// ask sends a question and returns the result, and what that shows of the server.
//
// A server may reject fields that it does not know. As long as it has answered nothing, it is asked again without them
// in the same slot. Once it has, a rejection is one more contradiction, except for fields that another probe in flight
// has found out to be rejected.
func (m *Member) ask(ctx context.Context, q Question) (*Result, server.Answer) {
	var newlyOmitted []wire.Field
	for {
		target, asked := m.fill(q)
		r := target.probe(ctx, asked)
		target.noteAuthorization(r.Status)
		var rejected []wire.Field
		if isRefused(r) {
			rejected = wire.Rejected(target.Dialect, r.rejected, asked.Ask.Omit)
		}
		rejected = slices.DeleteFunc(rejected, asked.Ask.Body.Sets) // they would be sent again
		known := m.learn(server.Rejection{Fields: rejected})
		again := false
		for _, f := range rejected {
			if slices.Contains(known.Omit, f) {
				newlyOmitted = append(newlyOmitted, f)
				again = true
			}
		}
		if !again {
			answer := m.answerOf(r, asked)
			answer.NewlyOmitted = newlyOmitted
			return r, answer
		}
	}
}

// fill completes a question, and the target that it is asked of, by what is known of the server.
func (m *Member) fill(q Question) (Target, Question) {
	t := m.target.authorized()
	q.known = m.Knowledge()
	q.wasSane = m.wasSane(q.known.Model)
	q.isListed = m.model == ""
	t.Dialect = q.known.Dialect
	q.Ask.Model = q.known.Model
	q.Ask.Version = t.Version
	q.Ask.Server = q.known.Type
	q.Ask.Omit = q.known.Omit
	q.Ask.Priority = t.Priority
	q.Ask.Body = t.Body
	return t, q
}

// isRefused reports whether the server rejected the request as invalid: by its status, within a stream that had begun,
// or as a failure of its own, if it is written in Python and did not know an argument.
func isRefused(r *Result) bool {
	switch r.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return true
	case http.StatusOK:
		return r.Outcome == Rejected
	}
	return r.Status >= http.StatusInternalServerError && wire.UnknownArgument(r.rejected)
}

// answerOf returns what a result shows of the server. Limits are read from all that the server wrote: the text of the
// error may be shortened.
func (m *Member) answerOf(r *Result, asked Question) server.Answer {
	isConfigured := m.target.Dialect != nil && m.model != ""
	limits, _ := wire.TooLong(r.rejected)
	staysOpen := r.closing == leftOpen || r.closing == endMissing
	a := server.Answer{
		OK:          r.Outcome == OK,
		Refused:     isRefused(r),
		NotFound:    r.Status == http.StatusNotFound && !isConfigured,
		WrongLength: r.Outcome == WrongLength,
		Ended:       r.Outcome.AsIfEnded(),

		MaxTokens:  asked.Ask.MaxTokens,
		Words:      asked.Words,
		SentBefore: r.sentBefore,
		Unsalted:   asked.Ask.CacheSalt == "",
		Omitted:    asked.Ask.Omit,
		MayBeShort: asked.Ask.MayEndEarly(),

		Usage:           r.Usage,
		Finish:          r.Finish,
		ContinuousUsage: r.Source == FromUsage,
		CacheApart:      r.cacheApart,
		Limits:          limits,
		Unlimited:       r.Reason == ReasonAnswerBeyondLimit,
		LeftOpen:        m.target.Transport.route.Reuse && staysOpen,
	}
	if m.target.Server.Name == "" {
		a.Gateway = r.gateway
	}
	if m.model == "" {
		a.Model = r.answeredBy
	}
	return a
}

// sentBefore reports whether the server should find the beginning of q in its cache, because it had been sent it: as
// the prompt for a warm cache that was answered last, or as an earlier round of the same session.
func (m *Member) sentBefore(q Question) bool {
	if q.Ask.Session != "" {
		return slices.ContainsFunc(q.Ask.Turns, func(t wire.Turn) bool { return t.Role == "assistant" })
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	last, ok := m.warmed[q.prompt()]
	return q.warm() && ok && last == sha256.Sum256([]byte(q.Ask.Prompt))
}

// noteWarm notes the prompt for a warm cache that was answered last.
func (m *Member) noteWarm(q Question) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.warmed == nil {
		m.warmed = map[string][sha256.Size]byte{}
	}
	m.warmed[q.prompt()] = sha256.Sum256([]byte(q.Ask.Prompt))
}

// UnsentResult returns the result of a probe that was not sent because of err, which is that of [Member.Identify] or of
// [Member.Tokenize].
func (m *Member) UnsentResult(start time.Time, err error) *Result {
	r := m.target.newResult(m.Knowledge().Model)
	r.Start, r.Elapsed = start, time.Since(start)
	v, ok := errors.AsType[verdict](err)
	if !ok {
		v = failure(ServerError, ReasonInternalError, "")
	}
	v.err = errors.New(err.Error()) // a result's error wraps nothing
	r.end(v)
	r.Status, r.CertExpiry = v.status, v.expiry
	r.NotSent = v.outcome != Canceled
	if r.Reason == ReasonRequestRejected { // that request was not the probe's
		r.Reason = ReasonNoListOfModels
	}
	return r
}

// FailedSlot does what [Member.UnsentResult] does for a probe that was due: a pause that the server asked for is taken.
func (m *Member) FailedSlot(start time.Time, err error) *Result {
	r := m.UnsentResult(start, err)
	m.noteResult(r)
	return r
}

// survive turns a panic of the prober into a probe that does not count, so that the others go on. The caller defers it.
func (m *Member) survive(r **Result, start time.Time) {
	p := recover()
	if p == nil {
		return
	}
	stack := debug.Stack()
	other, isOther := p.(panicValue)
	if isOther {
		p, stack = other.value, other.stack
	}
	*r = m.UnsentResult(start, failure(Canceled, "", "prober panicked, please report it: %v", p))
	(*r).Stack = stack
}

// Tokenize asks the server for the tokens of a prompt; none if it has no route for that.
func (m *Member) Tokenize(ctx context.Context, ask wire.Ask) (wire.Count, error) {
	err := m.ensureToken(ctx)
	if err == nil {
		err = m.identifyForRequest(ctx)
	}
	if err != nil {
		return wire.Count{}, err
	}
	target, q := m.fill(Question{Ask: ask})
	tokens, err := target.Tokenize(ctx, q.Ask)
	v, _ := errors.AsType[verdict](err)
	seen := server.Tokenization{Limits: v.limits}
	switch {
	case err == nil && tokens.Known:
		seen.Counts = wire.Always
	case err == nil:
		seen.Counts = wire.Never
	}
	m.learn(seen)
	return tokens, err
}

// What the server is.

// Knowledge returns what is known of the server.
func (m *Member) Knowledge() server.Knowledge {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known
}

// learn takes what was observed of the server, and returns what is known after it.
func (m *Member) learn(o server.Observation) server.Knowledge {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = m.known.After(o)
	return m.known
}

// AnyAge is the age for [Member.Identify] that nothing reaches: then a server is asked once, and again only if it was
// not reached, if too little is known of it for a probe, or if what is known is in doubt.
const AnyAge time.Duration = math.MaxInt64

// Identify asks the server what it is: its type and version, its API, and its models. It does so if this client has not
// asked it yet, if it was not reached then, if too little is known for a probe, or if it was asked maxAge ago or
// earlier. What it says, and what it is taken for if it does not say, is known from then on.
//
// Identify returns the models that the server lists; none if it was not asked. The error says why API or model are not
// known, that nothing can be asked at this port, or that there is no token to ask with. A probe may be answered in
// spite of it: see [MayAnswer]. If API and model are configured, a probe needs nothing of the server but the token, and
// there is no other error whatever it says.
func (m *Member) Identify(ctx context.Context, maxAge time.Duration) ([]wire.Model, error) {
	m.mu.Lock()
	known := m.known
	isUnknown := m.askedAt.IsZero() || !known.Identified || !known.Suffices()
	isDue := isUnknown || time.Since(m.askedAt) >= maxAge
	if isDue {
		m.askedAt = time.Now() // now, so that nobody asks meanwhile only for the age
	}
	m.mu.Unlock()
	if !isDue {
		return nil, nil
	}
	err := m.ensureToken(ctx)
	if err != nil {
		return nil, err
	}
	before := known.Model
	if known.Stale { // it may be why probes fail
		before = ""
	}
	target := m.target.authorized()
	found, models, err := target.identify(ctx, m.model, before)
	v, _ := errors.AsType[verdict](err)
	target.noteAuthorization(v.status)
	found.Assumed = err != nil
	if MayAnswer(err) {
		m.learn(found)
	}
	return models, err
}

// MayAnswer reports whether a server may answer probes after [Member.Identify] returned err: there was no error, or the
// server refuses to say what it is, or has no list of models. Some servers need no model. It will not answer if it has
// said that it has no model, or if the request failed for how it reached the port.
func MayAnswer(err error) bool {
	if err == nil {
		return true
	}
	v, _ := errors.AsType[verdict](err)
	isRefusal := v.outcome == Rejected || v.reason.isLogin()
	return isRefusal && !v.reason.isOfPort() && v.reason != ReasonNoModelLoaded
}

// identifyForRequest asks the server what it is if too little is known to send it a request. The error says why none
// can be answered.
func (m *Member) identifyForRequest(ctx context.Context) error {
	if m.Knowledge().Suffices() {
		return nil
	}
	_, err := m.Identify(ctx, AnyAge)
	if MayAnswer(err) {
		return nil
	}
	return err
}

// Await asks each second until the server is ready. It returns an error once limit is over or ctx is done.
func (m *Member) Await(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	again := time.NewTicker(time.Second)
	defer again.Stop()
	for m.ensureToken(ctx) != nil || !m.target.authorized().isReady(ctx, m.model) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-again.C:
		}
	}
	return nil
}
