package sim

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
)

// A NameServer is a simulated DNS server in memory. It knows A and AAAA records
// and is safe for concurrent use.
type NameServer struct {
	mu      sync.Mutex // guards all below
	hosts   map[string][]netip.Addr
	failing map[uint16]bool // by type
	asked   int
}

// NewNameServer returns a server that knows no host.
func NewNameServer() *NameServer {
	return &NameServer{hosts: map[string][]netip.Addr{}, failing: map[uint16]bool{}}
}

// Set gives a host addresses. Without any, it does not exist.
func (s *NameServer) Set(host string, addresses ...string) {
	var list []netip.Addr
	for _, a := range addresses {
		list = append(list, netip.MustParseAddr(a))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts[host] = list
}

// The types of records.
const (
	typeA    = 1
	typeAAAA = 28
)

// Fail makes the server answer questions for addresses of IPv4, of IPv6 or of
// both with a failure (SERVFAIL), or not any more.
func (s *NameServer) Fail(v4, v6 bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing[typeA], s.failing[typeAAAA] = v4, v6
}

// Asked is how many questions there were.
func (s *NameServer) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Dial connects to the server, whatever the address: it is for the field of
// [net.Resolver] of that name. The connection is served until it is closed.
func (s *NameServer) Dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	go s.serve(far)
	return near, nil
}

// serve answers questions that are framed as DNS over TCP frames them, which is
// what a [net.Resolver] does on a connection that is no packets' (RFC 1035, 4.2.2).
func (s *NameServer) serve(conn net.Conn) {
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
		answer := s.answer(question)
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// The codes of answers that are none.
const (
	codeFormat   = 1 // FORMERR
	codeFailure  = 2 // SERVFAIL
	codeNotFound = 3 // NXDOMAIN
)

// answer answers a message with one question (RFC 1035, 4.1).
func (s *NameServer) answer(message []byte) []byte {
	const header = 12
	if len(message) < header {
		return nil
	}
	host, rest, ok := nameAt(message[header:])
	if !ok || len(rest) < 4 {
		return dnsAnswer(message[:2], nil, codeFormat, nil)
	}
	question := message[header : len(message)-len(rest)+4] // name, type and class
	kind := binary.BigEndian.Uint16(rest)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	switch list := s.hosts[host]; {
	case s.failing[kind]:
		return dnsAnswer(message[:2], question, codeFailure, nil)
	case list == nil:
		return dnsAnswer(message[:2], question, codeNotFound, nil)
	default:
		return dnsAnswer(message[:2], question, 0, records(kind, list))
	}
}

// nameAt reads a name, without the dot at its end, and what comes after.
func nameAt(b []byte) (name string, rest []byte, ok bool) {
	var labels []string
	for len(b) > 0 && int(b[0]) < len(b) {
		n := int(b[0])
		if n == 0 {
			return strings.ToLower(strings.Join(labels, ".")), b[1:], true
		}
		labels, b = append(labels, string(b[1:1+n])), b[1+n:]
	}
	return "", nil, false
}

// records are the addresses of a type, each as a record of the question's name.
func records(kind uint16, list []netip.Addr) [][]byte {
	var all [][]byte
	for _, a := range list {
		if a.Is4() != (kind == typeA) || kind != typeA && kind != typeAAAA {
			continue
		}
		r := []byte{0xc0, 12} // the name at byte 12 of the message
		r = binary.BigEndian.AppendUint16(r, kind)
		r = append(r, 0, 1, 0, 0, 0, 5) // class IN, may be kept for five seconds
		r = binary.BigEndian.AppendUint16(r, uint16(len(a.AsSlice())))
		all = append(all, append(r, a.AsSlice()...))
	}
	return all
}

// dnsAnswer is a message that answers.
func dnsAnswer(id, question []byte, code byte, answers [][]byte) []byte {
	m := append([]byte{}, id...)
	m = append(m, 0x84, 0x80|code) // an answer, with authority; recursion there is
	m = append(m, 0, byte(min(1, len(question))))
	m = binary.BigEndian.AppendUint16(m, uint16(len(answers)))
	m = append(m, 0, 0, 0, 0)
	m = append(m, question...)
	for _, a := range answers {
		m = append(m, a...)
	}
	return m
}
