package probe

import (
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/server"
)

// A Description is what metrics and the status page say about a target. It stands here because neither knows the other.
type Description struct {
	Name         string
	Group        string
	Model        string   // empty until known
	API          string   // dialect; empty or "auto" until known
	URL          string   // as configured: without credentials
	Prompt       string   // name of the workload
	PromptTokens int      // requested; 0 if unknown
	MaxTokens    int      // requested; 0 if unknown
	TokensPerDay int      // cost of probing at this interval; 0 if unknown
	Notes        []string // sentences for the status page

	Places map[string]string // where its settings are written, for hints; only read
	Labels map[string]string // that the configuration gives it, by name; only read

	Workload   string          // name of the dns+ target if this is one of its addresses; else empty
	Server     string          // server type; empty if unknown
	Version    string          // of the server; empty if unknown
	Timestamps TimestampSource // who timestamps token frames; empty before the first
	Abilities  []server.Ability
	Interval   time.Duration // between probes
	StallLimit time.Duration // longest time between two token frames
	Disabled   bool          // it is not probed, because the configuration says so
	Objectives []Objective
	Depths     []float64 // where the prompt of a canary hides words, 0 to 1; none for other workloads

	InFlight func() (n int, oldest time.Time) // [Member.InFlight], called without a lock held
	Stuck    func() int                       // [Member.Stuck], likewise
}

// RefusalsAreBad reports whether refused probes are bad events of the target's objectives.
func (d Description) RefusalsAreBad() bool {
	return slices.ContainsFunc(d.Objectives, func(o Objective) bool { return o.RefusalsAreBad })
}
