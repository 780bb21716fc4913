package daemon

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/testing/memconn"
)

// A network is simulated servers by host, in memory and in virtual time. It knows no other hosts.
type network struct {
	t     *testing.T
	names []string // of the hosts
	hosts map[string]*host
}

// A host is a simulated server with the profile "fast". It may refuse connections, or answer in another way.
type host struct {
	simulator *sim.Server
	listener  *memconn.Listener

	mu      sync.Mutex // guards all below
	refuses bool
	answer  answerer      // nil: the simulated server answers everything
	last    *http.Request // nil: none came
}

// An answerer answers a request and returns true, or leaves it to the simulated server.
type answerer func(w http.ResponseWriter, r *http.Request) bool

// newNetwork serves simulated servers until the end of the test.
func newNetwork(t *testing.T, hosts ...string) *network {
	t.Helper()
	profile, err := sim.ParseProfile("fast")
	if err != nil {
		t.Fatal(err)
	}
	n := &network{t: t, names: hosts, hosts: map[string]*host{}}
	for _, name := range hosts {
		h := &host{simulator: sim.New(sim.Config{Profile: profile, Seed: 1})}
		h.listener = memconn.Serve(t, http.HandlerFunc(h.serve))
		t.Cleanup(h.simulator.Close)
		n.hosts[name] = h
	}
	return n
}

// serve notes a request and answers it.
func (h *host) serve(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.last = r.Clone(r.Context())
	answer := h.answer
	h.mu.Unlock()
	if answer == nil || !answer(w, r) {
		h.simulator.ServeHTTP(w, r)
	}
}

// dial is a [probe.Dial].
func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	h, ok := n.hosts[strings.TrimSuffix(address, ":80")]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: address, IsNotFound: true}
	}
	h.mu.Lock()
	refuses := h.refuses
	h.mu.Unlock()
	if refuses {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return h.listener.Dial(ctx, "", "")
}

// refuse makes a host refuse connections, until accept.
func (n *network) refuse(name string) { n.change(name, func(h *host) { h.refuses = true }) }

// accept makes a host accept connections again.
func (n *network) accept(name string) { n.change(name, func(h *host) { h.refuses = false }) }

// answer makes a host accept connections, and gives an answerer its requests first; nil ends that.
func (n *network) answer(name string, by answerer) {
	n.change(name, func(h *host) { h.refuses, h.answer = false, by })
}

func (n *network) change(name string, change func(*host)) {
	h := n.hosts[name]
	h.mu.Lock()
	defer h.mu.Unlock()
	change(h)
}

// fault makes the simulated server of a host fail.
func (n *network) fault(name string, f sim.Fault) {
	n.t.Helper()
	if err := n.hosts[name].simulator.SetFault(f); err != nil {
		n.t.Fatal(err)
	}
}

// sent returns what the simulated server of a host answered.
func (n *network) sent(name string) []sim.Sent { return n.hosts[name].simulator.Sent() }

// expectLastRequest expects the host that was asked for last, and the key of that request.
func (n *network) expectLastRequest(name, wantHost, wantKey string) {
	n.t.Helper()
	n.change(name, func(h *host) {
		if h.last == nil || h.last.Host != wantHost || h.last.Header.Get("Authorization") != wantKey {
			n.t.Errorf("the last request to %s: %+v, want one for %s with %q", name, h.last, wantHost, wantKey)
		}
	})
}

// loads answers as a server that listens, and still loads its model.
func loads(w http.ResponseWriter, _ *http.Request) bool {
	http.Error(w, "loading", http.StatusServiceUnavailable)
	return true
}
