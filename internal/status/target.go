package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/probe"
)

// A targetView is a target at one moment, with all of its prompts or those that the reader chose. It has what makes
// sense for all of them together. Numbers that depend on what is asked, such as latencies, are those of a prompt.
type targetView struct {
	Prompts []*view // in the order of the configuration; never empty

	Target       probe.Description // of the first prompt, for what all have in common
	TokensPerDay int               // of all prompts
	Results      int               // in the windows of the prompts
	Refused      int               // of those
	standing                       // of all prompts: see [targetView.setState]
}

// targets returns all targets as they are now.
func (b *Board) targets() (list []*targetView) {
	views := b.views()
	for len(views) > 0 { // the prompts of a target stand together
		n := slices.IndexFunc(views, func(v *view) bool { return v.Target.Name != views[0].Target.Name })
		if n < 0 {
			n = len(views)
		}
		list = append(list, newTargetView(views[:n:n], b.links))
		views = views[n:]
	}
	return list
}

// newTargetView returns a target with some of its prompts.
func newTargetView(prompts []*view, links Links) *targetView {
	t := &targetView{Prompts: prompts, Target: prompts[0].Target, standing: standing{Skipped: map[string]int{}}}
	for _, p := range prompts {
		t.TokensPerDay += p.Target.TokensPerDay
		t.InFlight += p.InFlight
		t.Oldest = max(t.Oldest, p.Oldest)
		t.Results += p.Results
		t.Refused += p.Refused
		t.LastOK = later(t.LastOK, p.LastOK)
		if t.Last == nil || p.Last != nil && p.Last.At.After(t.Last.At) {
			t.Last = p.Last
		}
		for reason, n := range p.Skipped {
			t.Skipped[reason] += n
		}
	}
	t.setState()
	t.PageURL, t.DashboardURL = prompts[0].PageURL, prompts[0].DashboardURL
	if len(prompts) > 1 {
		t.PageURL = links.page(selection{Target: t.Target.Name})
		t.DashboardURL = links.dashboard(t.Target.Name, "")
	}
	return t
}

// setState sets the state, the most urgent one of a prompt, and since when the target is in it. If all prompts are,
// this is when the last of them got into it; if only some are, it is when the first of those did.
func (t *targetView) setState() {
	t.State = slices.MinFunc(t.Prompts, func(a, b *view) int {
		return cmp.Compare(slices.Index(urgency, a.State), slices.Index(urgency, b.State))
	}).State
	affected := t.affected()
	bySince := func(a, b *view) int { return a.Since.Compare(b.Since) }
	deciding := slices.MinFunc(affected, bySince)
	if len(affected) == len(t.Prompts) {
		deciding = slices.MaxFunc(affected, bySince)
	}
	t.Since, t.SinceStart, t.Runbook = deciding.Since, deciding.SinceStart, deciding.Runbook
}

// affected returns the prompts that are in the state of the target.
func (t *targetView) affected() []*view {
	return slices.DeleteFunc(slices.Clone(t.Prompts), func(p *view) bool { return p.State != t.State })
}

// withPrompt returns the target with only one of its prompts. ok is false if it has none of that name.
func (t *targetView) withPrompt(name string, links Links) (narrowed *targetView, ok bool) {
	i := slices.IndexFunc(t.Prompts, func(p *view) bool { return p.Target.Prompt == name })
	if i < 0 {
		return nil, false
	}
	return newTargetView(t.Prompts[i:i+1:i+1], links), true
}

// Only returns the prompt if there is a single one, else nil.
func (t *targetView) Only() *view {
	if len(t.Prompts) > 1 {
		return nil
	}
	return t.Prompts[0]
}

// Title returns the name of the target, and of the prompt if the reader chose one of several.
func (t *targetView) Title() string {
	if only := t.Only(); only != nil {
		return only.history.title()
	}
	return t.Target.Name
}

// Link returns the address of the page that shows nothing but the target as it is shown here, relative to the page.
func (t *targetView) Link() string {
	if only := t.Only(); only != nil {
		return only.Link()
	}
	return selection{Target: t.Target.Name}.Link()
}

// AllPromptsLink returns the address of the page that shows all prompts of the target; empty if they are shown.
func (t *targetView) AllPromptsLink() string {
	only := t.Only()
	if only == nil || !only.history.several {
		return ""
	}
	return selection{Target: t.Target.Name}.Link()
}

// Chip returns the state in words: how many prompts are in it unless all are, and the outcome of failures if they have
// the same one.
func (t *targetView) Chip() string {
	affected := t.affected()
	text := affected[0].Chip()
	for _, p := range affected {
		if p.Chip() != text {
			text = t.State.Words()
		}
	}
	if len(affected) < len(t.Prompts) {
		text = fmt.Sprintf("%d of %d %s", len(affected), len(t.Prompts), text)
	}
	return text
}

// InState returns what is in the state of the target since a time, in words: the prompts, unless all are.
func (t *targetView) InState() string {
	names := t.namesOf(t.affected())
	return strings.TrimSpace(names + " " + t.State.Words())
}

// namesOf returns the names of prompts; empty if they are all that are shown.
func (t *targetView) namesOf(prompts []*view) string {
	if len(prompts) == len(t.Prompts) {
		return ""
	}
	var names []string
	for _, p := range prompts {
		names = append(names, p.Target.Prompt)
	}
	return strings.Join(names, ", ")
}

// IsDown reports whether no prompt succeeds now, so that the last success is of interest.
func (t *targetView) IsDown() bool {
	return !slices.ContainsFunc(t.Prompts, func(p *view) bool { return !p.IsDown() })
}

// A remark is a sentence about some prompts.
type remark struct {
	Prompts string // their names; empty if it is about all
	Text    string
}

// String returns the sentence with the prompts that it is about before it.
func (r remark) String() string {
	if r.Prompts == "" {
		return r.Text
	}
	return r.Prompts + ": " + r.Text
}

// remarks returns what is said of the prompts, each sentence once.
func (t *targetView) remarks(said func(*view) []string) (list []remark) {
	about := map[string][]*view{}
	var texts []string // in their order
	for _, p := range t.Prompts {
		for _, text := range said(p) {
			if about[text] == nil {
				texts = append(texts, text)
			}
			if !slices.Contains(about[text], p) {
				about[text] = append(about[text], p)
			}
		}
	}
	for _, text := range texts {
		list = append(list, remark{t.namesOf(about[text]), text})
	}
	return list
}

// Why says what is wrong with the target, in sentences without full stops; nil if nothing is wrong.
func (t *targetView) Why() (list []string) {
	for _, r := range t.remarks((*view).Why) {
		list = append(list, r.String())
	}
	return list
}

// Notes returns the notes on the prompts.
func (t *targetView) Notes() []remark {
	return t.remarks(func(p *view) []string { return p.Target.Notes })
}

// CommonNotes returns the notes that all prompts have.
func (t *targetView) CommonNotes() (list []string) {
	for _, note := range t.Notes() {
		if note.Prompts == "" {
			list = append(list, note.Text)
		}
	}
	return list
}

// Shortcomings says which objectives are missed and what is slow.
func (t *targetView) Shortcomings() []remark { return t.remarks((*view).Shortcomings) }

// A sharedFailure is the latest result of prompts that fail in the same way.
type sharedFailure struct {
	Prompts string // their names; empty if all fail so
	*entry
}

// Failing returns how the prompts fail now.
func (t *targetView) Failing() (list []sharedFailure) {
	if t.Target.Disabled {
		return nil
	}
	var alike [][]*view
	for _, p := range t.Prompts {
		if p.Last == nil || p.Last.OK() {
			continue
		}
		i := slices.IndexFunc(alike, func(others []*view) bool {
			other := others[0].Last
			return other.Outcome == p.Last.Outcome && textOrEmpty(other.Error) == textOrEmpty(p.Last.Error)
		})
		if i < 0 {
			alike = append(alike, []*view{p})
		} else {
			alike[i] = append(alike[i], p)
		}
	}
	for _, prompts := range alike {
		list = append(list, sharedFailure{t.namesOf(prompts), prompts[0].Last})
	}
	return list
}

// textOrEmpty returns a text that may be absent.
func textOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// A promptObjective is an objective of a prompt.
type promptObjective struct {
	Prompt string // its name; empty if there is a single prompt
	*objective
}

// Worst returns the objective of a prompt that has spent the largest share of its error budget; nil if none was judged.
func (t *targetView) Worst() *promptObjective {
	var worst *promptObjective
	for _, p := range t.Prompts {
		o := p.Worst()
		if o == nil || worst != nil && o.spent() <= worst.spent() {
			continue
		}
		worst = &promptObjective{objective: o}
		if len(t.Prompts) > 1 {
			worst.Prompt = p.Target.Prompt
		}
	}
	return worst
}

// SharedGroup returns the group of the target; empty if it is a group by itself, which has the target's name.
func (t *targetView) SharedGroup() string {
	if t.Target.Group == t.Target.Name {
		return ""
	}
	return t.Target.Group
}

// A label is a label of a target that has a value.
type label struct{ Name, Value string }

// LabelList returns the labels of the target that have a value, in the order of their names.
func (t *targetView) LabelList() (list []label) {
	for _, name := range labelNames([]*targetView{t}) {
		if t.Target.Labels[name] != "" {
			list = append(list, label{name, t.Target.Labels[name]})
		}
	}
	return list
}
