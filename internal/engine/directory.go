package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

const (
	// maxAddresses is how many addresses a host may have. More are assumed to be a mistake, and each of them costs tokens.
	maxAddresses = 1000

	lookupsAtOnce = 16 // hosts that are looked up at the same time

	// lookupLimit bounds the time of all lookups together. It is enough for a resolver that asks its second name server
	// after five seconds, once for each family.
	lookupLimit = 12 * time.Second

	// droppedAfter is how many lookups in a row must lack an address before it is dropped, although its probes succeed.
	// Some name servers answer with another subset each time: Amazon's Route 53 with at most eight addresses (multivalue
	// answer routing), Consul with three.
	// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/routing-policy-multivalue.html
	// https://developer.hashicorp.com/consul/docs/reference/agent/configuration-file/dns#a_record_limit
	droppedAfter = 3
)

// A Lookup returns the addresses of a host, those of IPv4 if the family is "ip4", of IPv6 if it is "ip6", as
// [net.Resolver.LookupNetIP] does. It is called by several goroutines at once.
type Lookup func(ctx context.Context, family, host string) ([]netip.Addr, error)

// systemLookup asks the system's name servers.
func systemLookup(ctx context.Context, family, host string) ([]netip.Addr, error) {
	resolver := net.Resolver{StrictErrors: true} // half an answer is none
	return resolver.LookupNetIP(ctx, family, host)
}

// families are looked up separately, so that a failure of one does not make the addresses of the other come and go.
var families = [...]string{"ip4", "ip6"}

// A directory is what is known of hosts, by name. It is never changed: [directory.next] makes another one.
type directory map[string]hostRecord

// A hostRecord is what is known of a host.
type hostRecord struct {
	addresses [len(families)][]address // each sorted
	failure   error                    // of the last lookup; nil if it succeeded
}

// An address of a host.
type address struct {
	netip.Addr
	missed int // lookups in a row that lacked it
}

// An answer is what one lookup of a host found, or why it failed, for each family.
type answer struct {
	addresses [len(families)][]netip.Addr // each sorted
	failures  [len(families)]error
}

// next looks hosts up, within lookupLimit, and returns the directory of these hosts: see [hostRecord.after].
func (d directory) next(
	ctx context.Context, lookup Lookup, hosts []string, probesFail func(host string, a netip.Addr) bool,
) directory {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	answers := make([]answer, len(hosts))
	var running errgroup.Group
	running.SetLimit(lookupsAtOnce)
	for i, host := range hosts {
		running.Go(func() error {
			answers[i] = lookUp(ctx, lookup, host)
			return nil
		})
	}
	_ = running.Wait() // failures are in the answers

	next := directory{}
	for i, host := range hosts {
		next[host] = d[host].after(answers[i], func(a netip.Addr) bool { return probesFail(host, a) })
	}
	return next
}

// lookUp looks up the addresses of a host. It is no failure that a host does not exist, or has none of a family.
func lookUp(ctx context.Context, lookup Lookup, host string) answer {
	var found answer
	for f, family := range families {
		list, err := lookup(ctx, family, host)
		dnsError, _ := errors.AsType[*net.DNSError](err)
		_, isOtherFamily := errors.AsType[*net.AddrError](err) // the resolver found only addresses of the other one
		isAbsent := dnsError != nil && dnsError.IsNotFound || isOtherFamily
		if err != nil && !isAbsent {
			found.failures[f] = err
		}
		for _, a := range list {
			found.addresses[f] = append(found.addresses[f], a.Unmap()) // in IPv6 form, an IPv4 address is the same
		}
		slices.SortFunc(found.addresses[f], netip.Addr.Compare)
		found.addresses[f] = slices.Compact(found.addresses[f])
	}
	return found
}

// after returns what is known of a host after an answer. The addresses of a family stay as they were if its lookup
// failed, and all do if there are too many. An address that the answer lacks stays until droppedAfter lookups have
// lacked it, or until its probes fail, too.
func (r hostRecord) after(got answer, probesFail func(netip.Addr) bool) hostRecord {
	r.failure = cmp.Or(got.failures[:]...)
	n := 0
	for _, found := range got.addresses {
		n += len(found)
	}
	if n > maxAddresses {
		r.failure = fmt.Errorf("%d addresses, and at most %d are probed", n, maxAddresses)
		return r
	}
	for f, found := range got.addresses {
		if got.failures[f] != nil {
			continue
		}
		var now []address
		for _, addr := range found {
			now = append(now, address{Addr: addr})
		}
		for _, old := range r.addresses[f] {
			old.missed++
			if !slices.Contains(found, old.Addr) && old.missed < droppedAfter && !probesFail(old.Addr) {
				now = append(now, old)
			}
		}
		slices.SortFunc(now, func(a, b address) int { return a.Compare(b.Addr) })
		r.addresses[f] = now
	}
	return r
}

// addresses returns the addresses of a host: IPv4 before IPv6, each in ascending order, each once.
func (d directory) addresses(host string) []address {
	return slices.Concat(d[host].addresses[0], d[host].addresses[1])
}

// isMissing reports whether the last lookup of a host lacked an address that is kept for now.
func (d directory) isMissing(host, address string) bool {
	for _, a := range d.addresses(host) {
		if a.String() == address {
			return a.missed > 0
		}
	}
	return false
}

// problem returns what is wrong with the lookups of a host, for the log; empty if nothing is, or if it is not known.
func (d directory) problem(host string) string {
	record, isKnown := d[host]
	switch {
	case record.failure != nil:
		return "DNS lookup failed; keeping the last known addresses"
	case isKnown && len(d.addresses(host)) == 0:
		return "host has no addresses; probing it by its name"
	}
	return ""
}

// logChanges logs the hosts whose lookups begin to fail, or to succeed again.
func (d directory) logChanges(before directory, log *zap.Logger) {
	for host, record := range d {
		problem := d.problem(host)
		if problem == before.problem(host) {
			continue
		}
		log := log.With(zap.String("host", host), zap.Int("addresses", len(d.addresses(host))))
		if problem == "" {
			log.Info("DNS lookup succeeded again")
		} else {
			log.Warn(problem, zap.Error(record.failure))
		}
	}
}

// failed returns of how many hosts the last lookup failed.
func (d directory) failed() int {
	n := 0
	for _, record := range d {
		if record.failure != nil {
			n++
		}
	}
	return n
}
