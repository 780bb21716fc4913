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

// judge checks what Load returned: either problems, each on one line and without the secret, or a configuration that
// keeps its promises.
func judge(t *testing.T, c *Config, err error, secret string) {
	t.Helper()
	problems, ok := errors.AsType[usage.Problems](err)
	if err != nil && (c != nil || !ok || len(problems) == 0) {
		t.Fatalf("got configuration %v beside error %v", c, err)
	}
	if err == nil {
		for _, target := range c.Targets {
			promises(t, target, c)
		}
		for _, s := range c.HTTPSD {
			target, _, _ := c.Listed(s, "10.0.0.1:80", nil)
			promises(t, target, c)
		}
		problems = c.Problems()
	}
	text := problems.Error()
	if strings.Count(text, "\n") != len(problems) || strings.Contains(text, secret) {
		t.Errorf("a problem has not one line, or shows a secret:\n%s", text)
	}
}

// promises checks what the rest of the program relies on.
func promises(t *testing.T, target Target, c *Config) {
	t.Helper()
	for promise, kept := range map[string]bool{
		"there is a URL":    target.URL != "" && target.API != "",
		"there are labels":  target.Name != "" && target.Group != "",
		"labels print":      printable(target.Name + target.Group + target.Model),
		"qps":               target.QPS > 0,
		"stalls end probes": target.StallTimeout > 0 && target.StallTimeout <= target.Timeout,
		"objectives":        len(target.Objectives) > 0,
		"prompts":           len(target.Prompts) > 0 && len(target.Prompts) <= mostPrompts,
	} {
		if !kept {
			t.Errorf("not so: %s: %+v", promise, target)
		}
	}
	names := map[string]bool{}
	for i, p := range target.Prompts {
		last := p.Tokens + (target.SessionRounds-1)*p.MaxTokens
		for promise, kept := range map[string]bool{
			"the name is unique": p.Name != "" && printable(p.Name) && !names[p.Name],
			"lengths":            p.Tokens > 0 && p.MaxTokens > 0 && p.Share > 0,
			"data set":           p.Workload != "dataset" || target.DatasetFile != "",
			"sessions fit":       p.Workload != "sessions" || target.SystemTokens < p.Tokens && last <= mostTokens,
		} {
			if !kept {
				t.Errorf("not so: %s: %+v of %+v", promise, p, target)
			}
		}
		names[p.Name] = true
		asked := target.OfPrompt(i)
		for _, o := range asked.Objectives {
			warning := fmt.Sprintf("objective %q (", o.Name)
			isWarned := slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.HasPrefix(w, warning) })
			if !isWarned && !canPage(asked.QPS, o.Goal) || (o.Limit == 0) != (o.Signal == probe.SignalAvailability) {
				t.Errorf("%+v is not judged at %v probes per second", o, asked.QPS)
			}
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
	f.Add("HTTP_SD_0_URL", "http://sd", "HTTP_SD_1_REFRESH", "1s")
	f.Add("QPS", "1e-7", "OBJECTIVES_0_SIGNAL", "availability")
	f.Fuzz(func(t *testing.T, name1, text1, name2, text2 string) {
		const secret = "sk-f0rb1dden"
		environment := map[string]string{"PROBER_TARGETS_0_URL": "http://one"}
		for name, text := range map[string]string{name1: text1, name2: text2} {
			if strings.HasSuffix(name, "API_KEY") || strings.HasSuffix(name, "SECRET") || strings.HasSuffix(name, "HEADERS") {
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
	f.Add("prompt: sessions\nsystem_tokens: 20999\ntargets:\n" +
		"- {url: http://two, prompt_tokens: 80, priority: -1, backoff_limit: none}")
	f.Add("prompt: dataset\ndataset_file: key\ncanary_depth: .5")
	f.Add("targets: &a [*a]")
	f.Add("targets:\n- &a {url: http://two, headers: *a}")
	f.Add("<<: {qps: 1}\n? [a]\n: b")
	f.Add("qps: 0.02\nprompts: [{name: a}, {prompt: sessions, prompt_tokens: 900, share: 3}]\nobjectives: [{prompt: a}]")
	f.Add("http_sd: [{url: 'http://me:me@sd/?a#b'}, {url: http://sd, refresh: 9s}, 3]\nlabels: {a: b}\nprompt: sessions")
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
