package telemetry

import (
	"cmp"
	"slices"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// probeCounters returns the counts of probes, and of what the server reported with them.
func probeCounters() []Instrument {
	return []Instrument{
		{
			Name:       Probes,
			Unit:       "{probe}",
			Kind:       Counter,
			Scope:      ScopeTarget,
			Labels:     []Label{{Name: "outcome", Values: texts(probe.Outcomes())}},
			Help:       "Finished probes by outcome.",
			fromResult: countBy(func(r *probe.Result) probe.Outcome { return r.Outcome }),
		},
		{
			Name:  Tokens,
			Unit:  "{token}",
			Kind:  Counter,
			Scope: ScopeTarget,
			Labels: []Label{{
				Name:   "kind",
				Values: []string{kindPrompt, kindCached, kindOutput, kindReasoning},
			}},
			Help:       "Tokens that the server reported. Prompt includes cached, and output includes reasoning.",
			fromResult: tokenCounts,
		},
		{
			Name:   "llm.probe.prompt_cache",
			Unit:   "{probe}",
			Kind:   Counter,
			Scope:  ScopeTarget,
			Labels: []Label{{Name: "state", Values: texts(probe.CacheStates())}},
			Help: "Successful probes by how much of the prompt was in the server's prefix cache: cold if only the " +
				"start that all prompts share, warm if a part that should be cached, missed if less than half of " +
				"what the server had been sent before, contaminated if a part that should be new, unknown if the " +
				"server does not report cached tokens, or reports 0 and is not known to count them.",
			fromResult: countBy(cacheStateOf),
		},
		{
			Name:   "llm.probe.canary_depths",
			Unit:   "{probe}",
			Kind:   Counter,
			Scope:  ScopeTarget,
			Labels: []Label{depthLabel(), {Name: "state", Values: []string{stateFound, stateLost}}},
			Help: "Answers to canaries by depth of the prompt: found if the answer had the words that were hidden there, " +
				"else lost. Answers that were not judged are not counted: the probe failed for another reason, or the limit " +
				"cut the reasoning.",
			fromResult: canaryDepths,
		},
	}
}

// frameCounters returns the counts of what was read.
func frameCounters() []Instrument {
	return []Instrument{
		{
			Name:       "llm.probe.frames",
			Unit:       "{frame}",
			Kind:       Counter,
			Scope:      ScopeTarget,
			Help:       "Frames that carried tokens.",
			fromResult: countOf(func(r *probe.Result) int { return len(r.Timeline.Frames) }),
		},
		{
			Name:  "llm.probe.coalesced_frames",
			Unit:  "{frame}",
			Kind:  Counter,
			Scope: ScopeTarget,
			Help: "Token frames that arrived in the same read as the frame before them. The network made the gap " +
				"between them zero, not the engine.",
			fromResult: countOf(func(r *probe.Result) int { return r.Timeline.Coalesced() }),
		},
		{
			Name:       "llm.probe.joined_tokens",
			Unit:       "{token}",
			Kind:       Counter,
			Scope:      ScopeTarget,
			Help:       "Tokens in frames that were read late together. Their ITL is the mean over these frames.",
			fromResult: countOf(func(r *probe.Result) int { return r.Timeline.JoinedTokens() }),
		},
		{
			Name:   Tainted,
			Unit:   "{probe}",
			Kind:   Counter,
			Scope:  ScopeTarget,
			Labels: []Label{{Name: "reason", Values: texts(timing.Taints())}},
			Help: "Probes without ITL, because more than 95% of their tokens were read late together. The reason " +
				"is late if their bytes lay unread for longer than the mean time between two reads, otherwise " +
				"coalesced.",
			fromResult: countBy(func(r *probe.Result) timing.Taint { return r.Timeline.Taint }),
		},
	}
}

// eventCounters returns the counts of what objectives and the schedule made of probes.
func eventCounters() []Instrument {
	return []Instrument{
		{
			Name:   ObjectiveEvents,
			Unit:   "{probe}",
			Kind:   Counter,
			Scope:  ScopeTarget,
			Labels: []Label{objectiveLabel(), {Name: "verdict", Values: []string{verdictGood, verdictBad}}},
			Help: "Probes judged by each objective. A failed probe is bad, and so is each slot that was skipped as " +
				"overlap while it ran. Refused probes (unauthorized, rate_limited, filtered) are not counted unless the " +
				"target says refusals: bad, nor are successful ones without a sample of the signal.",
			fromResult: objectiveEvents,
		},
		{
			Name:   Skipped,
			Unit:   "{probe}",
			Kind:   Counter,
			Scope:  ScopeTarget,
			Labels: []Label{{Name: "reason", Values: texts(probe.Skips())}},
			Help: "Probes that were due but not sent, by reason: overlap if too many were in flight, budget if the " +
				"tokens of the day were spent, late if the next one was due already, backoff if the server had " +
				"asked for a pause (Retry-After), waiting if the server was not ready or the length of its prompts " +
				"unknown, draining after a request to /-/drain.",
		},
	}
}

// countOf adds one number for each result.
func countOf(number func(*probe.Result) int) resultSource {
	return func(_ probe.Description, r *probe.Result, record func(sample)) {
		record(sample{value: float64(number(r))})
	}
}

// countBy counts results by the value of a label. It does not count a result for which the value is empty.
func countBy[T ~string](label func(*probe.Result) T) resultSource {
	return func(_ probe.Description, r *probe.Result, record func(sample)) {
		value := label(r)
		if value != "" {
			record(sample{labels: []string{string(value)}, value: 1})
		}
	}
}

// cacheStateOf returns the cache state of a successful result; empty if the probe failed.
func cacheStateOf(r *probe.Result) probe.CacheState {
	if !succeeded(r) {
		return ""
	}
	return cmp.Or(r.Cache, probe.CacheUnknown)
}

// The values of the label kind of tokens.
const (
	kindPrompt    = "prompt"
	kindCached    = "cached"
	kindOutput    = "output"
	kindReasoning = "reasoning"
)

// tokenCounts adds the tokens that the server reported.
func tokenCounts(_ probe.Description, r *probe.Result, record func(sample)) {
	recordCount(kindPrompt, r.Usage.Prompt, record)
	recordCount(kindCached, r.Usage.Cached, record)
	recordCount(kindOutput, r.Usage.Generated(), record)
	recordCount(kindReasoning, r.Usage.Reasoning, record)
}

// recordCount passes on a count by its label, if the server reported it.
func recordCount(label string, c wire.Count, record func(sample)) {
	if c.Known {
		record(sample{labels: []string{label}, value: float64(c.N)})
	}
}

// The values of the label state of canaries.
const (
	stateFound = "found"
	stateLost  = "lost"
)

// canaryDepths adds what became of the words at each depth of a canary.
func canaryDepths(t probe.Description, r *probe.Result, record func(sample)) {
	for _, depth := range r.Depths {
		if !slices.Contains(t.Depths, depth.At) { // of a probe that was in flight when they were changed
			continue
		}
		state := stateLost
		if depth.Found {
			state = stateFound
		}
		record(sample{labels: []string{depthText(depth.At), state}, value: 1})
	}
}

// The values of the label verdict.
const (
	verdictGood = "good"
	verdictBad  = "bad"
)

// objectiveEvents adds the events of a result for each objective of a prompt: its own, or one whose slots it blocked.
func objectiveEvents(t probe.Description, r *probe.Result, record func(sample)) {
	for _, o := range t.Objectives {
		name := toValidUTF8(o.Name)
		good, bad := o.Events(t.Prompt, r)
		if good > 0 {
			record(sample{labels: []string{name, verdictGood}, value: float64(good)})
		}
		if bad > 0 {
			record(sample{labels: []string{name, verdictBad}, value: float64(bad)})
		}
	}
}
