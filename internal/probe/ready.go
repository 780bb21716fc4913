package probe

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// readyInterval is between two looks at a server that is not ready.
const readyInterval = time.Second

// Ready reports whether the server says that it can answer: it answers for its
// models, if only by refusing to, and its health check is fine, if it has one that
// we may ask. Where no model is given, a list without any says that the first one
// is still to come (Ollama pulls, KServe loads). The models come first, since they
// tell what kind of server it is, and a kind's health check may cost its owner
// money.
func (t Target) Ready(ctx context.Context, model string) bool {
	e, err := t.evidence(ctx)
	if err != nil && !refusal(err) {
		return false
	}
	kind := t.Server
	if kind.Name == "" {
		kind, _ = wire.Recognize(e)
	}
	if _, sick := t.ask(ctx, http.MethodGet, kind.HealthPath(), nil); sick != nil && !refusal(sick) {
		return false
	}
	models, err := t.models(ctx, kind, e, err)
	return model != "" || err != nil || len(models) > 0
}

// Hold makes the member's slots be skipped, as [SkipWaiting], until
// [Member.Admit].
func (m *Member) Hold() { m.set(&m.waiting, true) }

// Admit ends the waiting.
func (m *Member) Admit() { m.set(&m.waiting, false) }

// Drain makes the member's slots be skipped, as [SkipDraining], or ends that.
func (m *Member) Drain(on bool) { m.set(&m.draining, on) }

func (m *Member) set(flag *bool, on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*flag = on
}

// Held is why the member's slots are skipped; ok is false if they are not.
func (m *Member) Held() (reason Skip, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.draining:
		return SkipDraining, true
	case m.waiting:
		return SkipWaiting, true
	}
	return "", false
}

// Waits reports whether the server is still waited for, while it drains as well.
func (m *Member) Waits() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting
}

// errNotReady says that a server was not ready in time.
var errNotReady = errors.New("not ready in time")

// Await returns when the server is ready, or why it is not: limit is over, or ctx
// is done.
func (m *Member) Await(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errNotReady)
	defer cancel()
	again := time.NewTicker(readyInterval)
	defer again.Stop()
	for !m.target.Ready(ctx, m.model) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
	}
	return nil
}
