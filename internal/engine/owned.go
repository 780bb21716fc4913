package engine

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/discovery"
)

// lookupLimit bounds the lookups of all hosts together. A host that is not known
// by then is looked up the next time. A resolver waits five seconds for the first
// name server (resolv.conf(5)) before it asks the second, once for each family.
const lookupLimit = 12 * time.Second

// OwnedTargets are the targets that a configuration means at present: one for each address
// of those whose URL begins with dns+, as far as they belong to our shard. The methods
// are called by one goroutine.
type OwnedTargets struct {
	names *discovery.Directory
	log   *zap.Logger

	lookups map[string]lookupState // of hosts that have no addresses, or old ones
	logged  int                    // how many targets were last said to be the shard's; -1: none were
}

// A lookupState is what is wrong with a host whose addresses are wanted.
type lookupState string

const (
	lookupFails lookupState = "its lookup fails"
	lookupEmpty lookupState = "it has no address"
)

// newOwnedTargets returns owned targets of which no name was looked up yet. Lookup may be
// nil: the system's.
func newOwnedTargets(lookup discovery.Lookup, log *zap.Logger) *OwnedTargets {
	return &OwnedTargets{names: discovery.New(lookup), log: log, lookups: map[string]lookupState{}, logged: -1}
}

// Present is the targets that c means at present, for commands that end: names are
// looked up once.
func Present(ctx context.Context, c *config.Config) []config.Target {
	o := newOwnedTargets(nil, zap.NewNop())
	_ = o.refresh(ctx, c.Targets) // a failure shows in the probes: see expand
	return o.of(c)
}

// refresh looks up the hosts of dns+ URLs, and returns how many could not be. What is
// new about them is logged.
func (o *OwnedTargets) refresh(ctx context.Context, targets []config.Target) (failed int) {
	hosts := hostsOf(targets)
	if len(hosts) == 0 {
		clear(o.lookups)
		return 0
	}
	limited, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	failures := o.names.Refresh(limited, hosts)
	if ctx.Err() != nil { // we are told to stop
		return 0
	}
	states := map[string]lookupState{}
	for _, host := range hosts {
		known := len(o.names.Addresses(host))
		switch err := failures[host]; {
		case err != nil:
			states[host] = lookupFails
			if o.lookups[host] != lookupFails {
				o.log.Warn("look up a host: what was known of it stays", zap.String("host", host), zap.Int("addresses", known), zap.Error(err))
			}
		case known == 0:
			states[host] = lookupEmpty
			if o.lookups[host] != lookupEmpty {
				o.log.Warn("a host has no address: its name is probed", zap.String("host", host))
			}
		case o.lookups[host] != "":
			o.log.Info("a host is found again", zap.String("host", host), zap.Int("addresses", known))
		}
	}
	o.lookups = states
	return len(failures)
}

// of returns the targets of c that we own; not nil if there are none.
func (o *OwnedTargets) of(c *config.Config) []config.Target {
	all := expand(c.Targets, o.names.Addresses)
	own := share(all, c.Shard)
	if c.Shard.Of > 0 && len(own) != o.logged {
		o.log.Info("shard", zap.Stringer("shard", c.Shard), zap.Int("owns", len(own)), zap.Int("of", len(all)))
		o.logged = len(own)
	}
	return own
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
