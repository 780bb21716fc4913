package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
)

// judge checks that Load either has problems, each on a line of its own and
// without the secret, or a configuration within its bounds.
func judge(t *testing.T, c *Config, err error, secret string) {
	t.Helper()
	ps, ok := errors.AsType[usage.Problems](err)
	if err != nil && (c != nil || !ok || len(ps) == 0) {
		t.Fatalf("got configuration %v beside error %v", c, err)
	}
	if err == nil {
		for _, target := range c.Targets {
			promises(t, target, c.Objectives, c.Warnings)
		}
		if len(c.Rejected) == 0 {
			return
		}
		ps = c.Problems()
		err = ps
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != len(ps)+1 || strings.Contains(err.Error(), secret) {
		t.Errorf("a problem has not one line, or shows a secret:\n%s", err)
	}
}

// promises checks what the rest of the program relies on.
func promises(t *testing.T, target Target, objectives []Objective, warnings []string) {
	t.Helper()
	canAlert := func(o Objective) bool {
		unreliable := fmt.Sprintf("the alert of objective %q", o.Name)
		warned := slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(w, unreliable) })
		return warned || measurable(target.QPS, o.Goal)
	}
	for promise, kept := range map[string]bool{
		"labels print":   target.Name != "" && target.Group != "" && printable(target.Name+target.Group+target.Model),
		"there is a URL": target.URL != "" && target.API != "",
		"bounds hold": target.QPS > 0 && target.QPS <= 1000 && target.PromptTokens >= 16 && target.MaxTokens >= 1 && target.MaxInFlight >= 1 &&
			target.TokenBudgetPerDay >= 0 && target.SessionUsers >= 1 && target.SystemTokens >= 0 && target.BackoffLimit >= 0 &&
			target.CanaryDepth >= 0 && target.CanaryDepth <= 1,
		"the stall timeout is within the timeout": target.StallTimeout > 0 && target.StallTimeout <= target.Timeout,
		"sessions fit": target.Prompt != "sessions" || target.SessionRounds >= 1 && target.SystemTokens < target.PromptTokens &&
			target.PromptTokens+(target.SessionRounds-1)*target.MaxTokens <= mostTokens,
		"a data set has a file": target.Prompt != "dataset" || target.DatasetFile != "",
		"headers are such":      target.SessionHeader == "" || headerName.MatchString(target.SessionHeader),
		"objectives are measured": len(objectives) > 0 && !slices.ContainsFunc(objectives, func(o Objective) bool {
			return !canAlert(o) || (o.Limit == 0) != (o.Signal == probe.SignalAvailability)
		}),
	} {
		if !kept {
			t.Errorf("not so: %s: %+v, %+v", promise, target, objectives)
		}
	}
}

func FuzzLoadEnv(f *testing.F) {
	f.Add("QPS", "0.1", "TARGETS_1_URL", "https://two/v1")
	f.Add("TARGETS_1_URL", "http://me:sk-hidden@two", "TARGETS_0_STALL_TIMEOUT", "1h")
	f.Add("OBJECTIVES_0_SIGNAL", "ttft", "OBJECTIVES_0_GOAL", "99.9%")
	f.Add("TARGETS_0_HEADERS", "X-A=1,X-B", "API_KEY", "\x00")
	f.Add("TARGETS_0_HEADERS", "a=%zz;&=+", "PORT_1_TCP", "")
	f.Add("TARGETS_999999_URL", "http://two", "TARGETS_0000_U\nRL", "http://two")
	f.Add("PROMPT", "sessions", "SESSION_ROUNDS", "1000")
	f.Add("PROMPT", "dataset", "DATASET_FILE", "key")
	f.Add("CANARY_DEPTH", "1e-999", "TARGETS_0_PRIORITY", "-9999999999")
	f.Add("SESSION_HEADER", "x-user-id", "HEADERS", "a=b")
	f.Add("TIMEOUT", "0.1ns", "QPS", "1e-320")
	f.Add("QPS", "1e-7", "OBJECTIVES_0_SIGNAL", "availability")
	f.Fuzz(func(t *testing.T, name1, text1, name2, text2 string) {
		const secret = "sk-f0rb1dden"
		environment := map[string]string{"PROBER_TARGETS_0_URL": "http://one"}
		for name, text := range map[string]string{name1: text1, name2: text2} {
			if strings.HasSuffix(name, "API_KEY") || strings.HasSuffix(name, "HEADERS") {
				text += secret
			}
			environment[prefix+name] = text
		}
		c, err := Load(Options{Environ: environment, ReadFile: files(map[string]string{"key": secret + "\n" + secret})})
		judge(t, c, err, secret)
	})
}

func FuzzTargetsFile(f *testing.F) {
	f.Add(exampleFile)
	f.Add("objectives:\n- {signal: ttft, limit: 2s, goal: 0.99}")
	f.Add("targets:\n- url: &a http://two\n  headers: {X-A: *a}")
	f.Add("prompt: sessions\nsystem_tokens: 20999\ntargets:\n- {url: http://two, prompt_tokens: 80, priority: -1, backoff_limit: none}")
	f.Add("prompt: dataset\ndataset_file: key\ncanary_depth: .5")
	f.Add("targets: &a [*a]")
	f.Add("targets:\n- &a {url: http://two, headers: *a}")
	f.Add("<<: {qps: 1}\n? [a]\n: b")
	f.Add("%YAML 1.1\n---\n!!set {a}\n...\n---\n")
	f.Add("\xff\xfeq\x00")
	f.Fuzz(func(t *testing.T, content string) {
		const secret = "sk-f0rb1dden"
		content += "\napi_key: " + secret + "\n"
		c, err := Load(Options{
			Environ:  environ("TARGETS_FILE=f.yaml\nTARGETS_0_URL=http://one"),
			ReadFile: files(map[string]string{"f.yaml": content, "key": secret + "\n" + secret}),
		})
		judge(t, c, err, secret)
	})
}
