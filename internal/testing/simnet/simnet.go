// Package simnet is a network of simulated servers (package sim) in memory, for tests in virtual time
// (testing/synctest). Only tests import it. Start reading at [New].
//
// A route is a host, "a", or a host and a path, "a/tokenize".
package simnet

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/sim"
	"github.com/llm-prober/prober/internal/testing/memconn"
)

// A Network is servers by host. Its methods may be called from several goroutines.
type Network struct {
	t     testing.TB
	hosts map[string]*host // those of New and Serve

	mu       sync.Mutex // guards all below
	down     map[string]bool
	handlers map[string]http.HandlerFunc // by route
	requests map[string]int              // by host and path
	last     map[string]*http.Request    // by host
	open     int                         // connections that the client has not closed
}

type host struct {
	simulator *sim.Server
	listener  *memconn.Listener
}

// New serves a simulated server with the profile "fast" under each name until the end of the test.
func New(t testing.TB, hosts ...string) *Network {
	t.Helper()
	n := &Network{
		t: t, hosts: map[string]*host{}, down: map[string]bool{}, handlers: map[string]http.HandlerFunc{},
		requests: map[string]int{}, last: map[string]*http.Request{},
	}
	for _, name := range hosts {
		n.Serve(name, "fast")
	}
	return n
}

// Serve adds a simulated server with the profile of a name, before anybody uses the network.
func (n *Network) Serve(name, profile string) {
	n.t.Helper()
	p, err := sim.ParseProfile(profile)
	if err != nil {
		n.t.Fatal(err)
	}
	n.ServeProfile(name, p)
}

// ServeProfile adds a simulated server with a profile, before anybody uses the network. Each server has its own seed.
func (n *Network) ServeProfile(name string, p sim.Profile) {
	n.t.Helper()
	simulator := sim.New(sim.Config{Profile: p, Seed: uint64(len(n.hosts))})
	listener := memconn.Serve(n.t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { n.answer(name, w, r) }))
	n.t.Cleanup(simulator.Close) // before the listener ends, which waits for the answers
	n.hosts[name] = &host{simulator: simulator, listener: listener}
}

func (n *Network) answer(name string, w http.ResponseWriter, r *http.Request) {
	n.mu.Lock()
	n.requests[name+r.URL.Path]++
	n.last[name] = r.Clone(r.Context())
	handler := n.handlers[name]
	if handler == nil {
		handler = n.handlers[name+r.URL.Path]
	}
	n.mu.Unlock()
	if handler == nil {
		handler = n.hosts[name].simulator.ServeHTTP
	}
	handler(w, r)
}

// Dial connects to a host. Its signature is that of http.Transport.DialContext.
func (n *Network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	name, _, _ := net.SplitHostPort(address)
	dialed, isServed := n.hosts[name]
	if !isServed {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	n.mu.Lock()
	refuses := n.down[name]
	n.mu.Unlock()
	if refuses {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	conn, err := dialed.listener.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	n.countOpen(1)
	return countedConn{Conn: conn, closed: sync.OnceFunc(func() { n.countOpen(-1) })}, nil
}

func (n *Network) countOpen(more int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open += more
}

// A countedConn calls closed when the client closes it.
type countedConn struct {
	net.Conn
	closed func()
}

func (c countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// Open returns the number of connections that the client has not closed.
func (n *Network) Open() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.open
}

// Down makes hosts refuse connections.
func (n *Network) Down(hosts ...string) { n.setDown(true, hosts) }

// Up makes hosts accept connections again.
func (n *Network) Up(hosts ...string) { n.setDown(false, hosts) }

func (n *Network) setDown(down bool, hosts []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range hosts {
		n.down[name] = down
	}
}

// Answer makes a handler answer a route instead of the simulated server. A handler of a host goes before those of its
// paths.
func (n *Network) Answer(route string, handler http.HandlerFunc) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.handlers[route] = handler
}

// AnswerOnce makes a handler answer only the nth request for a host and path from now on, the first being 1.
func (n *Network) AnswerOnce(route string, nth int, handler http.HandlerFunc) {
	name, _, _ := strings.Cut(route, "/")
	left := nth
	n.Answer(route, func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		left--
		isNth := left == 0
		n.mu.Unlock()
		if isNth {
			handler(w, r)
			return
		}
		n.Simulator(name).ServeHTTP(w, r)
	})
}

// Simulate makes the simulated server answer a route again.
func (n *Network) Simulate(route string) { n.Answer(route, nil) }

// Hosts returns the names of the hosts, sorted.
func (n *Network) Hosts() []string { return slices.Sorted(maps.Keys(n.hosts)) }

// Simulator returns the simulated server of a host, for handlers that answer only some requests, and for the truth.
func (n *Network) Simulator(name string) *sim.Server { return n.hosts[name].simulator }

// Fail gives the simulated server of a host a fault. With the zero value it works again.
func (n *Network) Fail(name string, fault sim.Fault) {
	n.t.Helper()
	if err := n.hosts[name].simulator.SetFault(fault); err != nil {
		n.t.Error(err)
	}
}

// FailAfter gives the simulated server of a host a fault when some time has passed.
func (n *Network) FailAfter(wait time.Duration, name string, fault sim.Fault) {
	timer := time.AfterFunc(wait, func() { n.Fail(name, fault) })
	n.t.Cleanup(func() { timer.Stop() })
}

// Requests returns how many requests came, by host and path.
func (n *Network) Requests() map[string]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.requests)
}

// LastRequest returns the request that came last to a host. ok is false if none did.
func (n *Network) LastRequest(name string) (r *http.Request, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, ok = n.last[name]
	return r, ok
}
