package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPrompts holds what a target is asked, by which name, how long and how often: prompts of its own come before those
// of all targets, what is not written of one is the target's, and flags hold for each.
func TestPrompts(t *testing.T) {
	const file = `
prompt: warm
prompts: [{name: short, prompt_tokens: 80}, {prompt: cold, share: 3}]
targets:
- {url: http://shares, max_tokens: 9}
- {url: http://own, prompt_tokens: 1000, prompts: [{prompt: canary}, {}, {name: cold, max_tokens: 50}]}
- {url: http://empty, prompts: []}
`
	for name, test := range map[string]struct {
		file      string
		variables []string
		flags     map[string]string
		want      string // of each target and prompt: name, workload, tokens of prompt and answer, share
	}{
		"a target without": {
			variables: []string{"TARGETS_0_URL=http://a", "PROMPT_TOKENS=80"},
			want:      "cold: cold 80+100 1",
		},
		"variables": {
			variables: []string{"TARGETS_0_URL=http://a", "PROMPTS_0_NAME=a", "PROMPTS_1_NAME=b", "PROMPTS_1_MAX_TOKENS=5"},
			want:      "a: cold 21000+100 1, b: cold 21000+5 1",
		},
		"variables of a target": {
			variables: []string{"TARGETS_0_URL=http://a", "TARGETS_0_PROMPTS_0_PROMPT=warm", "PROMPTS_0_NAME=a"},
			want:      "warm: warm 21000+100 1",
		},
		"a file": {
			file: file,
			want: "short: warm 80+9 1, cold: cold 21000+9 3\n" +
				"canary: canary 1000+100 1, warm: warm 1000+100 1, cold: warm 1000+50 1\n" +
				"short: warm 80+100 1, cold: cold 21000+100 3",
		},
		"a file, and a variable": {
			file: file, variables: []string{"PROMPTS_0_NAME=first"},
			want: "first: warm 21000+9 1, short: warm 80+9 1, cold: cold 21000+9 3\n" +
				"canary: canary 1000+100 1, warm: warm 1000+100 1, cold: warm 1000+50 1\n" +
				"first: warm 21000+100 1, short: warm 80+100 1, cold: cold 21000+100 3",
		},
		"a file, and flags": {
			file: file, flags: map[string]string{"PROMPT_TOKENS": "300", "MAX_TOKENS": "30"},
			want: "short: warm 300+30 1, cold: cold 300+30 3\n" +
				"canary: canary 300+30 1, warm: warm 300+30 1, cold: warm 300+30 1\n" +
				"short: warm 300+30 1, cold: cold 300+30 3",
		},
	} {
		o := withFile(test.file, test.variables...)
		o.Overrides = test.flags
		var got []string
		for _, target := range load(t, o).Targets {
			var prompts []string
			for _, p := range target.Prompts {
				prompts = append(prompts, fmt.Sprintf("%s: %s %d+%d %d", p.Name, p.Workload, p.Tokens, p.MaxTokens, p.Share))
			}
			got = append(got, strings.Join(prompts, ", "))
		}
		if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestOfPrompt holds what a target is with only one of its prompts: its share of the rate, the objectives that judge
// it, the places of its settings, and all else as it was.
func TestOfPrompt(t *testing.T) {
	target := load(t, withFile(`
qps: 0.1
objectives: [{name: all}, {name: slow, signal: ttft, limit: 9s, prompt: long}]
targets:
- url: http://a
  token_budget_per_day: none
  prompts:
  - {name: short, prompt: warm, prompt_tokens: 80, max_tokens: 5, share: 3}
  - {name: long}
`)).Targets[0]
	for i, want := range []string{
		"warm 80+5 every 13.333333333s [all] prompt_tokens in f.yaml:8",
		"cold 21000+100 every 40s [all slow] PROBER_TARGETS_0_PROMPT_TOKENS",
	} {
		p := target.OfPrompt(i)
		var objectives []string
		for _, o := range p.Objectives {
			objectives = append(objectives, o.Name)
		}
		got := fmt.Sprintf("%s %d+%d every %v %v %s",
			p.Prompt, p.PromptTokens, p.MaxTokens, p.Interval(), objectives, p.Places["prompt_tokens"])
		if i == 1 { // nobody wrote it
			want = strings.Replace(want, "PROBER_TARGETS_0_PROMPT_TOKENS", target.Places["prompt_tokens"], 1)
		}
		if got != want {
			t.Errorf("prompt %d: %s, want %s", i, got, want)
		}
	}
	perDay := target.OfPrompt(0).TokensPerDay() + target.OfPrompt(1).TokensPerDay()
	if perDay != target.TokensPerDay() || perDay != 6480*85+2160*21100 {
		t.Errorf("the prompts cost %d tokens a day together, the target %d", perDay, target.TokensPerDay())
	}
}

// TestPromptsHaveTheBoundsOfTargets holds that a prompt may be what a target may be.
func TestPromptsHaveTheBoundsOfTargets(t *testing.T) {
	s := newSchema()
	for _, k := range s.prompt.keys {
		ofTarget, isOfTarget := s.target.find(k.name)
		if !isOfTarget || k.name == "NAME" {
			continue
		}
		for _, tag := range []string{"oneof", "min", "max", "format"} {
			if got, want := k.field.Tag.Get(tag), ofTarget.field.Tag.Get(tag); got != want {
				t.Errorf("%s of a prompt has the tag %s:%q, of a target %q", k.name, tag, got, want)
			}
		}
	}
}

// TestPromptsAreShown holds that what config show prints for the prompts of a target is read as the same again, even if
// they are written for all targets.
func TestPromptsAreShown(t *testing.T) {
	o := withFile(`{prompts: [{name: a, share: 2}, {name: b}], targets: [{url: http://a}, {url: http://b, prompts: [{}]}]}`)
	text, _, err := Effective(o)
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(text, "\ntargets:\n") // without what has only variables
	again := load(t, withFile("targets:\n"+shown))
	for i, target := range load(t, o).Targets {
		want, got := fmt.Sprint(namesOfPrompts(target)), fmt.Sprint(namesOfPrompts(again.Targets[i]))
		if want != got {
			t.Errorf("target %d: %s, want %s\n%s", i, got, want, text)
		}
	}
}

func namesOfPrompts(t Target) (names []string) {
	for _, p := range t.Prompts {
		names = append(names, fmt.Sprint(p.Name, p.Tokens, p.Share))
	}
	return names
}
