package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTargetsFile holds what is written in another way than in the environment, whose targets come first, and that it may be empty.
func TestTargetsFile(t *testing.T) {
	got := load(t, Options{Environ: environ("TARGETS_FILE=targets.yaml\nTARGETS_0_URL=http://c"), ReadFile: files(map[string]string{"targets.yaml": `
max_tokens: 7
priority: 0
targets:
- {url: http://a, headers: &h {X-A: "a,b=c", X-B: 3}, model: &m big}
- {url: http://b, headers: *h, model: *m, max_tokens: ~, priority: none}
objectives:
- {name: quick, signal: server_ttft, limit: 2s, goal: 0.9}
- {name: up}
`})})
	want := load(t, Options{Environ: environ("TARGETS_0_URL=http://c\nTARGETS_1_URL=http://a\nTARGETS_2_URL=http://b\nMAX_TOKENS=7")})
	want.TargetsFile = "targets.yaml"
	want.Targets[0].Priority, want.Targets[1].Priority = new(0), new(0) // which is a priority
	for i := range want.Targets[1:] {
		want.Targets[i+1].Model = "big"
		want.Targets[i+1].Headers = Headers{"X-A": NewSecret("a,b=c"), "X-B": NewSecret("3")}
	}
	want.Objectives = []Objective{
		{Name: "quick", Signal: "server_ttft", Limit: 2 * time.Second, Goal: 0.9}, {Name: "up", Signal: "availability", Goal: 0.99},
	}
	want.Given = want.Objectives
	if diff := cmp.Diff(want, got, secrets); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, content := range []string{"", "# nothing\n", "---\n", "targets:\nobjectives: []\n"} {
		load(t, Options{Environ: withTarget("TARGETS_FILE=f.yaml"), ReadFile: files(map[string]string{"f.yaml": content})})
	}
}
