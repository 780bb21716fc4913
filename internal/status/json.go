package status

import (
	"maps"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/stats"
	"github.com/llm-prober/prober/internal/usage"
)

// A targetJSON is one target in /api/v1/targets. Durations are seconds; what is absent is null.
type targetJSON struct {
	Name          string                    `json:"name"`
	Group         string                    `json:"group"`
	Model         string                    `json:"model"`
	API           string                    `json:"api"`
	URL           string                    `json:"url"`
	Labels        map[string]string         `json:"labels"`         // by name; empty without any
	Server        *string                   `json:"server"`         // server type; null if unknown
	ServerVersion *string                   `json:"server_version"` // as the server reports it; null if unknown
	Capabilities  map[string]server.Ability `json:"capabilities"`

	conditionJSON              // of all prompts together: see [targetView]
	*measuredJSON              // of its only prompt; if it has several, it has no such fields
	Prompts       []promptJSON `json:"prompts"` // never empty
}

// A promptJSON is one prompt of a target.
type promptJSON struct {
	measuredJSON
	conditionJSON
}

// A conditionJSON is how a target or a prompt is now.
type conditionJSON struct {
	TokensPerDay int            `json:"tokens_per_day"`
	Notes        []string       `json:"notes"`
	State        state          `json:"state"`
	Problems     usage.Problems `json:"problems"`     // of the settings; empty unless the target is rejected
	Reasons      []string       `json:"reasons"`      // sentences: what is wrong; empty if nothing is
	Since        time.Time      `json:"since"`        // when it got into its state
	SinceStart   bool           `json:"since_start"`  // it was so in the first probe, and may have been so before
	LastOK       *time.Time     `json:"last_ok_time"` // null if no probe has succeeded
	LastOutcome  *probe.Outcome `json:"last_outcome"`
	LastError    *string        `json:"last_error"`
	LastHint     *string        `json:"last_hint"`
	LastResult   *time.Time     `json:"last_result_time"`
	InFlight     int            `json:"in_flight"`
	Oldest       *float64       `json:"oldest_in_flight_seconds"`
	Skipped      map[string]int `json:"skipped"` // by reason, since the target was added
	Links        linksJSON      `json:"links"`
}

// linksJSON are absolute addresses about a target, null if they are not known.
type linksJSON struct {
	Page      *string `json:"page"`
	Dashboard *string `json:"dashboard"`
	Runbook   *string `json:"runbook"` // null if nothing is wrong
}

// A measuredJSON is what is asked by a prompt, and what was measured. Counts and quantiles are those of the results in
// memory that are at most window_seconds old.
type measuredJSON struct {
	Prompt       string  `json:"prompt"`
	PromptTokens int     `json:"prompt_tokens"`
	MaxTokens    int     `json:"max_tokens"`
	Interval     float64 `json:"interval_seconds"` // between probes of this prompt

	Window     float64               `json:"window_seconds"`
	Results    int                   `json:"results"`
	OKResults  int                   `json:"ok_results"`
	OKRatio    stats.Number          `json:"ok_ratio"` // null without a result
	Outcomes   map[probe.Outcome]int `json:"outcomes"` // only those that happened
	Quantiles  latenciesJSON         `json:"quantiles_seconds"`
	Objectives []objectiveJSON       `json:"objectives"`
}

// latenciesJSON are the quantiles of each latency.
type latenciesJSON struct {
	TTFT quantilesJSON `json:"ttft"`
	TPOT quantilesJSON `json:"tpot"`
	ITL  quantilesJSON `json:"itl"` // every token weighs the same
	E2EL quantilesJSON `json:"e2el"`
}

// quantilesJSON are those of N values; null if there is no value.
type quantilesJSON struct {
	N   int          `json:"n"`
	P50 stats.Number `json:"p50"`
	P95 stats.Number `json:"p95"`
}

// An objectiveJSON is one objective of a prompt, with the events of the results in the window.
type objectiveJSON struct {
	Name   string       `json:"name"`
	Signal probe.Signal `json:"signal"`
	Limit  *float64     `json:"limit_seconds"` // null for availability
	Goal   float64      `json:"goal_ratio"`
	Good   int          `json:"good"`
	Total  int          `json:"total"`  // events that were judged
	Missed bool         `json:"missed"` // enough events were bad to show that the share is below the goal
}

// newTargetJSON returns what /api/v1/targets says of a target.
func newTargetJSON(t *targetView) targetJSON {
	d := t.Target
	j := targetJSON{
		Name: d.Name, Group: d.Group, Model: d.Model, API: d.API, URL: d.URL,
		Labels:        map[string]string{},
		Server:        orNull(d.Server),
		ServerVersion: orNull(d.Version),
		Capabilities:  map[string]server.Ability{},
		conditionJSON: newConditionJSON(t.standing),
	}
	maps.Copy(j.Labels, d.Labels)
	for _, a := range d.Abilities {
		j.Capabilities[a.Name] = a
	}
	j.TokensPerDay = t.TokensPerDay
	j.Problems = append(j.Problems, t.Prompts[0].Problems...)
	j.Reasons = append(j.Reasons, t.Why()...)
	for _, note := range t.Notes() {
		j.Notes = append(j.Notes, note.String())
	}
	for _, v := range t.Prompts {
		j.Prompts = append(j.Prompts, newPromptJSON(v))
	}
	if only := t.Only(); only != nil {
		j.measuredJSON = &j.Prompts[0].measuredJSON
	}
	return j
}

// newPromptJSON returns what /api/v1/targets says of a prompt.
func newPromptJSON(v *view) promptJSON {
	t := v.Target
	j := promptJSON{
		conditionJSON: newConditionJSON(v.standing),
		measuredJSON: measuredJSON{
			Prompt: t.Prompt, PromptTokens: t.PromptTokens, MaxTokens: t.MaxTokens,
			Interval: t.Interval.Seconds(),

			Window:    v.Window,
			Results:   v.Results,
			OKResults: v.OKResults,
			OKRatio:   stats.Number(float64(v.OKResults) / float64(v.Results)), // NaN without a result
			Outcomes:  v.Outcomes,
			Quantiles: latenciesJSON{
				TTFT: quantilesJSON(v.Latencies.TTFT), TPOT: quantilesJSON(v.Latencies.TPOT),
				ITL: quantilesJSON(v.Latencies.ITL), E2EL: quantilesJSON(v.Latencies.E2EL),
			},
			Objectives: []objectiveJSON{},
		},
	}
	j.TokensPerDay = t.TokensPerDay
	j.Problems = append(j.Problems, v.Problems...)
	j.Reasons = append(j.Reasons, v.Why()...)
	j.Notes = append(j.Notes, t.Notes...)
	for _, o := range v.Objectives {
		objective := objectiveJSON{
			Name: o.Name, Signal: o.Signal, Goal: o.Goal, Good: o.Good, Total: o.Total(), Missed: o.Missed,
		}
		if o.Signal != probe.SignalAvailability {
			objective.Limit = new(o.Limit.Seconds())
		}
		j.Objectives = append(j.Objectives, objective)
	}
	return j
}

// newConditionJSON returns the JSON of a standing, without what is said of it in words.
func newConditionJSON(s standing) conditionJSON {
	j := conditionJSON{
		Notes:      []string{},
		State:      s.State,
		Problems:   usage.Problems{},
		Reasons:    []string{},
		Since:      s.Since,
		SinceStart: s.SinceStart,
		InFlight:   s.InFlight,
		Skipped:    s.Skipped,
		Links: linksJSON{
			Page: orNull(s.PageURL), Dashboard: orNull(s.DashboardURL), Runbook: orNull(s.RunbookURL()),
		},
	}
	if !s.LastOK.IsZero() {
		j.LastOK = &s.LastOK
	}
	if s.Last != nil {
		j.LastOutcome, j.LastResult = &s.Last.Outcome, &s.Last.At
		j.LastError, j.LastHint = s.Last.Error, s.Last.Hint
	}
	if s.InFlight > 0 {
		j.Oldest = &s.Oldest
	}
	return j
}
