package engine

import (
	"reflect"
	"slices"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
)

// isSameAs reports whether j and other probe the same targets in the same way, with files of the same contents.
func (j *Job) isSameAs(other *Job) bool {
	if len(j.Targets) != len(other.Targets) || !slices.Equal(j.hashes, other.hashes) {
		return false
	}
	for i, t := range j.Targets {
		if !reflect.DeepEqual(probeSettings(t), probeSettings(other.Targets[i])) {
			return false
		}
	}
	return true
}

// probeSettings returns t with only those settings that decide how it is probed. Disabled or enabled, a target stays
// the same, unless its server is waited for: then it begins anew, with waiting.
func probeSettings(t config.Target) config.Target {
	t.Labels, t.Objectives, t.GivenObjectives, t.Places = nil, nil, nil, nil
	t.Refusals = ""
	t.Prompts = slices.Clone(t.Prompts)
	for i := range t.Prompts {
		t.Prompts[i].Places = nil
	}
	t.Prompt, t.PromptTokens, t.MaxTokens = "", 0, 0 // the prompts have what counts of them
	if t.WaitForReady == 0 {
		t.Enabled = false
	}
	return t
}

// sameSeries reports whether the results of two jobs for a prompt of a target may stand in the same series. Both have
// the target, and the prompt has these indexes in them.
func sameSeries(target string, a *Job, promptA int, b *Job, promptB int) bool {
	dataA, dataB := a.Length.Prompts[promptA].Prompts.Dataset, b.Length.Prompts[promptB].Prompts.Dataset
	if len(dataA) != len(dataB) {
		return false
	}
	if len(dataA) > 0 && &dataA[0] != &dataB[0] { // equal files have the same data set, see [files.Files.DataSet]
		return false
	}
	settingsA := seriesSettings(a.Targets[a.Index(target)].OfPrompt(promptA))
	settingsB := seriesSettings(b.Targets[b.Index(target)].OfPrompt(promptB))
	return reflect.DeepEqual(settingsA, settingsB)
}

// seriesSettings returns t, which has one prompt, with only those settings that decide what its probes measure. What
// decides when a probe starts and ends, or what is made of its result, is left out.
func seriesSettings(t config.Target) config.Target {
	t = probeSettings(t)
	t.QPS, t.Arrival, t.MaxInFlight = 0, "", 0
	t.Prompts[0].Share = 0
	t.Timeout, t.StallTimeout, t.BackoffLimit, t.WaitForReady = 0, 0, 0, 0
	t.TokenBudgetPerDay, t.Enabled = 0, false
	return t.WithoutRotated()
}

// Inherit takes over what the members of an earlier job know of their servers, even if they asked with other
// credentials: a key that is rotated makes no other server. Addresses of one name share nothing: while they are
// upgraded one by one, what one of them shows is wrong for another, and to ask each what it is costs little.
func (j *Job) Inherit(old *Job) {
	for i, t := range j.Targets {
		most, best := 0, 0
		for k, other := range old.Targets {
			score := likeness(t, other)
			if score > most {
				most, best = score, k
			}
		}
		if most > 0 {
			sameClient := reflect.DeepEqual(old.Targets[best].Identity(), t.Identity())
			j.Members[i].Inherit(old.Members[best], sameClient)
		}
	}
}

// likeness returns how much what is known of one target's server is worth for another: 0 if they have not the same
// server. The same name counts more than the same credentials.
func likeness(t, other config.Target) int {
	if !reflect.DeepEqual(other.Destination(), t.Destination()) {
		return 0
	}
	score := 1
	if reflect.DeepEqual(other.Identity(), t.Identity()) {
		score++
	}
	if other.Name == t.Name {
		score += 2
	}
	return score
}

// Budgets are the token budgets of targets, by name. What a target has spent today stays spent, whatever changes about
// it.
type Budgets map[string]*probe.Budget

// AssignTo makes each member of j spend the budget of its name.
func (b Budgets) AssignTo(j *Job) {
	for i, t := range j.Targets {
		if b[t.Name] == nil {
			b[t.Name] = new(probe.Budget)
		}
		j.Members[i].Budget = b[t.Name]
	}
}
