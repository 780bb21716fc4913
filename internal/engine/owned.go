package engine

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
)

// ownedTargets finds the targets of our shard: those of the configuration, where one with a dns+ URL stands for one
// target for each address. The methods are called by one goroutine.
type ownedTargets struct {
	names *directory
	log   *zap.Logger

	lookups map[string]string // by host: what was wrong with the last lookup; empty if nothing was
	logged  int               // targets of the shard by the last log line; -1 before the first
}

// newOwnedTargets returns owned targets before any lookup. A nil lookup asks the system's name servers.
func newOwnedTargets(lookup Lookup, log *zap.Logger) *ownedTargets {
	return &ownedTargets{names: newDirectory(lookup), log: log, lookups: map[string]string{}, logged: -1}
}

// copy returns a copy that stays as it is while names are looked up for o.
func (o *ownedTargets) copy() *ownedTargets {
	names, owned := *o.names, *o
	owned.names = &names
	return &owned
}

// Present returns the present targets of c, for commands that end. It looks up names once.
func Present(ctx context.Context, c *config.Config) []config.Target {
	return present(ctx, c, nil)
}

// present does what [Present] does, with a lookup; nil asks the system's name servers.
func present(ctx context.Context, c *config.Config, lookup Lookup) []config.Target {
	o := newOwnedTargets(lookup, zap.NewNop())
	_ = o.refresh(ctx, c.Targets) // if a lookup fails, the probe shows it: see expand
	return o.expandAndShard(c)
}

// refresh looks up the hosts of dns+ URLs, and returns how many lookups failed. Changes are logged.
func (o *ownedTargets) refresh(ctx context.Context, targets []config.Target) (failed int) {
	hosts := hostsOf(targets)
	failures := o.names.refresh(ctx, hosts)
	if ctx.Err() != nil { // the prober is stopping
		return 0
	}
	before := o.lookups
	o.lookups = map[string]string{}
	for _, host := range hosts {
		addresses, state := len(o.names.addresses(host)), ""
		switch {
		case failures[host] != nil:
			state = "DNS lookup failed; keeping the last known addresses"
		case addresses == 0:
			state = "host has no addresses; probing it by its name"
		}
		o.lookups[host] = state
		log := o.log.With(zap.String("host", host), zap.Int("addresses", addresses))
		switch state {
		case before[host]:
		case "":
			log.Info("DNS lookup succeeded again")
		default:
			log.Warn(state, zap.Error(failures[host]))
		}
	}
	return len(failures)
}

// expandAndShard returns the targets of c that belong to our shard, with one for each known address of a dns+ URL.
func (o *ownedTargets) expandAndShard(c *config.Config) []config.Target {
	own := expand(c.Targets, o.names.addresses)
	all := len(own)
	isForeign := func(t config.Target) bool { return !owns(c.Shard, t.Group) } // a group is never split
	own = slices.DeleteFunc(own, isForeign)
	if c.Shard.Of > 0 && len(own) != o.logged {
		o.log.Info("shard", zap.Stringer("shard", c.Shard), zap.Int("owns", len(own)), zap.Int("of", all))
		o.logged = len(own)
	}
	return own
}

// hostsOf returns the hosts of dns+ URLs, each once, sorted.
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

// expand replaces each target that stands for its addresses by one target for each address: each in a group of its own,
// unless the user gave one. A host without addresses is probed by its name, so that the failure is seen.
func expand(targets []config.Target, addresses func(host string) []netip.Addr) []config.Target {
	var all []config.Target
	for _, t := range targets {
		first := len(all)
		if t.EachAddress {
			for _, a := range addresses(t.Host()) {
				replica := t
				replica.Name = t.Name + "/" + a.String()
				replica.Address = a.String()
				replica.Workload = t.Name
				all = append(all, replica)
			}
		}
		if len(all) == first {
			all = append(all, t)
		}
		for i := first; i < len(all); i++ {
			all[i].Group = cmp.Or(all[i].Group, all[i].Name)
		}
	}
	return all
}
