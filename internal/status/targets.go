package status

import (
	"net/http"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// A targetAccount is a target as /api/v1/targets tells it. All durations are
// seconds; what is absent is null. Counts and quantiles are those of the results
// in memory that are at most window_seconds old.
type targetAccount struct {
	Name         string   `json:"name"`
	Group        string   `json:"group"`
	Model        string   `json:"model"`
	API          string   `json:"api"`
	URL          string   `json:"url"`
	Prompt       string   `json:"prompt"`
	PromptTokens int      `json:"prompt_tokens"`
	MaxTokens    int      `json:"max_tokens"`
	Interval     float64  `json:"interval_seconds"`
	TokensPerDay int      `json:"tokens_per_day"`
	Notes        []string `json:"notes"`

	Server        *string                   `json:"server"`         // server type; null if unknown
	ServerVersion *string                   `json:"server_version"` // that it says it is
	HeldTo        map[string]abilityAccount `json:"held_to"`

	State       state          `json:"state"`
	LastOutcome *probe.Outcome `json:"last_outcome"`
	LastError   *string        `json:"last_error"`
	LastHint    *string        `json:"last_hint"`
	LastResult  *time.Time     `json:"last_result_time"`
	InFlight    int            `json:"in_flight"`
	Oldest      *float64       `json:"oldest_in_flight_seconds"`
	Skipped     map[string]int `json:"skipped"` // by reason, since the target was added

	Window     float64               `json:"window_seconds"`
	Results    int                   `json:"results"`
	OKResults  int                   `json:"ok_results"`
	OKRatio    *float64              `json:"ok_ratio"`
	Outcomes   map[probe.Outcome]int `json:"outcomes"` // only those that happened
	Quantiles  quantileAccount       `json:"quantiles_seconds"`
	Objectives []objectiveAccount    `json:"objectives"`
}

// An abilityAccount is whether a server has a capability.
type abilityAccount struct {
	Claim string `json:"claim"` // yes, no, optional or unknown
	Shown bool   `json:"shown"` // by its answers; else it is what its kind is known for
}

type quantileAccount struct {
	TTFT quantiles `json:"ttft"`
	TPOT quantiles `json:"tpot"`
	ITL  quantiles `json:"itl"` // every token weighs the same
	E2EL quantiles `json:"e2el"`
}

type objectiveAccount struct {
	Name   string       `json:"name"`
	Signal probe.Signal `json:"signal"`
	Limit  *float64     `json:"limit_seconds"` // null for availability
	Goal   float64      `json:"goal_ratio"`
	Good   int          `json:"good"`
	Total  int          `json:"total"`
}

func (b *Board) serveTargets(w http.ResponseWriter, _ *http.Request) {
	list := []targetAccount{}
	for _, s := range b.snapshots() {
		list = append(list, s.account())
	}
	answer(w, http.StatusOK, map[string]any{"status": "success", "data": map[string]any{"targets": list}})
}

func (s *snapshot) account() targetAccount {
	t, sum := s.target, s.summary
	a := targetAccount{
		Name: t.Name, Group: t.Group, Model: t.Model, API: t.API, URL: t.URL, Prompt: t.Prompt,
		PromptTokens: t.PromptTokens, MaxTokens: t.MaxTokens, Interval: t.Interval.Seconds(),
		TokensPerDay: t.TokensPerDay, Notes: append([]string{}, t.Notes...),
		Server: orNull(t.Server), ServerVersion: orNull(t.Version), HeldTo: map[string]abilityAccount{},
		State: s.state, InFlight: s.inFlight, Skipped: s.skipped,
		Window: s.window().Seconds(), Results: sum.results, OKResults: sum.ok,
		Outcomes:   map[probe.Outcome]int{},
		Quantiles:  quantileAccount{sum.ttft, sum.tpot, sum.itl, sum.e2el},
		Objectives: []objectiveAccount{},
	}
	if last, ok := s.last(); ok {
		a.LastOutcome, a.LastError, a.LastResult = &last.account.Outcome, last.account.Error, &last.at
		if last.hint != "" {
			a.LastHint = &last.hint
		}
	}
	if s.inFlight > 0 {
		a.Oldest = new(s.oldest.Seconds())
	}
	if sum.results > 0 {
		a.OKRatio = new(float64(sum.ok) / float64(sum.results))
	}
	for _, e := range s.recent {
		a.Outcomes[e.account.Outcome]++
	}
	for _, ability := range t.Abilities {
		a.HeldTo[ability.Name] = abilityAccount{string(ability.Claim), ability.Shown}
	}
	for _, t := range s.tallies() {
		a.Objectives = append(a.Objectives, t.account())
	}
	return a
}

func (t tally) account() objectiveAccount {
	o := t.objective
	a := objectiveAccount{Name: o.Name, Signal: o.Signal, Goal: o.Goal, Good: t.good, Total: t.total}
	if o.Signal != probe.SignalAvailability {
		a.Limit = new(o.Limit.Seconds())
	}
	return a
}

// orNull is s, or nothing if it is empty.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
