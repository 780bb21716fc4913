// Package dnstest is a DNS server in memory, for tests.
package dnstest

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// A Server is a DNS server in memory. It knows A and AAAA records and is safe for concurrent use. The zero value
// knows no host.
type Server struct {
	mu      sync.Mutex // guards all below
	hosts   map[string][]netip.Addr
	failing map[dnsmessage.Type]bool
	asked   int
}

// Set gives a host addresses. Without any, it does not exist.
func (s *Server) Set(host string, addresses ...string) {
	var list []netip.Addr
	for _, a := range addresses {
		list = append(list, netip.MustParseAddr(a))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hosts == nil {
		s.hosts = map[string][]netip.Addr{}
	}
	s.hosts[host] = list
}

// Fail makes the server answer questions for addresses of IPv4, of IPv6 or of both with a failure (SERVFAIL), or
// stop doing so.
func (s *Server) Fail(v4, v6 bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = map[dnsmessage.Type]bool{dnsmessage.TypeA: v4, dnsmessage.TypeAAAA: v6}
}

// Asked is how many questions there were.
func (s *Server) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Dial connects to the server, whatever the address: it is for the field of [net.Resolver] of that name. The
// connection is served until it is closed.
func (s *Server) Dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	go s.serve(far)
	return near, nil
}

// serve answers questions framed as DNS over TCP frames them, which is what a [net.Resolver] sends on a connection
// without packets (RFC 1035, 4.2.2).
func (s *Server) serve(conn net.Conn) {
	defer conn.Close()
	for {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		answer, err := s.answer(question)
		if err != nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// answer answers a message with one question.
func (s *Server) answer(message []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(message); err != nil {
		return nil, err
	}
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	list := s.hosts[strings.ToLower(strings.TrimSuffix(q.Name.String(), "."))]
	switch {
	case s.failing[q.Type]:
		m.RCode = dnsmessage.RCodeServerFailure
	case list == nil:
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range list {
		if body := resource(a); m.RCode == dnsmessage.RCodeSuccess && typeOf(a) == q.Type {
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 5}, Body: body})
		}
	}
	return m.Pack()
}

func typeOf(a netip.Addr) dnsmessage.Type {
	if a.Is4() {
		return dnsmessage.TypeA
	}
	return dnsmessage.TypeAAAA
}

func resource(a netip.Addr) dnsmessage.ResourceBody {
	if a.Is4() {
		return &dnsmessage.AResource{A: a.As4()}
	}
	return &dnsmessage.AAAAResource{AAAA: a.As16()}
}
