package main

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
)

// TestParseGate holds what --fail-on takes, and what is offered: of a command that compares nothing no regression.
func TestParseGate(t *testing.T) {
	for want, test := range map[string]struct {
		failOn  []string
		targets []config.Target
	}{
		"{true true 2.5} ": {[]string{"objective", " regression>2.5%"}, make([]config.Target, 2)},
		"{false false 0} 1 problem:\n  --fail-on=\"x\": unknown; want objective":                                          {[]string{"x"}, nil},
		"{true false 0} 1 problem:\n  --fail-on=\"regression>5\": unknown; want objective, regression or 'regression>5%'": {[]string{"objective", "regression>5"}, make([]config.Target, 1)},
	} {
		g, problems := parseGate(test.failOn, []probe.Objective{}, test.targets)
		text := ""
		if problems != nil {
			text = problems.Error()
		}
		if got := fmt.Sprint(g, " ", text); got != want {
			t.Errorf("%q: %s, want %s", test.failOn, got, want)
		}
	}
}

func TestCheckOutput(t *testing.T) {
	dir := t.TempDir()
	if problems := checkOutput("text", filepath.Join(dir, "x.html")); problems != nil {
		t.Error(problems)
	}
	if problems := append(checkOutput("json", filepath.Join(dir, "no", "x.html")), checkOutput("json", "x.png")...); len(problems) != 2 {
		t.Error(problems)
	}
}
