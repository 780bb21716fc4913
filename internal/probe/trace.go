package probe

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync"
	"time"
)

// A stage is what a request was doing.
type stage int

// The stages, in their order.
const (
	dialing stage = iota
	resolving
	connecting
	handshaking
	writing
	waiting
)

// A trace watches one request up to its answer. net/http calls it from several
// goroutines.
type trace struct {
	start time.Time

	mu     sync.Mutex
	now    stage
	began  map[stage]time.Time
	phases Phases
	conn   answering
}

func newTrace(start time.Time) *trace {
	return &trace{start: start, began: map[stage]time.Time{}}
}

// withTrace returns a context whose request t watches.
func withTrace(ctx context.Context, t *trace) context.Context {
	return httptrace.WithClientTrace(ctx, t.hooks())
}

// hooks returns what net/http is to call.
func (t *trace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		DNSStart:          func(httptrace.DNSStartInfo) { t.enter(resolving) },
		DNSDone:           func(i httptrace.DNSDoneInfo) { t.leave(resolving, &t.phases.DNS, i.Err) },
		ConnectStart:      func(string, string) { t.enter(connecting) },
		ConnectDone:       func(_, _ string, err error) { t.leave(connecting, &t.phases.Connect, err) },
		TLSHandshakeStart: func() { t.enter(handshaking) },
		TLSHandshakeDone:  func(_ tls.ConnectionState, err error) { t.leave(handshaking, &t.phases.TLS, err) },
		GotConn:           t.gotConn,
		WroteRequest:      t.wrote,
	}
}

// enter begins a stage. Of several addresses dialled side by side the first
// counts.
func (t *trace) enter(s stage) {
	at := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.began[s]; !ok {
		t.began[s] = at
	}
	t.now = max(t.now, s)
}

// leave ends a stage that went well.
func (t *trace) leave(s stage, length *time.Duration, err error) {
	at := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if began, ok := t.began[s]; ok && err == nil && *length == 0 {
		*length = at.Sub(began)
	}
}

func (t *trace) gotConn(info httptrace.GotConnInfo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = writing
	t.phases.Reused = info.Reused
	t.conn = answeringOn(info.Conn)
}

func (t *trace) wrote(info httptrace.WroteRequestInfo) {
	at := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if info.Err == nil {
		t.now = waiting
		t.phases.Wrote = at.Sub(t.start)
	}
}

// answered notes that the response header was read just now.
func (t *trace) answered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.phases.Header = t.conn.follower.Header().At.Sub(t.start)
}

// abandon closes the connection of a request that failed: that of HTTP/2 would stay, with
// a stream that nobody waits for.
func (t *trace) abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn.socket != nil {
		_ = t.conn.socket.Close()
	}
}

// refused is the number of time stamps of the kernel that were not believed.
func (t *trace) refused() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn.socket == nil {
		return 0
	}
	return t.conn.socket.Refused() - t.conn.refused
}

// so returns what was seen so far. A request that net/http still writes goes on
// without us: what it says later changes nothing here.
func (t *trace) so() (Phases, stage) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.phases, t.now
}
