package engine

import (
	"maps"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// Budgets are what targets spend, by their names: what is spent of a day stays
// spent, whatever else changes about a target.
type Budgets map[string]*probe.Budget

// Give gives the targets of j their budgets.
func (b Budgets) Give(j *Job) {
	for i, t := range j.Targets {
		if b[t.Name] == nil {
			b[t.Name] = probe.NewBudget(0)
		}
		b[t.Name].SetLimit(t.TokenBudgetPerDay)
		j.Members[i].SpendFrom(b[t.Name])
	}
}

// forget forgets targets that are not probed any more, on the day after they were:
// one that comes back before that has spent what it spent.
func (b Budgets) forget(now time.Time, probed func(target string) bool) {
	maps.DeleteFunc(b, func(target string, spent *probe.Budget) bool { return spent.Unspent(now) && !probed(target) })
}
