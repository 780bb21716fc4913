// Package discovery looks up the addresses of host names, and keeps the last known ones while name servers fail.
package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// MaxAddresses is how many addresses a host may have. More are taken for a mistake: each one costs tokens.
const MaxAddresses = 1000

const (
	concurrency = 16               // hosts that are looked up at the same time
	limit       = 12 * time.Second // of all lookups together: a resolver asks the second name server after five seconds, once for each family
)

// A Lookup returns the addresses of a host, those of IPv4 if the family is "ip4", of IPv6 if it is "ip6", as
// [net.Resolver.LookupNetIP] does. It is called by several goroutines at once.
type Lookup func(ctx context.Context, family, host string) ([]netip.Addr, error)

// families are looked up on their own, so that a failure for one does not make the addresses of the other come and go.
var families = [...]string{"ip4", "ip6"}

// addresses are the last known ones of a host, by family.
type addresses [len(families)][]netip.Addr

// A Directory is hosts and their addresses. Its methods are called by one goroutine.
type Directory struct {
	lookup Lookup
	known  map[string]addresses
}

// New returns a directory that knows nothing yet. A nil lookup asks the system's name servers.
func New(lookup Lookup) *Directory {
	if lookup == nil {
		lookup = (&net.Resolver{StrictErrors: true}).LookupNetIP // strict: half an answer is none
	}
	return &Directory{lookup: lookup, known: map[string]addresses{}}
}

// Refresh looks hosts up for 12 seconds at most, and returns why it could not, by host. What was known of a host whose lookup
// fails stays; all other hosts are forgotten. One that does not exist has no addresses.
func (d *Directory) Refresh(ctx context.Context, hosts []string) map[string]error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found, failed := make([]addresses, len(hosts)), make([]error, len(hosts))
	var running errgroup.Group
	running.SetLimit(concurrency)
	for i, host := range hosts {
		running.Go(func() error {
			found[i], failed[i] = d.resolve(ctx, host)
			return nil
		})
	}
	_ = running.Wait()
	failures := map[string]error{}
	clear(d.known)
	for i, host := range hosts {
		d.known[host] = found[i]
		if failed[i] != nil {
			failures[host] = failed[i]
		}
	}
	return failures
}

// resolve returns the addresses of host, those of a family that could not be looked up as they were.
func (d *Directory) resolve(ctx context.Context, host string) (addresses, error) {
	now := d.known[host]
	var failure error
	for i, family := range families {
		list, err := d.lookup(ctx, family, host)
		if err != nil && !none(err) {
			failure = cmp.Or(failure, err)
			continue
		}
		now[i] = tidy(list)
	}
	if n := len(now[0]) + len(now[1]); n > MaxAddresses {
		return d.known[host], fmt.Errorf("%d addresses, and at most %d are probed", n, MaxAddresses)
	}
	return now, failure
}

// none reports whether an error of a lookup says that there are no addresses, at all or of the family.
func none(err error) bool {
	unknown, ok := errors.AsType[*net.DNSError](err)
	_, other := errors.AsType[*net.AddrError](err)
	return ok && unknown.IsNotFound || other
}

// tidy returns a sorted copy of list without repetitions. An IPv4 address is one, however it is spelt.
func tidy(list []netip.Addr) []netip.Addr {
	tidy := make([]netip.Addr, len(list))
	for i, a := range list {
		tidy[i] = a.Unmap()
	}
	slices.SortFunc(tidy, netip.Addr.Compare)
	return slices.Compact(tidy)
}

// Addresses returns a copy of the last known addresses of host, each once, those of IPv4 first, in ascending order.
func (d *Directory) Addresses(host string) []netip.Addr {
	return slices.Concat(d.known[host][0], d.known[host][1])
}
