package probe

import (
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/server"
)

// A Description is what metrics and the status page say about a target. Its JSON is a part of /api/v1/targets.
type Description struct {
	Name         string   `json:"name"`
	Group        string   `json:"group"`
	Model        string   `json:"model"`          // empty until known
	API          string   `json:"api"`            // dialect; empty or "auto" until known
	URL          string   `json:"url"`            // as configured: without credentials
	Prompt       string   `json:"prompt"`         // name of the workload
	PromptTokens int      `json:"prompt_tokens"`  // requested; 0 if unknown
	MaxTokens    int      `json:"max_tokens"`     // requested; 0 if unknown
	TokensPerDay int      `json:"tokens_per_day"` // cost of probing at this interval; 0 if unknown
	Notes        []string `json:"notes"`          // sentences for the status page

	Places map[string]string `json:"-"`      // where its settings are written, for hints; only read
	Labels map[string]string `json:"labels"` // that the configuration gives it, by name; only read

	Workload   string           `json:"-"` // name of the dns+ target that it stands for an address of; empty for others
	Server     string           `json:"-"` // server type; empty if unknown
	Version    string           `json:"-"` // of the server; empty if unknown
	Timestamps TimestampSource  `json:"-"` // who timestamps token frames; empty before the first
	Abilities  []server.Ability `json:"-"`
	Interval   time.Duration    `json:"-"` // between probes
	StallLimit time.Duration    `json:"-"` // longest time between two token frames
	Disabled   bool             `json:"-"` // it is not probed, because the configuration says so
	Objectives []Objective      `json:"-"`

	InFlight func() (n int, oldest time.Time) `json:"-"` // [Member.InFlight], called without a lock held
	Stuck    func() int                       `json:"-"` // [Member.Stuck], likewise
}

// RefusalsAreBad reports whether refused probes are bad events of the target's objectives.
func (d Description) RefusalsAreBad() bool {
	return slices.ContainsFunc(d.Objectives, func(o Objective) bool { return o.RefusalsAreBad })
}
