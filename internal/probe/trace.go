package probe

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/timing"
)

type stage int

const (
	dialing stage = iota
	resolving
	connecting
	handshaking
	writing
	waiting
)

// String returns when a failure happened, as the end of an error's text.
func (s stage) String() string {
	return [...]string{
		"while connecting", "while resolving the name", "while connecting", "during the TLS handshake",
		"while sending the request", "while waiting for the response header",
	}[s]
}

// A trace watches one request up to its answer. net/http calls it from several goroutines.
type trace struct {
	start time.Time
	watch *stream.Watch // nil if the connection need not look at its socket while it waits

	mu     sync.Mutex
	now    stage
	began  [waiting]time.Time
	phases timing.Phases
	conn   responseConn
}

// context returns a context of a request that t watches.
func (t *trace) context(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:          func(httptrace.DNSStartInfo) { t.enter(resolving) },
		DNSDone:           func(i httptrace.DNSDoneInfo) { t.leave(resolving, &t.phases.DNS, i.Err) },
		ConnectStart:      func(string, string) { t.enter(connecting) },
		ConnectDone:       func(_, _ string, err error) { t.leave(connecting, &t.phases.Connect, err) },
		TLSHandshakeStart: func() { t.enter(handshaking) },
		TLSHandshakeDone:  func(_ tls.ConnectionState, err error) { t.leave(handshaking, &t.phases.TLS, err) },
		GotConn: func(i httptrace.GotConnInfo) {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.now = writing
			t.phases.Reused = i.Reused
			t.conn = newResponseConn(i.Conn)
			t.watch.Begin(t.conn.socket, t.start)
		},
		WroteRequest: func(i httptrace.WroteRequestInfo) {
			at := time.Now()
			t.mu.Lock()
			defer t.mu.Unlock()
			if i.Err == nil {
				t.now = waiting
				t.phases.Wrote = at.Sub(t.start)
				t.phases.WroteUntil = t.phases.Wrote
			}
		},
	})
}

// enter begins a stage. Of several addresses dialled side by side the first counts.
func (t *trace) enter(s stage) {
	at := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.began[s].IsZero() {
		t.began[s] = at
	}
	t.now = max(t.now, s)
}

// leave ends a stage, and notes its length if it succeeded.
func (t *trace) leave(s stage, length *time.Duration, err error) {
	at := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	began := t.began[s]
	if !began.IsZero() && err == nil && *length == 0 {
		*length = at.Sub(began)
	}
}

// gotHeader notes that the response header was read just now, and returns the connection.
func (t *trace) gotHeader() responseConn {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.phases.Header = t.conn.body.Header().At.Sub(t.start)
	sent := t.conn.body.Sent()
	if t.phases.Wrote > 0 && sent.From.After(t.start) { // WroteRequest comes late, or before the last bytes
		t.phases.Wrote = sent.From.Sub(t.start)
		t.phases.WroteUntil = sent.Until.Sub(t.start)
	}
	return t.conn
}

// abandon closes the connection of a request that failed: HTTP/2 would keep it, with an open stream.
func (t *trace) abandon() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn.socket != nil {
		_ = t.conn.socket.Close()
	}
}

// state returns the phases so far, the stage, and how many of this answer's kernel timestamps were not believed.
func (t *trace) state() (p timing.Phases, now stage, rejected int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn.socket != nil {
		rejected = t.conn.socket.Rejected() - t.conn.rejectedBefore
	}
	return t.phases, t.now, rejected
}

// certExpiry returns when the server's certificates expire, whether or not it answered; zero if there was no handshake
// with it that succeeded.
func (t *trace) certExpiry() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn.secure == nil {
		return time.Time{}
	}
	return chainExpiry(t.conn.secure.ConnectionState())
}

// A responseConn is the connection that an answer arrives on, in its layers.
type responseConn struct {
	body   *stream.BodyTracker
	socket *stream.Conn
	secure *tls.Conn // the outermost, since another may lead to a proxy; nil without TLS

	rejectedBefore int // kernel timestamps of socket that were not believed before this request
}

// newResponseConn takes apart what [Route] dialled, beneath net/http's own TLS where a proxy is used.
func newResponseConn(c net.Conn) responseConn {
	var r responseConn
	for c != nil {
		switch layer := c.(type) {
		case *stream.Conn:
			r.socket = layer
			r.rejectedBefore = layer.Rejected()
			return r
		case *stream.BodyTracker:
			r.body = layer
		case *tls.Conn:
			if r.secure == nil {
				r.secure = layer
			}
		}
		c = c.(interface{ NetConn() net.Conn }).NetConn()
	}
	return r
}

// arrivals returns the last parameters of [stream.NewSSE]. TLS through a proxy hides the answer from the body tracker.
func (r responseConn) arrivals(resp *http.Response) (func(end int64) stream.Arrival, int) {
	size := 2048
	if r.body.Understands() {
		return r.body.Arrival, size
	}
	if slices.Contains(resp.TransferEncoding, "chunked") {
		size = 1
	}
	return func(int64) stream.Arrival { return r.socket.Last() }, size
}
