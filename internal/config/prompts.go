package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// mostPrompts is how many prompts a target may have: each has all series of its own.
const mostPrompts = 20

// A promptEntry is one prompt of a target while it is read.
type promptEntry struct {
	settings *Prompt
	entry    *entry // what is written for it; of a target without a list of prompts nothing is
}

// loadPrompts parses the prompts: those that targets have themselves, and those of all targets. A target without any
// has one, of which nothing is written. What is not written of a prompt, it takes from its target. Flags replace what
// is written of each.
func (l *loader) loadPrompts(shared *entry) {
	flags := l.flags(l.schema.target)
	maps.DeleteFunc(flags, func(name string, _ value) bool {
		_, isOfPrompt := l.schema.prompt.find(name)
		return !isOfPrompt || name == "NAME"
	})
	ofAll := shared.entries[l.schema.prompt]
	for _, t := range l.targets {
		entries := t.entry.entries[l.schema.prompt]
		if len(entries) == 0 {
			entries = nil
			for _, e := range ofAll { // each target makes something else of what is not written
				entries = append(entries, e.unparsed())
			}
			t.entry.entries[l.schema.prompt] = entries
		}
		if len(entries) == 0 {
			entries = []*entry{newEntry(l.schema.prompt, t.entry.placeOf)}
		}
		for _, e := range entries {
			if len(t.entry.entries[l.schema.prompt]) > 0 {
				e.values = merge(e.values, flags)
			}
			e.parse()
			t.addPrompt(e)
		}
	}
	for _, e := range ofAll {
		e.parse() // a wrong value is a problem, even if each target has prompts of its own
		l.problems = append(l.problems, e.problems...)
	}
}

// unparsed returns an entry for which the same is written, and which is not parsed.
func (e *entry) unparsed() *entry {
	again := newEntry(e.section, e.placeOf)
	again.title, again.nameHint = e.title, e.nameHint
	maps.Copy(again.values, e.values)
	maps.Copy(again.wrong, e.wrong)
	again.problems = slices.Clone(e.problems) // of the file: its form
	return again
}

// addPrompt adds a prompt to t, which takes from t what is not written for it.
func (t *target) addPrompt(e *entry) {
	s, p := t.settings, e.settings.(*Prompt)
	if !e.given(&p.Workload) {
		p.Workload = s.Prompt
	}
	if !e.given(&p.Tokens) {
		p.Tokens = s.PromptTokens
	}
	if !e.given(&p.MaxTokens) {
		p.MaxTokens = s.MaxTokens
	}
	if p.Name == "" && e.right(&p.Name) {
		p.Name = p.Workload
	}
	for _, field := range []any{&p.Workload, &p.Tokens, &p.MaxTokens} {
		k := e.key(field)
		if e.given(field) {
			if p.Places == nil {
				p.Places = map[string]string{}
			}
			p.Places[k.fileKey()] = e.values[k.name].place.phrase()
		}
	}
	t.prompts = append(t.prompts, &promptEntry{settings: p, entry: e})
	s.Prompts = append(s.Prompts, *p)
}

// where returns the entry and the setting where a user would change a setting of p: its own, or that of its target.
func (p *promptEntry) where(t *target, own, ofTarget any) (e *entry, field any) {
	if p.entry.given(own) {
		return p.entry, own
	}
	return t.entry, ofTarget
}

// promptsAreRight reports whether all settings that decide the prompts of t, and how often each is asked, are right.
func (t *target) promptsAreRight() bool {
	s := t.settings
	isWrong := func(p *promptEntry) bool { return len(p.entry.wrong) > 0 }
	return t.entry.right(&s.Prompt, &s.PromptTokens, &s.MaxTokens) && !slices.ContainsFunc(t.prompts, isWrong)
}

// validatePrompts judges the prompts of t beside each other, and each together with the other settings of t.
func (t *target) validatePrompts() {
	named := map[string]*promptEntry{}
	for i, p := range t.prompts {
		s, e := p.settings, p.entry
		other, isTaken := named[s.Name]
		if isTaken && s.Name != "" {
			e.reportTakenName(s.Name, p.namePlace(), other.namePlace())
		} else {
			named[s.Name] = p
		}
		if i == mostPrompts {
			e.problems.Add(e.placeOf(e.key(&s.Name)).at, fmt.Sprintf("the target has %d prompts", len(t.prompts)),
				fmt.Sprintf("want at most %d: each has all series of its own", mostPrompts))
		}
		t.validatePrompt(p)
	}
}

// namePlace returns the place where the name of p is from: its own or, without one, its workload.
func (p *promptEntry) namePlace() string {
	s, e := p.settings, p.entry
	switch {
	case e.given(&s.Name):
		return e.problemPlace(&s.Name)
	case e.given(&s.Workload):
		return e.problemPlace(&s.Workload)
	}
	return e.title
}

// validatePrompt judges a prompt of t together with the settings of t on which its workload depends.
func (t *target) validatePrompt(p *promptEntry) {
	s := t.settings
	switch p.settings.Workload {
	case "dataset":
		if s.DatasetFile == "" && t.entry.right(&s.DatasetFile) {
			e, field := p.where(t, &p.settings.Workload, &s.Prompt)
			name := t.entry.nameOf(&s.DatasetFile)
			e.problem(field, "given without "+name, "set "+name+" to the file with the prompts")
		}
	case "canary":
		t.validateCanary(p)
	case "tool", "json":
		t.validateForm(p)
	case "sessions":
		t.validateSessions(p)
	}
}

// validateCanary judges whether the words of a canary fit into its prompt and its answer. A depth more takes a sentence
// of 11 words and two code words, in tokens hardly more than 20. Some models number the code words of their answer and
// put each on a line of its own: 5 tokens are enough for one.
func (t *target) validateCanary(p *promptEntry) {
	leastPrompt, leastAnswer := 80, 16
	of := "canary"
	depths := len(t.settings.CanaryDepth)
	if depths > 1 {
		leastPrompt += 20 * (depths - 1)
		leastAnswer = max(leastAnswer, 10*depths)
		of += fmt.Sprintf(" with %d depths", depths)
	}
	if t.entry.right(&t.settings.CanaryDepth) {
		t.wantTokens(p, of, leastPrompt, leastAnswer)
	}
}

// validateForm judges whether an answer can be asked for as a tool call or as JSON. Chat templates write the function
// and its schema into the prompt, in up to some 300 tokens. The JSON has some 25 tokens, and a tool call has a frame
// around it.
func (t *target) validateForm(p *promptEntry) {
	s, workload := t.settings, p.settings.Workload
	dialect, err := wire.Lookup(s.API)
	if t.entry.right(&s.API) && err == nil && !dialect.Forms {
		e, field := p.where(t, &p.settings.Workload, &s.Prompt)
		e.problem(field, "cannot be asked for by the API "+s.API,
			"set "+t.entry.nameOf(&s.API)+" to openai-chat, or choose another workload")
	}
	leastPrompt := map[string]int{"tool": 500, "json": 150}[workload]
	t.wantTokens(p, workload, leastPrompt, 64)
	for _, field := range []string{"tools", "tool_choice", "response_format"} {
		_, isThere := s.Body[field]
		if isThere && t.entry.right(&s.Body) {
			t.entry.problem(&s.Body, quote(field)+" is a field that the prompt "+workload+" sets itself", "leave it out")
		}
	}
}

// wantTokens reports the length of prompt p, or of its answer, if it is too small for its workload.
func (t *target) wantTokens(p *promptEntry, workload string, leastPrompt, leastAnswer int) {
	text := "too few for the prompt " + workload
	e, field := p.where(t, &p.settings.Tokens, &t.settings.PromptTokens)
	if e.right(field) && p.settings.Tokens < leastPrompt {
		e.problem(field, text, fmt.Sprintf("want at least %d", leastPrompt))
	}
	e, field = p.where(t, &p.settings.MaxTokens, &t.settings.MaxTokens)
	if e.right(field) && p.settings.MaxTokens < leastAnswer {
		e.problem(field, text, fmt.Sprintf("want at least %d", leastAnswer))
	}
}

// validateSessions judges the lengths of the prompts of a session.
func (t *target) validateSessions(p *promptEntry) {
	s := t.settings
	tokens, tokensField := p.where(t, &p.settings.Tokens, &s.PromptTokens)
	answer, answerField := p.where(t, &p.settings.MaxTokens, &s.MaxTokens)
	if !tokens.right(tokensField) || !answer.right(answerField) {
		return
	}
	if t.entry.right(&s.SystemTokens) && s.SystemTokens >= p.settings.Tokens {
		t.entry.problem(&s.SystemTokens, fmt.Sprintf("not below the %d tokens of the prompt", p.settings.Tokens),
			"lower it: each prompt begins with the system prompt")
	}
	last := p.settings.Tokens + (s.SessionRounds-1)*p.settings.MaxTokens
	if t.entry.right(&s.SessionRounds) && last > mostTokens {
		t.entry.problem(&s.SessionRounds, fmt.Sprintf("makes the last prompt of a session longer than %d tokens", last),
			fmt.Sprintf("want fewer rounds or shorter answers: a prompt has at most %d tokens", mostTokens))
	}
}

// Title returns what people call prompt i of t: the name of the target, and that of the prompt if there are several.
func (t Target) Title(i int) string {
	if len(t.Prompts) > 1 {
		return t.Name + " · " + t.Prompts[i].Name
	}
	return t.Name
}

// MeanOfPrompts returns the mean of a quantity of the prompts of t, which are asked by their shares.
func (t Target) MeanOfPrompts(quantity func(prompt int) float64) float64 {
	sum, shares := 0.0, 0
	for i, p := range t.Prompts {
		sum += float64(p.Share) * quantity(i)
		shares += p.Share
	}
	return sum / float64(shares)
}

// RateOf returns how often prompt i of t is asked, in probes per second.
func (t Target) RateOf(i int) float64 {
	shares := 0
	for _, p := range t.Prompts {
		shares += p.Share
	}
	return t.QPS * float64(t.Prompts[i].Share) / float64(shares)
}

// OfPrompt returns t as if prompt i were the only one that it is asked: with the workload, the lengths and the place of
// that prompt, its share of the rate, and the objectives that judge it. What holds for the target as a whole, such as
// the budget, is left as it is.
func (t Target) OfPrompt(i int) Target {
	p := t.Prompts[i]
	t.QPS = t.RateOf(i)
	t.Prompts = []Prompt{p}
	t.Prompt, t.PromptTokens, t.MaxTokens = p.Workload, p.Tokens, p.MaxTokens
	if p.Places != nil {
		t.Places = maps.Clone(t.Places)
		maps.Copy(t.Places, p.Places)
	}
	judgesOther := func(o probe.Objective) bool { return o.Prompt != "" && o.Prompt != p.Name }
	t.Objectives = slices.DeleteFunc(slices.Clone(t.Objectives), judgesOther)
	t.GivenObjectives = slices.DeleteFunc(slices.Clone(t.GivenObjectives), judgesOther)
	return t
}

// comparePrompts reports prompts of a member of a group that differ from those of its first member. Where no list is
// written, their settings have been compared.
func (l *loader) comparePrompts(t, lead *target) {
	isListed := len(t.entry.entries[l.schema.prompt])+len(lead.entry.entries[l.schema.prompt]) > 0
	isEqual := func(a, b Prompt) bool {
		a.Places, b.Places = nil, nil
		return reflect.DeepEqual(a, b)
	}
	areEqual := slices.EqualFunc(t.settings.Prompts, lead.settings.Prompts, isEqual)
	if !isListed || areEqual || !t.promptsAreRight() || !lead.promptsAreRight() {
		return
	}
	t.entry.problems.Add(t.namePlace(), fmt.Sprintf("targets %s and %s are in group %s, but have other prompts",
		quote(lead.settings.Name), quote(t.settings.Name), quote(t.settings.Group)),
		"give all members of a group the same list of prompts, in the same order")
}
