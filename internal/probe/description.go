package probe

import (
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/server"
)

// A Description is what metrics and the status page say about one prompt of a target, and about the target. It stands
// here because neither knows the other.
type Description struct {
	Name         string
	Group        string
	Model        string   // empty until known
	API          string   // dialect; empty or "auto" until known
	URL          string   // as configured: without credentials
	Prompt       string   // its name; unique within the target
	PromptKind   string   // its workload: cold, warm, …
	PromptTokens int      // requested; 0 if unknown
	MaxTokens    int      // requested; 0 if unknown
	TokensPerDay int      // cost of the prompt at this interval; 0 if unknown
	Notes        []string // sentences for the status page

	Places map[string]string // where its settings are written, for hints; only read
	Labels map[string]string // that the configuration gives it, by name; only read

	Workload   string          // name of the dns+ target if this is one of its addresses; else empty
	Server     string          // server type; empty if unknown
	Version    string          // of the server; empty if unknown
	Timestamps TimestampSource // who timestamps token frames; empty before the first
	Abilities  []server.Ability
	Interval   time.Duration // between probes of the prompt
	StallLimit time.Duration // longest time between two token frames
	Disabled   bool          // it is not probed, because the configuration says so
	Objectives []Objective   // that judge the prompt
	Depths     []float64     // where the prompt of a canary hides words, 0 to 1; none for other workloads

	// Further says that this is not the first prompt of its target. What is shown once of a target is shown of the first.
	Further bool

	InFlight func() (n int, oldest time.Time) // [Member.InFlight] of the prompt, called without a lock held
	Stuck    func() int                       // [Member.Stuck], likewise
}

// RefusalsAreBad reports whether refused probes are bad events of the target's objectives.
func (d Description) RefusalsAreBad() bool {
	return slices.ContainsFunc(d.Objectives, func(o Objective) bool { return o.RefusalsAreBad })
}

// A PromptID identifies a prompt of a target.
type PromptID struct{ Target, Prompt string }

// ID returns what d describes.
func (d Description) ID() PromptID { return PromptID{d.Name, d.Prompt} }

// ID returns what was asked.
func (r *Result) ID() PromptID { return PromptID{r.Target, r.Prompt} }

// AsksTheSame reports whether the prompts of d and other are of the same workload and the same lengths.
func (d Description) AsksTheSame(other Description) bool {
	return d.PromptKind == other.PromptKind && d.PromptTokens == other.PromptTokens && d.MaxTokens == other.MaxTokens
}
