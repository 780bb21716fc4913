// Package dnstest is a DNS server in memory, for tests.
package dnstest

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/net/dns/dnsmessage"
)

// A Server is a DNS server in memory. It knows A and AAAA records and is safe for concurrent use. The zero value
// knows no host.
type Server struct {
	Asked atomic.Int64 // questions so far

	hosts  sync.Map // of []string, their addresses
	v4, v6 atomic.Bool
}

// Set gives a host addresses. Without any, it does not exist.
func (s *Server) Set(host string, addresses ...string) { s.hosts.Store(host, addresses) }

// Fail makes the server answer questions for addresses of IPv4, of IPv6 or of both with a failure (SERVFAIL), or not.
func (s *Server) Fail(v4, v6 bool) {
	s.v4.Store(v4)
	s.v6.Store(v6)
}

// Lookup is [net.Resolver.LookupNetIP] of a resolver that asks s, with the settings of the real one.
func (s *Server) Lookup(ctx context.Context, family, host string) ([]netip.Addr, error) {
	return (&net.Resolver{PreferGo: true, StrictErrors: true, Dial: s.Dial}).LookupNetIP(ctx, family, host)
}

// Dial connects to the server, whatever the address: it is for the field of [net.Resolver] of that name. The
// connection is served until it is closed.
func (s *Server) Dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		var message [1 << 10]byte
		for { // a resolver writes each question at once, after its length: as over TCP (RFC 1035, 4.2.2)
			n, err := far.Read(message[:])
			if err != nil {
				return
			}
			answer, err := s.answer(message[2:n])
			if err != nil {
				return
			}
			_, _ = far.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
		}
	}()
	return near, nil
}

// answer answers a message with one question.
func (s *Server) answer(message []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(message); err != nil {
		return nil, err
	}
	s.Asked.Add(1)
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	known, _ := s.hosts.Load(strings.TrimSuffix(q.Name.String(), "."))
	addresses, _ := known.([]string)
	switch {
	case q.Type == dnsmessage.TypeA && s.v4.Load(), q.Type == dnsmessage.TypeAAAA && s.v6.Load():
		m.RCode, addresses = dnsmessage.RCodeServerFailure, nil
	case addresses == nil:
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, address := range addresses {
		r := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 5}}
		switch a := netip.MustParseAddr(address); {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			r.Body = &dnsmessage.AResource{A: a.As4()}
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			r.Body = &dnsmessage.AAAAResource{AAAA: a.As16()}
		default:
			continue
		}
		m.Answers = append(m.Answers, r)
	}
	return m.Pack()
}
