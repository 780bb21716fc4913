package observe

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
)

// A description is what was shown of a prompt of a target. The zero value is that of one that was not shown yet.
type description struct {
	target     probe.Description // without InFlight and Stuck: functions cannot be compared
	member     *probe.Member
	misfit     string   // see [report.Lengths.Misfit]
	leavesOpen bool     // see [report.LeavesOpen]
	history    []string // notes on the last changes of the server: what it is now, since when, and what it was before
	known      identity
}

// An identity is what a server is. Each part is empty until it is known, and then what was known last: a server that
// says nothing for a while is no other one.
type identity struct{ server, version, model string }

// or returns i with what other knows and i does not. The version of another type says nothing.
func (i identity) or(other identity) identity {
	i.model = cmp.Or(i.model, other.model)
	i.server = cmp.Or(i.server, other.server)
	if i.server == other.server {
		i.version = cmp.Or(i.version, other.version)
	}
	return i
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
		before := o.described[t.id()]
		now := t.describe()
		var changes []change
		if before.target.URL == now.target.URL { // another URL is another server
			now.known = now.known.or(before.known)
			changes = changesOfServer(before.known, now.known)
			now.history = before.history
		}
		if len(changes) > 0 {
			now.history = notesOn(changes)
		}
		now.target.Notes = append(now.target.Notes, now.history...)
		if now.member == before.member && reflect.DeepEqual(now, before) {
			continue
		}
		o.described[t.id()] = now
		o.logDifferences(before, now, changes)
		shown := now.target
		shown.InFlight = func() (int, time.Time) { return now.member.InFlight(shown.Prompt) }
		shown.Stuck = now.member.Stuck
		o.Metrics.Set(shown)
		o.Board.Set(shown)
	}
}

// describe returns the present description of t, without the history of its server.
func (t Target) describe() description {
	c := t.Config
	known := t.Member.Knowledge()
	isDisabled := t.Member.Disabled.Load()
	state := report.TargetState{
		Lengths:  t.Lengths,
		Server:   known,
		Length:   t.Length(),
		Disabled: isDisabled,
		Skipping: t.Member.Skipping(),
		Places:   c.Places,
	}
	d := probe.Description{
		Name:         c.Name,
		Group:        c.Group,
		Model:        known.Model,
		API:          c.API,
		URL:          c.URL,
		Prompt:       t.prompt(),
		PromptKind:   c.Prompt,
		PromptTokens: c.PromptTokens,
		MaxTokens:    c.MaxTokens,
		TokensPerDay: t.TokensPerDay,
		Notes:        state.Notes(),
		Places:       c.Places,
		Labels:       c.Labels,
		Workload:     c.Workload,
		Server:       known.Type.Name,
		Version:      known.Version,
		Abilities:    known.Abilities(),
		Interval:     c.Interval(),
		StallLimit:   c.StallTimeout,
		Disabled:     isDisabled,
		Objectives:   c.Objectives,
		Further:      t.Further,
	}
	if isDisabled {
		d.TokensPerDay = 0
	}
	if c.Prompt == "canary" {
		d.Depths = c.CanaryDepth
	}
	if known.Dialect != nil {
		d.API = known.Dialect.Name
	}
	return description{
		target:     d,
		member:     t.Member,
		misfit:     t.Lengths.Misfit(known.Limits, c.Places),
		leavesOpen: known.LeavesOpen,
		known:      identity{server: d.Server, version: d.Version, model: d.Model},
	}
}

// A change is what something about a server was before, and what it is now.
type change struct{ what, before, now string }

// changesOfServer returns what has changed about the server of a target. What was not known before has not changed.
func changesOfServer(before, now identity) (changes []change) {
	isOtherType := before.server != "" && now.server != before.server
	isOtherVersion := now.server == before.server && before.version != "" && now.version != before.version
	if isOtherType || isOtherVersion {
		text := func(i identity) string { return strings.TrimSpace(i.server + " " + i.version) }
		changes = append(changes, change{"type or version", text(before), text(now)})
	}
	if before.model != "" && now.model != before.model {
		changes = append(changes, change{"model", before.model, now.model})
	}
	return changes
}

// notesOn returns a note on each change, as one that happened now.
func notesOn(changes []change) []string {
	since := time.Now().UTC().Format("2006-01-02 15:04")
	var notes []string
	for _, c := range changes {
		notes = append(notes, fmt.Sprintf("%s since %s UTC, before: %s", c.now, since, c.before))
	}
	return notes
}

// logDifferences logs what differs between two descriptions of a prompt and is worth knowing, and the changes of its
// server. What its target has in common is logged once, for its first prompt.
func (o *Observers) logDifferences(before, now description, changes []change) {
	log := o.log.With(zap.String("target", now.target.Name))
	if now.misfit != "" && now.misfit != before.misfit {
		log.Warn(now.misfit, zap.String("prompt", now.target.Prompt))
	}
	if now.target.Further {
		return
	}
	wasShown := before.member != nil
	if wasShown && now.target.Disabled && !before.target.Disabled {
		log.Info("target is disabled: it is no longer probed")
	}
	if wasShown && !now.target.Disabled && before.target.Disabled {
		log.Info("target is enabled: it is probed again")
	}
	if now.leavesOpen && !before.leavesOpen {
		log.Warn("the server " + report.LeavesOpen)
	}
	for _, c := range changes {
		log.Info("the server's "+c.what+" has changed", zap.String("before", c.before), zap.String("now", c.now))
	}
}
