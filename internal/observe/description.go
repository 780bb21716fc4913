package observe

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// A description is what was shown of a target.
type description struct {
	target      probe.Description // InFlight and Stuck are nil: functions cannot be compared
	member      *probe.Member     // nil before the first description
	misfit      string            // see [report.Lengths.Misfit]
	leavesOpen  bool              // see [report.LeavesOpen]
	lastChanges []string          // notes on what the server was before, and since when; those of the last time
}

// Describe shows the targets whose descriptions have changed, and logs what is new and worth knowing.
func (r *Recorder) Describe() {
	o := r.observers
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.ended {
		return
	}
	for _, t := range r.targets {
		before := o.described[t.Config.Name]
		now := t.describe()
		var changes []change
		if before.target.URL == now.target.URL { // another URL is another server
			changes = changesOfServer(before.target, now.target)
			now.lastChanges = before.lastChanges
		}
		if len(changes) > 0 {
			now.lastChanges = nil
			since := time.Now().UTC().Format("2006-01-02 15:04")
			for _, c := range changes {
				now.lastChanges = append(now.lastChanges, fmt.Sprintf("%s since %s UTC, before: %s", c.now, since, c.before))
			}
		}
		now.target.Notes = append(now.target.Notes, now.lastChanges...)
		if now.member == before.member && reflect.DeepEqual(now, before) {
			continue
		}
		o.logDifferences(before, now, changes)
		o.described[t.Config.Name] = now
		d := now.target
		d.InFlight, d.Stuck = now.member.InFlight, now.member.Stuck
		o.Metrics.Set(d)
		o.Board.Set(d)
	}
}

// describe returns the present description of t, without the notes on changes.
func (t Target) describe() description {
	c := t.Config
	known := t.Member.Knowledge()
	state := report.TargetState{
		Lengths: t.Lengths, Server: known, Length: t.Length(),
		Disabled: t.Member.Disabled.Load(), Skipping: t.Member.Skipping(), Places: c.Places,
	}
	d := probe.Description{
		Name: c.Name, Group: c.Group, Workload: c.Workload, URL: c.URL, Prompt: c.Prompt,
		Model: known.Model, API: c.API,
		Server: known.Type.Name, Version: known.Version, Abilities: known.Abilities(), Notes: state.Notes(),
		PromptTokens: c.PromptTokens, MaxTokens: c.MaxTokens, TokensPerDay: t.TokensPerDay,
		Interval: c.Interval(), StallLimit: c.StallTimeout, Objectives: c.Objectives, Labels: c.Labels, Places: c.Places,
		Disabled: state.Disabled,
	}
	if d.Disabled {
		d.TokensPerDay = 0
	}
	if known.Dialect != nil {
		d.API = known.Dialect.Name
	}
	return description{
		target: d, member: t.Member,
		misfit: t.Lengths.Misfit(known.Limits, c.Places), leavesOpen: known.LeavesOpen,
	}
}

// A change is what something about a server was before, and what it is now.
type change struct{ what, before, now string }

// changesOfServer returns what has changed about the server of a target. What was not known before, or is not known
// now, has not changed.
func changesOfServer(before, now probe.Description) []change {
	version := func(d probe.Description) string { return strings.TrimSpace(d.Server + " " + d.Version) }
	all := []change{
		{"type or version", version(before), version(now)},
		{"model", before.Model, now.Model},
	}
	return slices.DeleteFunc(all, func(c change) bool {
		return c.before == "" || c.now == "" || c.before == c.now
	})
}

// logDifferences logs what differs between two descriptions of a target and is worth knowing, and the changes of its
// server.
func (o *Observers) logDifferences(before, now description, changes []change) {
	log := o.log.With(zap.String("target", now.target.Name))
	isFirst := before.member == nil
	switch {
	case isFirst || now.target.Disabled == before.target.Disabled:
	case now.target.Disabled:
		log.Info("target is disabled: it is no longer probed")
	default:
		log.Info("target is enabled: it is probed again")
	}
	if now.misfit != "" && now.misfit != before.misfit {
		log.Warn(now.misfit)
	}
	if now.leavesOpen && !before.leavesOpen {
		log.Warn("the server " + report.LeavesOpen)
	}
	for _, c := range changes {
		log.Info("the server's "+c.what+" has changed", zap.String("before", c.before), zap.String("now", c.now))
	}
}
