package probe

import "time"

// A Description is what metrics and the status page say about a target beside its results.
type Description struct {
	Name, Group string
	Model       string // empty until known
	API         string // dialect; empty or "auto" until known
	URL         string // as configured: it may hold a password
	Prompt      string // name of the workload

	Server, Version string   // server type and its version; empty if unknown
	Stamp           Stamping // who timestamps token frames; empty before the first
	Abilities       []Ability
	Notes           []string // sentences for the status page

	PromptTokens, MaxTokens int           // requested; 0 if unknown
	TokensPerDay            int           // cost of probing at this interval; 0 if unknown
	Interval                time.Duration // between probes
	Objectives              []Objective

	// InFlight is [Member.InFlight]; nil if unknown. It is called without a lock held.
	InFlight func() (n int, oldest time.Time)
}
