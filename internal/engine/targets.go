package engine

import (
	"cmp"
	"context"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/llm-prober/prober/internal/config"
)

// An inventory is the targets of a configuration, by what is known of the addresses behind names and of the lists of
// sources.
type inventory struct {
	targets []config.Target // those of our shard; not nil, even if there are none: see [Runner]
	all     int             // targets of all shards
	listing listing         // of the sources
}

// takeInventory returns the targets of c.
func takeInventory(c *config.Config, names directory, found lists) inventory {
	l := found.listing(c)
	all := slices.Concat(expand(c.Targets, names), l.targets)
	return inventory{targets: share(all, c.Shard), all: len(all), listing: l}
}

// LookUpTargets returns the targets of c in our shard, one for each present address of a dns+ URL, for commands that
// end. If a lookup fails, a probe will show it: its host is probed by its name. Sources are not asked: see [AddListed].
func LookUpTargets(ctx context.Context, c *config.Config) []config.Target {
	return lookUpTargets(ctx, c, systemLookup)
}

// lookUpTargets does what [LookUpTargets] does, by a lookup.
func lookUpTargets(ctx context.Context, c *config.Config, lookup Lookup) []config.Target {
	noProbeFails := func(string, netip.Addr) bool { return false } // there was none yet
	names := directory{}.next(ctx, lookup, hostsOf(c.Targets), noProbeFails)
	return share(expand(c.Targets, names), c.Shard)
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

// expand replaces each target that stands for its addresses by one target for each address. A host without addresses is
// probed by its name, so that the failure is seen. Each target without a group of the user's gets one of its own.
func expand(targets []config.Target, names directory) []config.Target {
	var all []config.Target
	for _, t := range targets {
		first := len(all)
		if t.EachAddress {
			for _, a := range names.addresses(t.Host()) {
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

// share returns the targets that a shard owns. A group is never split.
func share(targets []config.Target, s config.Shard) []config.Target {
	owned := []config.Target{} // not nil, even if the shard owns none: see [inventory]
	for _, t := range targets {
		if owns(s, t.Group) {
			owned = append(owned, t)
		}
	}
	return owned
}

// owns reports whether a shard owns a group. The shard with the highest score does, so that a further shard moves
// nothing between the others (rendezvous hashing). Scores are the same in every run and every version.
func owns(s config.Shard, group string) bool {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(group)) // never fails
	owner, highest := 0, uint64(0)
	for i := range s.Of {
		x := hash.Sum64() + (uint64(i)+1)*0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9 // SplitMix64: FNV alone spreads badly over short names
		x = (x ^ x>>27) * 0x94d049bb133111eb
		score := x ^ x>>31
		if score > highest {
			owner, highest = i, score
		}
	}
	return owner == s.Index
}
