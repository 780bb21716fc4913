package probe

import (
	"context"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// contradictions is how many answers in a row must contradict what was learned of a server for it to be asked again.
const contradictions = 3

// unlearn makes the server be asked again what it is, and be asked with all fields again, if answers in a row contradict what
// others have shown: another server may be there, or another version.
func (c *Capabilities) unlearn(r *Result, maxTokens int) {
	switch {
	case r.Outcome == OK:
		c.Contradicted = 0
	case c.contradicts(r, maxTokens):
		c.Contradicted++
	}
	if c.Contradicted >= contradictions {
		c.Stale = true
	}
}

// contradicts reports whether a server that has answered such requests rejects one, or one that obeyed the length of answers
// does not.
func (c *Capabilities) contradicts(r *Result, maxTokens int) bool {
	if refused(r) {
		return c.Answered
	}
	output := r.Usage.Generated()
	exact := c.ExactLimit || c.ExactOutput
	return r.Outcome == WrongLength && exact && output.Known && output.N != maxTokens
}

// LookAgain asks the server for its type, version and model again, if it was asked longer ago than an age. If one of them has
// changed, nothing else that was learned holds any more. A server that does not tell is taken to be as before.
func (m *Member) LookAgain(ctx context.Context, age time.Duration) {
	known := m.Capabilities()
	never := known.Looked.IsZero() // all that a probe needs is configured, and it was not there when it was to be asked
	if known.Dialect == nil || never && !known.Answered || time.Since(known.Looked) < age {
		return
	}
	m.learn(func(c *Capabilities) { c.Looked = time.Now() })
	found, models, err := m.target.Discover(ctx, m.model)
	if err != nil {
		return
	}
	isKnown := func(model wire.Model) bool { return model.ID == known.Model }
	if i := slices.IndexFunc(models, isKnown); i >= 0 && found.Model != known.Model { // it is not the first of the list any more
		found.Model, found.Context = known.Model, models[i].MaxLen
	}
	if found.Server.Name == "" { // a gateway tells its name in answers only
		found.Server, found.Dialect, found.Version = known.Server, known.Dialect, known.Version
	}
	if found.sameServer(known.Findings) {
		return
	}
	m.learn(func(c *Capabilities) { c.Stale = true })
	m.learnFindings(found)
}

// sameServer reports whether type, API, version and model are as before.
func (f Findings) sameServer(before Findings) bool {
	return f.Server.Name == before.Server.Name && f.Dialect == before.Dialect && f.Version == before.Version && f.Model == before.Model
}
