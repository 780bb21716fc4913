package main

import (
	"context"
	"reflect"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/telemetry"
)

// A blank is what is wrong with a host whose addresses are wanted.
type blank string

const (
	blankFailing blank = "its lookup fails"
	blankEmpty   blank = "it has no address"
)

// lookUp looks up the hosts of c, and returns how many could not be. What is new
// about them is logged.
func (i *instance) lookUp(ctx context.Context, c *config.Config) (failed int) {
	failures := lookUp(ctx, i.names, c.Targets)
	if ctx.Err() != nil { // we are told to stop
		return 0
	}
	blanks := map[string]blank{}
	for _, host := range hostsOf(c.Targets) {
		known := len(i.names.Addresses(host))
		switch err := failures[host]; {
		case err != nil:
			blanks[host] = blankFailing
			if i.blanks[host] != blankFailing {
				i.log.Warn("look up a host: what was known of it stays", zap.String("host", host), zap.Int("addresses", known), zap.Error(err))
			}
		case known == 0:
			blanks[host] = blankEmpty
			if i.blanks[host] != blankEmpty {
				i.log.Warn("a host has no address: its name is probed", zap.String("host", host))
			}
		case i.blanks[host] != "":
			i.log.Info("a host is found again", zap.String("host", host), zap.Int("addresses", known))
		}
	}
	i.blanks = blanks
	return len(failures)
}

// roster is the targets that c means at present: those of our shard, by the
// addresses that are known.
func (i *instance) roster(c *config.Config) []config.Target {
	all := expand(c.Targets, i.names.Addresses)
	own := share(all, c.Shard)
	if begins := i.probed == nil; c.Shard.Of > 0 && (begins || len(own) != i.owned) {
		i.log.Info("shard", zap.Stringer("shard", c.Shard), zap.Int("owns", len(own)), zap.Int("of", len(all)))
		i.owned = len(own)
	}
	return own
}

// lookAtNames looks up all hosts, and makes the crew work on the addresses that
// there are now.
func (i *instance) lookAtNames(ctx context.Context, c *crew) {
	if len(hostsOf(i.config.Targets)) == 0 || c.observers.drains() {
		return
	}
	c.observers.recorder.Update(telemetry.LookupFailures, float64(i.lookUp(ctx, i.config)))
	now, before := i.roster(i.config), len(i.probed)
	if reflect.DeepEqual(now, i.probed) {
		return
	}
	jobs, err := assemble(now, i.parsed, i.dial, i.build) // no file is read again
	if err != nil {
		i.log.Error("the new addresses cannot be probed, keeping the previous ones", zap.Error(err))
		return
	}
	i.probed = now
	c.replace(jobs)
	i.log.Info("addresses changed", zap.Int("targets", len(now)), zap.Int("before", before))
}
