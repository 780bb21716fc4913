package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/probe"
)

// judge checks that Load either has problems, each on a line of its own and
// without the secret, or a configuration that keeps its promises.
func judge(t *testing.T, c *Config, err error, secret string) {
	t.Helper()
	if err == nil {
		promises(t, c)
		return
	}
	var ps Problems
	if c != nil || !errors.As(err, &ps) || len(ps) == 0 {
		t.Fatalf("got configuration %v beside error %v", c, err)
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != len(ps)+1 {
		t.Errorf("%d problems on %d lines:\n%s", len(ps), len(lines), err)
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("a problem shows a secret:\n%s", err)
	}
}

// promises checks what the fields of c say about themselves.
func promises(t *testing.T, c *Config) {
	t.Helper()
	names := map[string]bool{}
	for _, target := range c.Targets {
		names[target.Name] = true
		if target.Name == "" || target.Group == "" || target.URL == "" || target.API == "" || !printable(target.Name+target.Group+target.Model) {
			t.Errorf("a label is missing or does not print: %+v", target)
		}
		if !(target.QPS > 0 && target.QPS <= 1000) || target.PromptTokens < 16 || target.MaxTokens < 1 || target.MaxInFlight < 1 || target.TokenBudgetPerDay < 0 {
			t.Errorf("a number is out of bounds: %+v", target)
		}
		if target.StallTimeout <= 0 || target.StallTimeout > target.Timeout {
			t.Errorf("the stall timeout is not within the timeout: %+v", target)
		}
		asks(t, target)
		for _, o := range c.Objectives {
			if !measurable(target.QPS, o.Goal) || (o.Limit == 0) != (o.Signal == probe.SignalAvailability) {
				t.Errorf("%+v makes no sense for %+v", o, target)
			}
		}
	}
	if len(names) == 0 || len(names) != len(c.Targets) || len(c.Objectives) == 0 {
		t.Errorf("targets or objectives are missing or share a name: %+v", c)
	}
}

// asks checks what a target says about its prompts.
func asks(t *testing.T, target Target) {
	t.Helper()
	if target.SessionUsers < 1 || target.SessionRounds < 1 || target.SystemTokens < 0 || !(target.CanaryDepth >= 0 && target.CanaryDepth <= 1) || target.BackoffLimit < 0 {
		t.Errorf("a number is out of bounds: %+v", target)
	}
	switch target.Prompt {
	case "cold", "warm", "canary":
	case "sessions":
		if target.SystemTokens >= target.PromptTokens || target.PromptTokens+(target.SessionRounds-1)*target.MaxTokens > mostTokens {
			t.Errorf("sessions that cannot be: %+v", target)
		}
	case "book":
		if target.BookFile == "" {
			t.Errorf("no book: %+v", target)
		}
	case "dataset":
		if target.DatasetFile == "" {
			t.Errorf("no data set: %+v", target)
		}
	default:
		t.Errorf("unknown prompt: %+v", target)
	}
	if target.SessionHeader != "" && !forms["header"].MatchString(target.SessionHeader) || !printable(target.APIVersion) {
		t.Errorf("something that no header can hold: %+v", target)
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
	f.Add("PROMPT", "book", "BOOK_FILE", "key")
	f.Add("CANARY_DEPTH", "1e-999", "TARGETS_0_PRIORITY", "-9999999999")
	f.Add("SESSION_HEADER", "x-user-id", "HEADERS", "a=b")
	f.Add("TIMEOUT", "0.1ns", "QPS", "1e-320")
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
