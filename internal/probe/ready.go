package probe

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// readyInterval is between two looks at a server that is not ready.
const readyInterval = time.Second

// healthPath is where most servers say whether they can answer: vLLM, SGLang, TGI,
// llama-server, TensorRT-LLM.
const healthPath = "/health"

// Ready reports whether the server says that it can answer: its health check is
// fine or, where it has none that we may ask, it answers for its models.
func (t Target) Ready(ctx context.Context) bool {
	_, err := t.ask(ctx, http.MethodGet, healthPath, nil)
	if err == nil {
		return true
	}
	if !refusal(err) {
		return false
	}
	_, err = t.evidence(ctx)
	return err == nil || refusal(err)
}

// Hold makes the member wait: its slots are skipped until [Member.Admit].
func (m *Member) Hold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = true
}

// Admit ends what [Member.Hold] began.
func (m *Member) Admit() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = false
}

// Held reports whether the member waits.
func (m *Member) Held() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.held
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
	for !m.target.Ready(ctx) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
	}
	return nil
}
