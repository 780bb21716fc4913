package probe

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// Prepare finds out what the server is, unless that is known. A server that answers but does not say is assumed to
// be one of openai-chat: some have no model list, and need no model.
func (m *Member) Prepare(ctx context.Context) error {
	known := m.Capabilities()
	if known.Dialect != nil && (known.Model != "" || known.Answered) && !known.Stale {
		return nil
	}
	found, _, err := m.target.Discover(ctx, m.model)
	v, _ := errors.AsType[verdict](err)
	mayAnswer := v.outcome == Rejected || errors.Is(err, ErrLogin) // probes, though not this request
	isCertain := !mayAnswer || isOfPort(err) || errors.Is(err, ErrNoModel)
	if err != nil && isCertain && !m.MayAnswer(err) {
		return err
	}
	if found.NoModel && known.Dialect != nil { // what was known of it is right again once it has a model
		m.learn(func(c *Capabilities) { c.NoModel = true })
		return nil
	}
	m.learnFindings(found)
	return nil
}

// Configured reports whether a probe needs to ask the server nothing before.
func (m *Member) Configured() bool { return m.target.Dialect != nil && m.model != "" }

// MayAnswer reports whether a probe may be answered although the server could not be asked what it is: a probe needs
// nothing of that, and the error is not one that it would get as well.
func (m *Member) MayAnswer(err error) bool { return m.Configured() && !isOfPort(err) }

// Introduce finds out what the server is, where that is not known, and where all that a probe needs is configured,
// too, once. The error says that it does not answer.
func (m *Member) Introduce(ctx context.Context) error {
	known := m.Capabilities()
	if !m.Configured() || known.Asked {
		return m.Prepare(ctx)
	}
	_, err := m.Discover(ctx)
	if isRejection(err) && !isOfPort(err) {
		return nil
	}
	return err
}

// Discover asks the server what it is, whether or not that is known, learns it, and returns the models it lists.
func (m *Member) Discover(ctx context.Context) ([]wire.Model, error) {
	found, models, err := m.target.Discover(ctx, m.model)
	if err == nil {
		m.learnFindings(found)
	}
	return models, err
}

// learnFindings notes what the server is. What was learned of another one before does not hold any more.
func (m *Member) learnFindings(found Findings) {
	m.learn(func(c *Capabilities) {
		if c.Stale {
			*c = Capabilities{}
		}
		found.Limits = found.Or(c.Limits) // a rejection may have named them
		c.Findings, c.Looked = found, time.Now()
	})
}

// Unreached returns the result of a probe that was not sent because of err, which is that of [Member.Discover].
func (m *Member) Unreached(start time.Time, err error) *Result {
	r := m.target.newResult(m.Capabilities().Model)
	r.Start, r.Elapsed = start, time.Since(start)
	r.Outcome, r.Err, r.Source, r.Cache = ServerError, err, FromNothing, CacheUnknown
	v, ok := errors.AsType[verdict](err)
	if ok {
		r.Outcome, r.Status, r.RetryAfter, r.CertExpiry = v.outcome, v.status, v.retry, v.expiry
	}
	return r
}

// Failed does what [Member.Unreached] does, for a probe that was due: a pause that the server asked for is kept.
func (m *Member) Failed(start time.Time, err error) *Result {
	r := m.Unreached(start, err)
	m.pause(r)
	return r
}

// LookAgain asks the server for its type, version and model again, unless it was asked less than age ago. If one of
// them has changed, it forgets all else that was learned. What the server does not say is taken to be as before.
func (m *Member) LookAgain(ctx context.Context, age time.Duration) {
	known := m.Capabilities()
	neverReached := known.Looked.IsZero() && !known.Answered // all is configured, and the server was not there at start
	if known.Dialect == nil || neverReached || time.Since(known.Looked) < age {
		return
	}
	m.learn(func(c *Capabilities) { c.Looked = time.Now() })
	found, models, err := m.target.Discover(ctx, m.model)
	if err != nil {
		return
	}
	isKnown := func(model wire.Model) bool { return model.ID == known.Model }
	i := slices.IndexFunc(models, isKnown)
	if i >= 0 && found.Model != known.Model { // it is not the first of the list any more
		found.Model, found.Limits = known.Model, models[i].Limits
	}
	if found.Server.Name == "" { // a gateway names itself in answers only
		found.Server, found.Dialect, found.Version = known.Server, known.Dialect, known.Version
	}
	if found.sameServer(known.Findings) {
		return
	}
	m.learn(func(c *Capabilities) { c.Stale = true })
	m.learnFindings(found)
}

// lookAfterChange asks the server again what it is after the first answer that follows a failure, or that another model
// gave: it may have been restarted with another one, and some servers take every model's name for theirs. Then the
// answer is of that model.
func (m *Member) lookAfterChange(ctx context.Context, r *Result) {
	mayHaveEnded := []Outcome{DNS, Connect, TLS, Timeout, Stalled, Overloaded, ServerError, Truncated, Empty}
	if slices.Contains(mayHaveEnded, r.Outcome) {
		m.learn(func(c *Capabilities) { c.Doubted = true })
	}
	if r.Outcome != OK {
		return
	}
	known := m.Capabilities()
	isNamed := r.answeredBy != "" && known.AnsweredBy != ""
	isOther := isNamed && r.answeredBy != known.AnsweredBy && m.model == ""
	if known.Doubted || isOther {
		m.LookAgain(ctx, 0)
		if m.model == "" {
			r.Model = cmp.Or(m.Capabilities().Model, r.Model)
		}
	}
	m.learn(func(c *Capabilities) {
		c.AnsweredBy = cmp.Or(r.answeredBy, c.AnsweredBy)
		c.Doubted = false
	})
}

// sameServer reports whether type, API, version and model are as before.
func (f Findings) sameServer(before Findings) bool {
	return f.Server.Name == before.Server.Name && f.Dialect == before.Dialect &&
		f.Version == before.Version && f.Model == before.Model
}
