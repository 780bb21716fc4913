package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestCostLimit holds which configurations cost too much, and that defaults never do: not by their number either.
func TestCostLimit(t *testing.T) {
	urls := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("http://h%d", i))
		}
		return list
	}
	const limit = "MAX_TOKENS_PER_DAY="
	for name, test := range map[string]struct {
		targets       int
		environ       string
		finite        bool
		refused, warn string // in the problem or the warning; empty for none
	}{
		"five with the defaults": {5, "", false, "", ""},
		"six with the defaults": {6, "", false, "",
			"cost 1,093,824,000 tokens a day; if this is meant, set PROBER_MAX_TOKENS_PER_DAY=1093824000"},
		"a hundred with the defaults":       {100, "", false, "", "cost 18,230,400,000 tokens a day"},
		"a hundred, if this is meant":       {100, limit + "18230400000", false, "", ""},
		"a hundred without limit":           {100, limit + "none", false, "", ""},
		"a hundred users' sessions":         {100, "PROMPT=sessions", false, "", "tokens a day"},
		"six with the default as the limit": {6, limit + "1000000000", false, "cost 1,093,824,000 tokens a day", ""},
		"one above a limit":                 {1, limit + "182303999", false, "cost 182,304,000 tokens a day", ""},
		"one at its limit":                  {1, limit + "182304000", false, "", ""},
		"a high rate":                       {1, "QPS=30", false, "cost 54,691,200,000 tokens a day", ""},
		"a high rate, if this is meant":     {1, "QPS=30\n" + limit + "54691200000", false, "", ""},
		"a high rate within a budget": {1, "QPS=30\nTOKEN_BUDGET_PER_DAY=1000000000", false, "",
			"the budget ends at 00:26 UTC; qps 0.54 would last all day"},
		"a high rate of a run that ends": {1, "QPS=30", true, "", ""},
		"a wrong rate costs nothing":     {1, "QPS=x\nPROMPT_TOKENS=1000000", false, "not a number", ""},
	} {
		c, err := Load(Options{Environ: environ(test.environ), URLs: urls(test.targets), Finite: test.finite})
		switch {
		case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)):
			t.Errorf("%s: %v, want %q", name, err, test.refused)
		case test.refused == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case err == nil:
			warned := slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.Contains(w, test.warn) })
			if warned != (test.warn != "") {
				t.Errorf("%s: warnings %q, want %q", name, c.Warnings, test.warn)
			}
		}
	}
}

// TestBudgetEnd holds when a budget ends, and that the rate that is told lasts, but little more would not.
func TestBudgetEnd(t *testing.T) {
	target := func(qps float64, budget int) Target {
		return Target{Settings: Settings{QPS: qps, PromptTokens: 21000, MaxTokens: 100, TokenBudgetPerDay: budget}}
	}
	for want, given := range map[string]Target{
		"": target(0.1, 0),
		"the budget ends at 06:35 UTC; qps 0.027 would last all day":   target(0.1, 50_000_000),
		"the budget ends at 12:00 UTC; qps 0.05 would last all day":    target(0.1, 91_152_000),
		"the budget ends at 00:00 UTC; qps 1.1e-05 would last all day": target(1, 21_100),
	} {
		if got := given.BudgetEnd(given.TokensPerDay(), given.TokensPerProbe()); got != want {
			t.Errorf("%d of %d a day: %q, want %q", given.TokenBudgetPerDay, given.TokensPerDay(), got, want)
		}
	}
	if lasts := target(0.1, 182_304_000); lasts.BudgetEnd(lasts.TokensPerDay(), lasts.TokensPerProbe()) != "" {
		t.Error("a budget of exactly a day ends")
	}
	for qps := 0.0003; qps < 1000; qps *= 1.37 {
		for budget := 100_000; budget < 1e12; budget *= 7 {
			given := target(qps, budget)
			end := given.BudgetEnd(given.TokensPerDay(), given.TokensPerProbe())
			_, rest, found := strings.Cut(end, "qps ")
			if !found {
				continue
			}
			var rate float64
			if _, err := fmt.Sscan(strings.Fields(rest)[0], &rate); err != nil {
				t.Fatal(err)
			}
			lower, higher := target(rate, budget), target(rate*1.11, budget)
			if lower.TokensPerDay() > budget || higher.TokensPerDay() <= budget {
				t.Errorf("qps %v and a budget of %d: %s", qps, budget, end)
			}
		}
	}
}

// TestFilesBesideTheTargetsFile holds that relative paths in the targets file begin at its folder, those in variables
// and flags at the working directory, and that no path is changed that is absolute.
func TestFilesBesideTheTargetsFile(t *testing.T) {
	const file = "api_key_file: shared.key\ntargets:\n" +
		"- {url: https://a, ca_file: tls/ca.pem, cert_file: /abs/c.pem, key_file: ../k.pem, prompt: dataset, " +
		"dataset_file: set.jsonl}\n" +
		"- {url: https://b, api_key_file: own.key}\n"
	content := files(map[string]string{
		"/etc/prober/targets.yaml": file, "/etc/prober/shared.key": "shared", "/etc/prober/own.key": "own",
		"/etc/prober/tls/ca.pem": "", "/abs/c.pem": "", "/etc/k.pem": "", "/etc/prober/set.jsonl": "",
		"env.key": "env", "flag.key": "flag",
	})
	c := load(t, Options{Environ: environ("TARGETS_FILE=/etc/prober/targets.yaml"), ReadFile: content})
	a, b := c.Targets[0], c.Targets[1]
	want := []string{"/etc/prober/set.jsonl", "/etc/prober/tls/ca.pem", "/abs/c.pem", "/etc/k.pem"}
	got := a.Files()
	slices.Sort(want)
	slices.Sort(got)
	if a.APIKey.Reveal() != "shared" || b.APIKey.Reveal() != "own" || !slices.Equal(got, want) {
		t.Errorf("keys %q and %q, files %q", a.APIKey.Reveal(), b.APIKey.Reveal(), got)
	}
	for name, o := range map[string]Options{
		"env": {Environ: environ("TARGETS_FILE=/etc/prober/targets.yaml\nAPI_KEY_FILE=env.key")},
		"flag": {Environ: environ("TARGETS_FILE=/etc/prober/targets.yaml"),
			Overrides: map[string]string{"API_KEY_FILE": "flag.key"}},
	} {
		o.ReadFile = content
		if key := load(t, o).Targets[0].APIKey.Reveal(); key != name {
			t.Errorf("%s: %q", name, key)
		}
	}
	missing := "targets:\n- {url: https://a, api_key_file: none.key}\n"
	_, err := Load(Options{
		Environ:  environ("TARGETS_FILE=conf/t.yaml"),
		ReadFile: files(map[string]string{"conf/t.yaml": missing}),
	})
	if place := `conf/t.yaml:2: api_key_file="conf/none.key": open conf/none.key`; err == nil ||
		!strings.Contains(err.Error(), place) {
		t.Errorf("%v, want %s", err, place)
	}
}
