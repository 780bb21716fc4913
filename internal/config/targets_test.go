package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/probe"
)

// TestTargetsFile holds how the targets file differs from the environment: aliases, null, headers as a mapping. The
// targets of the environment come first.
func TestTargetsFile(t *testing.T) {
	const file = `
max_tokens: 7
priority: 0
targets:
- {url: http://a, headers: &h {X-A: "a,b=c", X-B: 3}, model: &m big}
- {url: http://b, headers: *h, model: *m, max_tokens: ~, priority: none}
objectives:
- {name: quick, signal: server_ttft, limit: 2s, goal: 0.9}
- {name: up}
`
	got := load(t, withFile(file, "TARGETS_0_URL=http://c"))
	want := load(t, Options{
		Environ: environ("TARGETS_0_URL=http://c\nTARGETS_1_URL=http://a\nTARGETS_2_URL=http://b\nMAX_TOKENS=7"),
	})
	want.TargetsFile = "f.yaml"
	want.Targets[0].Priority = new(0) // which is not the absence of one
	want.Targets[1].Priority = new(0)
	for i := range want.Targets[1:] {
		want.Targets[i+1].Model = "big"
		want.Targets[i+1].Headers = Headers{"X-A": NewSecret("a,b=c"), "X-B": NewSecret("3")}
	}
	objectives := []probe.Objective{
		{Name: "quick", Signal: "server_ttft", Limit: 2 * time.Second, Goal: 0.9},
		{Name: "up", Signal: "availability", Goal: 0.99},
	}
	for i := range want.Targets {
		want.Targets[i].Objectives, want.Targets[i].GivenObjectives = objectives, objectives
	}
	if diff := cmp.Diff(want, got, secrets, noPlaces); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestTargetsFileMayBeEmpty(t *testing.T) {
	for _, content := range []string{"", "# nothing\n", "---\n", "targets:\nobjectives: []\n"} {
		load(t, withFile(content, "TARGETS_0_URL=http://a"))
	}
}

// TestWholeFile holds what is reported of a file that is wrong as a whole. It is not reported that targets are missing,
// too.
func TestWholeFile(t *testing.T) {
	for content, want := range map[string]string{
		"qps: 0.1\n---\nqps: 0.2": "f.yaml:2: a second document begins; want one document",
		"- url: http://a":         "f.yaml:1: is a list; want a mapping",
		"targets: http://a":       "f.yaml:1: is a single value; want a list",
		"targts: [{url: a}]":      `f.yaml:1: unknown key "targts" (did you mean "targets"?)`,
		// The default timeout is not judged in its place.
		"timeout: [9s]\ntargets: [{url: http://a, stall_timeout: 200s}]": "f.yaml:1: is a list; want a single value",
		"qps: 1":                     "f.yaml: no targets; want at least one target, or a URL as an argument",
		strings.Repeat("#", 2<<20):   "f.yaml: no targets; want at least one target, or a URL as an argument",
		strings.Repeat("#", 2<<20+1): `PROBER_TARGETS_FILE="f.yaml": has more than 2 MiB; want a targets file`,
	} {
		_, err := Load(withFile(content))
		if err == nil || err.Error() != "1 problem:\n  "+want {
			t.Errorf("%.30s: got %v, want %s", content, err, want)
		}
	}
	const missing = `PROBER_TARGETS_FILE="no": open no: no such file or directory; create the file, or correct the path`
	_, err := Load(Options{Environ: environ("TARGETS_FILE=no"), ReadFile: files(nil)})
	if err == nil || err.Error() != "1 problem:\n  "+missing {
		t.Errorf("got %v, want %s", err, missing)
	}
}

// TestFilesBesideTheTargetsFile holds that relative paths in the targets file begin at its folder.
func TestFilesBesideTheTargetsFile(t *testing.T) {
	content := map[string]string{
		"/etc/prober/targets.yaml": `
api_key_file: shared.key
targets:
- {url: https://a, ca_file: tls/ca.pem, cert_file: /abs/c.pem, key_file: ../k.pem, dataset_file: set.jsonl}
- {url: https://b, api_key_file: own.key}
`,
		"/etc/prober/shared.key": "shared", "/etc/prober/own.key": "own", "/etc/prober/tls/ca.pem": "", "/abs/c.pem": "",
		"/etc/k.pem": "", "/etc/prober/set.jsonl": "",
	}
	o := Options{Environ: environ("TARGETS_FILE=/etc/prober/targets.yaml"), ReadFile: files(content)}
	c := load(t, o)
	want := []string{"/etc/prober/tls/ca.pem", "/abs/c.pem", "/etc/k.pem", "/etc/prober/set.jsonl"}
	if diff := cmp.Diff(want, c.Targets[0].Files()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if key := c.Targets[0].APIKey.Reveal() + " " + c.Targets[1].APIKey.Reveal(); key != "shared own" {
		t.Errorf("got the keys %s, want shared own", key)
	}
}
