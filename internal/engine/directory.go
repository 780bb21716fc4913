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

// A Lookup returns the addresses of a host, those of IPv4 if the family is "ip4", of IPv6 if it is "ip6", as
// [net.Resolver.LookupNetIP] does. It is called by several goroutines at once.
type Lookup func(ctx context.Context, family, host string) ([]netip.Addr, error)

// families are looked up separately, so that a failure of one does not make the addresses of the other come and go.
var families = [...]string{"ip4", "ip6"}

// hostAddresses are the last known addresses of a host, by family.
type hostAddresses [len(families)][]netip.Addr

// A directory knows the addresses of hosts. Its methods are called by one goroutine.
type directory struct {
	lookup Lookup
	known  map[string]hostAddresses
}

// newDirectory returns a directory that knows nothing yet. A nil lookup asks the system's name servers.
func newDirectory(lookup Lookup) *directory {
	if lookup == nil {
		lookup = (&net.Resolver{StrictErrors: true}).LookupNetIP // strict: half an answer is none
	}
	return &directory{lookup: lookup, known: map[string]hostAddresses{}}
}

// refresh looks hosts up, within lookupLimit, and returns the errors by host. The addresses of a host whose lookup
// fails stay as they were. A host that does not exist has no addresses. Hosts that are not asked for any more are
// forgotten.
func (d *directory) refresh(ctx context.Context, hosts []string) map[string]error {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	found, failed := make([]hostAddresses, len(hosts)), make([]error, len(hosts))
	var running errgroup.Group
	running.SetLimit(lookupsAtOnce)
	for i, host := range hosts {
		running.Go(func() error {
			found[i], failed[i] = d.resolve(ctx, host)
			return nil
		})
	}
	_ = running.Wait()
	failures := map[string]error{}
	d.known = map[string]hostAddresses{} // not cleared: see [ownedTargets.copy]
	for i, host := range hosts {
		d.known[host] = found[i]
		if failed[i] != nil {
			failures[host] = failed[i]
		}
	}
	return failures
}

// resolve returns the addresses of a host. If the lookup of a family fails, its addresses stay as they were.
func (d *directory) resolve(ctx context.Context, host string) (hostAddresses, error) {
	now := d.known[host]
	var failure error
	for i, family := range families {
		list, err := d.lookup(ctx, family, host)
		if err != nil && !noAddresses(err) {
			failure = cmp.Or(failure, err)
			continue
		}
		now[i] = tidy(list)
	}
	n := len(now[0]) + len(now[1])
	if n > maxAddresses {
		return d.known[host], fmt.Errorf("%d addresses, and at most %d are probed", n, maxAddresses)
	}
	return now, failure
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

// addresses returns a copy of the last known addresses of a host: IPv4 before IPv6, each in ascending order, each once.
func (d *directory) addresses(host string) []netip.Addr {
	return slices.Concat(d.known[host][0], d.known[host][1])
}
