package discovery

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// A server is a DNS server in memory, which one resolver asks at a time. It knows A and AAAA records. The zero value
// knows no host.
type server struct {
	hosts  map[string][]string // their addresses; without any, a host does not exist
	v4, v6 bool                // questions for addresses of IPv4, of IPv6 are answered with a failure (SERVFAIL)
}

// dial connects to the server, whatever the address: it is for the field Dial of [net.Resolver]. The connection is
// served until it is closed.
func (s *server) dial(context.Context, string, string) (net.Conn, error) {
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
func (s *server) answer(message []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(message); err != nil {
		return nil, err
	}
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	addresses := s.hosts[strings.TrimSuffix(q.Name.String(), ".")]
	switch {
	case q.Type == dnsmessage.TypeA && s.v4, q.Type == dnsmessage.TypeAAAA && s.v6:
		m.RCode, addresses = dnsmessage.RCodeServerFailure, nil
	case len(addresses) == 0:
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
