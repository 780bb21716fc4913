package engine

import "github.com/llm-prober/prober/internal/probe"

// Budgets are what targets spend, by their names: what is spent of a day stays
// spent, whatever else changes about a target.
type Budgets map[string]*probe.Budget

// Give gives the targets of j their budgets.
func (b Budgets) Give(j *Job) {
	for i, t := range j.Targets {
		if b[t.Name] == nil {
			b[t.Name] = new(probe.Budget)
		}
		j.Members[i].Budget = b[t.Name]
	}
}
