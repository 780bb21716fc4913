package simnet

import (
	"context"
	"net"
	"net/netip"
	"sync"
)

// Names is a name server that knows the same addresses for every name. The zero value knows none. Its methods may be
// called from several goroutines.
type Names struct {
	mu        sync.Mutex // guards all below
	addresses []string
	fails     bool
	lookups   int
}

// Set replaces the addresses, and makes the name server answer. Without any, names do not exist.
func (n *Names) Set(addresses ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.addresses, n.fails = addresses, false
}

// Fail makes the name server answer no more.
func (n *Names) Fail() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fails = true
}

// Lookup returns the addresses of a family, "ip4" or "ip6". It is an engine.Lookup.
func (n *Names) Lookup(_ context.Context, family, name string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lookups++
	if n.fails {
		return nil, &net.DNSError{Err: "no answer", Name: name}
	}
	var found []netip.Addr
	for _, text := range n.addresses {
		address := netip.MustParseAddr(text)
		if address.Is4() == (family == "ip4") {
			found = append(found, address)
		}
	}
	if len(found) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return found, nil
}

// Lookups returns how often the name server was asked.
func (n *Names) Lookups() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.lookups
}
