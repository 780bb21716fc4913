package engine

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/testing/exposition"
)

// fourPrompts are the variables of a target with four prompts.
func fourPrompts() []string {
	return []string{
		"TARGETS_0_NAME=x", "TARGETS_0_URL=http://a", "TARGETS_0_QPS=0.1",
		"TARGETS_0_PROMPTS_0_NAME=short",
		"TARGETS_0_PROMPTS_1_NAME=long", "TARGETS_0_PROMPTS_1_PROMPT_TOKENS=400",
		"TARGETS_0_PROMPTS_2_PROMPT=warm", "TARGETS_0_PROMPTS_2_MAX_TOKENS=7",
		"TARGETS_0_PROMPTS_3_PROMPT=canary", "TARGETS_0_PROMPTS_3_MAX_TOKENS=20",
	}
}

// ofPrompt returns the sum of the samples of a metric that have labels of a prompt, as a text.
func (d *diary) ofPrompt(metric, prompt, label string) string {
	d.t.Helper()
	sum := 0.0
	found := false
	for line := range strings.Lines(d.metrics()) {
		isOfIt := strings.HasPrefix(line, metric+"{") && strings.Contains(line, fmt.Sprintf(`prompt=%q`, prompt))
		if isOfIt && strings.Contains(line, label) {
			var value float64
			_, after, _ := strings.Cut(line, "} ")
			_, err := fmt.Sscan(after, &value)
			if err != nil {
				d.t.Fatal(err)
			}
			sum += value
			found = true
		}
	}
	if !found {
		return "none"
	}
	return fmt.Sprint(sum)
}

// TestFourPromptsShareATarget holds what an hour at 0.1 probes per second is: a slot in 40 seconds for each of four
// prompts, with its own length, and each series for itself.
func TestFourPromptsShareATarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		d.apply("", fourPrompts()...)
		time.Sleep(time.Hour)
		d.runner.SetDraining(true)
		time.Sleep(time.Minute)
		var got []string
		for _, prompt := range []string{"short", "long", "warm", "canary"} {
			got = append(got, fmt.Sprintf("%s: %s ok, %s tokens of prompt, %s of answer, every %s s", prompt,
				d.ofPrompt("llm_probe_probes_total", prompt, `outcome="ok"`),
				d.ofPrompt("llm_probe_tokens_total", prompt, `kind="prompt"`),
				d.ofPrompt("llm_probe_tokens_total", prompt, `kind="output"`),
				d.ofPrompt("llm_probe_interval_seconds", prompt, "")))
		}
		want := []string{
			"short: 90 ok, 7200 tokens of prompt, 450 of answer, every 40 s",
			"long: 90 ok, 36000 tokens of prompt, 450 of answer, every 40 s",
			"warm: 90 ok, 7200 tokens of prompt, 630 of answer, every 40 s",
			"canary: 90 ok, 7200 tokens of prompt, 1800 of answer, every 40 s",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// TestPromptsShareOneServer holds that all prompts of a target share the probes that may be in flight, and the tokens
// of a day: while one probe hangs, the slots of all prompts are skipped, and what one of them spends the others lack.
func TestPromptsShareOneServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		d.servers.Answer("a/v1/chat/completions", hang)
		d.apply("", fourPrompts()...)
		time.Sleep(90 * time.Second)
		hanging := 0.0
		for _, prompt := range []string{"short", "long", "warm", "canary"} {
			if d.ofPrompt("llm_probe_in_flight", prompt, "") == "1" {
				hanging++
			}
			if skipped := d.ofPrompt("llm_probe_skipped_total", prompt, `reason="overlap"`); skipped == "0" {
				t.Errorf("no slot of %s is skipped while a probe hangs", prompt)
			}
		}
		if hanging != 1 {
			t.Errorf("%v probes are in flight, want 1", hanging)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		const budget = 3000 // tokens
		d.apply("", append(fourPrompts(), fmt.Sprint("TOKEN_BUDGET_PER_DAY=", budget))...)
		time.Sleep(time.Hour)
		spent := 0.0
		for _, prompt := range []string{"short", "long", "warm", "canary"} {
			for _, kind := range []string{"prompt", "output"} {
				var tokens float64
				_, err := fmt.Sscan(d.ofPrompt("llm_probe_tokens_total", prompt, fmt.Sprintf("kind=%q", kind)), &tokens)
				if err != nil {
					t.Fatal(err)
				}
				spent += tokens
			}
			if skipped := d.ofPrompt("llm_probe_skipped_total", prompt, `reason="budget"`); skipped == "0" {
				t.Errorf("%s has spent what the others lack, and no slot of it is skipped", prompt)
			}
		}
		if spent > budget || spent < budget/2 {
			t.Errorf("%v tokens are spent, of a budget of %v", spent, budget)
		}
	})
}

// TestAReloadOfPrompts holds that a prompt which comes, goes or changes leaves the series and the results of the others
// as they are.
func TestAReloadOfPrompts(t *testing.T) {
	const long, again = "TARGETS_0_PROMPTS_1_NAME=long", "TARGETS_0_PROMPTS_1_NAME=again"
	changes := func(variables ...string) []string { return append(fourPrompts(), variables...) }
	without := []string{
		"TARGETS_0_NAME=x", "TARGETS_0_URL=http://a", "TARGETS_0_QPS=0.1", "TARGETS_0_PROMPTS_0_NAME=short",
	}
	for name, test := range map[string]struct {
		variables []string
		want      string // ok probes of short, long and again, in an hour before the change and one after it
		prompts   int    // that have series
	}{
		"nothing changes":          {changes(long), "180 180 none", 4},
		"a share":                  {changes("TARGETS_0_PROMPTS_0_SHARE=3"), "270 150 none", 4}, // 3 of 6, and 1 of 6
		"a name":                   {changes(again), "180 none 90", 4},
		"the others go":            {without, "450 none none", 1},
		"the length of another":    {changes("TARGETS_0_PROMPTS_1_PROMPT_TOKENS=100"), "180 180 none", 4},
		"the target has one alone": {[]string{"TARGETS_0_NAME=x", "TARGETS_0_URL=http://a"}, "none none none", 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDiary(t)
				d.apply("", fourPrompts()...)
				time.Sleep(time.Hour)
				d.apply("", test.variables...)
				time.Sleep(time.Hour)
				var got []string
				for _, prompt := range []string{"short", "long", "again"} {
					got = append(got, d.ofPrompt("llm_probe_probes_total", prompt, `outcome="ok"`))
				}
				if text := strings.Join(got, " "); text != test.want {
					t.Errorf("%s ok, want %s", text, test.want)
				}
				if n := len(exposition.Targets(d.metrics())); n != test.prompts {
					t.Errorf("%d prompts have series, want %d", n, test.prompts)
				}
			})
		})
	}
}

// TestAnObjectiveOfOnePrompt holds that OBJECTIVES_0_PROMPT restricts an objective to its prompt, and that another one
// has its own events for each prompt.
func TestAnObjectiveOfOnePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiary(t)
		d.apply("", append(fourPrompts(), "OBJECTIVES_0_NAME=each", "OBJECTIVES_0_GOAL=0.9",
			"OBJECTIVES_1_NAME=one", "OBJECTIVES_1_GOAL=0.9", "OBJECTIVES_1_PROMPT=long")...)
		time.Sleep(time.Hour)
		for prompt, want := range map[string]string{"short": "90 none", "long": "90 90"} {
			const events = "llm_probe_objective_events_total"
			got := d.ofPrompt(events, prompt, `objective="each"`) + " " + d.ofPrompt(events, prompt, `objective="one"`)
			if got != want {
				t.Errorf("events of %s: %s, want %s", prompt, got, want)
			}
		}
	})
}
