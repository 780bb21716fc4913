package main

import (
	"maps"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// Budgets are what targets spend, by their names: what is spent of a day stays
// spent, whatever else changes about a target.
type budgets map[string]*probe.Budget

// give gives the targets of j their budgets.
func (b budgets) give(j *job) {
	for i, t := range j.targets {
		if b[t.Name] == nil {
			b[t.Name] = probe.NewBudget(0)
		}
		b[t.Name].SetLimit(t.TokenBudgetPerDay)
		j.group.Members[i].SpendFrom(b[t.Name])
	}
}

// forget forgets targets that are not probed any more, on the day after they were:
// one that comes back before that has spent what it spent.
func (b budgets) forget(now time.Time, probed func(target string) bool) {
	maps.DeleteFunc(b, func(target string, spent *probe.Budget) bool { return spent.Unspent(now) && !probed(target) })
}
