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

// maxAddresses is how many addresses a host may have. More are assumed to be a mistake, and each of them costs tokens.
const maxAddresses = 1000

const (
	lookupsAtOnce = 16 // hosts that are looked up at the same time

	// lookupLimit bounds the time of all lookups together. It is enough for a resolver that asks its second name server
	// after five seconds, once for each family.
	lookupLimit = 12 * time.Second
)

// droppedAfter is how many lookups in a row must lack an address before it is dropped, although its probes succeed.
// Some name servers answer with another subset each time: Amazon's Route 53 with at most eight addresses (multivalue
// answer routing), Consul with three.
// https://docs.aws.amazon.com/Route53/latest/DeveloperGuide/routing-policy-multivalue.html
// https://developer.hashicorp.com/consul/docs/reference/agent/configuration-file/dns#a_record_limit
const droppedAfter = 3

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

// next looks hosts up, within lookupLimit, and returns the directory of these hosts.
//
// Addresses stay as they were if their lookup fails. An address that a lookup lacks stays until droppedAfter lookups
// have lacked it, or until its probes fail, too. A host that does not exist has no addresses.
func (d directory) next(
	ctx context.Context, lookup Lookup, hosts []string, probesFail func(host string, a netip.Addr) bool,
) directory {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	type answer struct {
		addresses [len(families)][]netip.Addr
		failures  [len(families)]error
	}
	answers := make([]answer, len(hosts))
	var running errgroup.Group
	running.SetLimit(lookupsAtOnce)
	for i, host := range hosts {
		running.Go(func() error {
			for f, family := range families {
				list, err := lookup(ctx, family, host)
				if err != nil && !noAddresses(err) {
					answers[i].failures[f] = err
				}
				answers[i].addresses[f] = tidy(list)
			}
			return nil
		})
	}
	_ = running.Wait()

	next := directory{}
	for i, host := range hosts {
		record, answer := d[host], answers[i]
		record.failure = cmp.Or(answer.failures[:]...)
		n := len(answer.addresses[0]) + len(answer.addresses[1])
		if n > maxAddresses {
			record.failure = fmt.Errorf("%d addresses, and at most %d are probed", n, maxAddresses)
			next[host] = record
			continue
		}
		for f, found := range answer.addresses {
			if answer.failures[f] == nil {
				fails := func(a netip.Addr) bool { return probesFail(host, a) }
				record.addresses[f] = merge(record.addresses[f], found, fails)
			}
		}
		next[host] = record
	}
	return next
}

// merge returns the addresses that a lookup found, and those of before that it lacks and that may come back.
func merge(before []address, found []netip.Addr, probesFail func(netip.Addr) bool) []address {
	var now []address
	for _, a := range found {
		now = append(now, address{Addr: a})
	}
	for _, a := range before {
		a.missed++
		if !slices.Contains(found, a.Addr) && a.missed < droppedAfter && !probesFail(a.Addr) {
			now = append(now, a)
		}
	}
	slices.SortFunc(now, func(a, b address) int { return a.Compare(b.Addr) })
	return now
}

// noAddresses reports whether an error of a lookup says that there are no addresses, at all or of the family.
func noAddresses(err error) bool {
	unknown, ok := errors.AsType[*net.DNSError](err)
	_, other := errors.AsType[*net.AddrError](err)
	return ok && unknown.IsNotFound || other
}

// tidy returns a sorted copy of list without repetitions. An IPv4 address in IPv6 form is the same address.
func tidy(list []netip.Addr) []netip.Addr {
	tidy := make([]netip.Addr, len(list))
	for i, a := range list {
		tidy[i] = a.Unmap()
	}
	slices.SortFunc(tidy, netip.Addr.Compare)
	return slices.Compact(tidy)
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

// logChanges logs the hosts whose lookups begin to fail, or to succeed again.
func (d directory) logChanges(before directory, log *zap.Logger) {
	problemOf := func(d directory, host string) string {
		record, isKnown := d[host]
		switch {
		case record.failure != nil:
			return "DNS lookup failed; keeping the last known addresses"
		case isKnown && len(d.addresses(host)) == 0:
			return "host has no addresses; probing it by its name"
		}
		return ""
	}
	for host, record := range d {
		log := log.With(zap.String("host", host), zap.Int("addresses", len(d.addresses(host))))
		problem := problemOf(d, host)
		switch {
		case problem == problemOf(before, host):
		case problem == "":
			log.Info("DNS lookup succeeded again")
		default:
			log.Warn(problem, zap.Error(record.failure))
		}
	}
}

// failed returns how many lookups failed.
func (d directory) failed() int {
	n := 0
	for _, record := range d {
		if record.failure != nil {
			n++
		}
	}
	return n
}
