package main

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/discovery"
)

// lookupLimit bounds the lookups of all hosts together. A host that is not known
// by then is looked up the next time. A resolver waits five seconds for the first
// name server (resolv.conf(5)) before it asks the second, once for each family.
const lookupLimit = 12 * time.Second

// lookUp looks up the hosts of dns+ URLs, and returns why it could not, by host.
func lookUp(ctx context.Context, names *discovery.Directory, targets []config.Target) map[string]error {
	hosts := hostsOf(targets)
	if len(hosts) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	return names.Refresh(ctx, hosts)
}

// hostsOf are the hosts that stand for their addresses, each once, sorted.
func hostsOf(targets []config.Target) []string {
	var hosts []string
	for _, t := range targets {
		if t.EachAddress {
			hosts = append(hosts, t.Host())
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// expand makes one target for each address of those that stand for them: each
// alone, unless the user gave a group. A host without addresses is probed by its
// name: that it cannot be reached is what there is to see.
func expand(targets []config.Target, addresses func(host string) []netip.Addr) []config.Target {
	var all []config.Target
	for _, t := range targets {
		if !t.EachAddress {
			all = append(all, t)
			continue
		}
		list := addresses(t.Host())
		for _, a := range list {
			one := t
			one.Name, one.Address = t.Name+"/"+a.String(), a.String()
			all = append(all, alone(one))
		}
		if len(list) == 0 {
			all = append(all, alone(t))
		}
	}
	return all
}

// alone is t in a group of its own, if it has none.
func alone(t config.Target) config.Target {
	if t.Group == "" {
		t.Group = t.Name
	}
	return t
}

// share is those of targets that a shard owns, groups as a whole; not nil if
// there are none.
func share(targets []config.Target, s config.Shard) []config.Target {
	own := []config.Target{}
	for _, t := range targets {
		if s.Owns(t.Group) {
			own = append(own, t)
		}
	}
	return own
}

// present is the targets that c means at present: those of its shard, by the
// addresses that there are now. Verbs that end look names up once.
func present(ctx context.Context, c *config.Config) []config.Target {
	names := discovery.New(nil)
	_ = lookUp(ctx, names, c.Targets) // shows in the probes: see expand
	return share(expand(c.Targets, names.Addresses), c.Shard)
}
