package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestTargetsFile holds what is written in another way than in the environment, whose targets come first.
func TestTargetsFile(t *testing.T) {
	got := load(t, Options{Environ: environ("TARGETS_FILE=targets.yaml\nTARGETS_0_URL=http://c"), ReadFile: files(map[string]string{"targets.yaml": `
max_tokens: 7
targets:
- {url: http://a, headers: &h {X-A: "a,b=c", X-B: 3}, model: &m big}
- {url: http://b, headers: *h, model: *m, max_tokens: ~}
objectives:
- {name: quick, signal: server_ttft, limit: 2s, goal: 0.9}
`})})
	want := load(t, Options{Environ: environ("TARGETS_0_URL=http://c\nTARGETS_1_URL=http://a\nTARGETS_2_URL=http://b\nMAX_TOKENS=7")})
	want.TargetsFile = "targets.yaml"
	for i := range want.Targets[1:] {
		want.Targets[i+1].Model = "big"
		want.Targets[i+1].Headers = Headers{"X-A": NewSecret("a,b=c"), "X-B": NewSecret("3")}
	}
	want.Objectives = []Objective{{Name: "quick", Signal: "server_ttft", Limit: 2 * time.Second, Goal: 0.9}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestProblemsOfTheTargetsFile(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"a misspelt key", "targets:\n- url: http://a\n  modle: m", `f.yaml:3: unknown key "modle" (did you mean "model"?)`},
		{"a misspelt list", "target:\n- url: http://a", `f.yaml:2: unknown key "target" (did you mean "targets"?)`},
		{"a key in upper case", "QPS: 1", `f.yaml:1: unknown key "QPS" (did you mean "qps"?)`},
		{"a key of a target outside of one", "\nmodel: m", `f.yaml:2: unknown key "model"; it belongs to an entry of targets`},
		{"a key of the prober", "listen_address: :80", `f.yaml:1: unknown key "listen_address"; set PROBER_LISTEN_ADDRESS`},
		{"a key twice", "qps: 1\nmax_tokens: 5\nqps: 2", `f.yaml:3: not YAML: mapping key '…' already defined at line 1`},
		{"a wrong value", "\n\nqps: fast", `f.yaml:3: qps="fast": not a number; want probes per second, for example 0.1`},
		{"a number where a switch is wanted", "targets:\n- url: https://a\n  insecure_skip_verify: 3", `f.yaml:3: insecure_skip_verify="3": neither on nor off; want on or off`},
		{"a list where a value is wanted", "qps:\n- 1", `f.yaml:2: is a list; want one value`},
		{"a mapping where a secret is wanted", "api_key: {a: sk}", `f.yaml:1: is a mapping; want one value`},
		{"a value where a list is wanted", "targets: http://a", `f.yaml:1: is a single value; want a list`},
		{"a value where a mapping is wanted", "targets:\n- http://a", `f.yaml:2: is a single value; want a mapping`},
		{"a list for the whole file", "- url: http://a", `f.yaml:1: is a list; want a mapping`},
		{"a key that is a list", "[a]: b", `f.yaml:1: is a list; want one value`},
		{"headers that are text", "targets:\n- url: http://a\n  headers: a=b", `f.yaml:3: is a single value; want a mapping`},
		{"a header that is a list", "targets:\n- url: http://a\n  headers:\n    X-A: [sk]", `f.yaml:4: is a list; want one value`},
		{"a header twice", "targets:\n- url: http://a\n  headers:\n    X-A: sk\n    x-a: sk", `f.yaml:5: repeats a header; want name: value`},
		{"a target without URL", "targets:\n- name: a", `f.yaml:2: url: not given; want http:// or https://, a host and perhaps a port and path, for example http://localhost:8000`},
		{"an objective without limit", "objectives:\n- {signal: ttft, goal: 0.9}", `f.yaml:2: limit: not given; ttft needs a limit, for example 2s`},
		{"a key and its file", "targets:\n- url: http://a\n  api_key: sk\n  api_key_file: key",
			`f.yaml:4: api_key_file="key": given together with a key; want one of the two`},
		{"two targets with one name", "targets:\n- url: http://a\n- url: http://a/v1",
			`f.yaml:3: url="http://a/v1": the name "a:80" is already taken by f.yaml:2: url="http://a"; set name`},
		{"not YAML", "targets: [", `f.yaml:1: not YAML: did not find expected node content`},
		{"a key that looks like an alias stays hidden", "api_key: *sk-123", `f.yaml: not YAML: unknown anchor '…' referenced`},
		{"a key that holds its value", "api_key=sk-123: 1", `f.yaml:1: unknown key "api_key…"`},
		{"a header without its mapping", "targets:\n- {url: http://a, \"Authorization: Bearer sk-123\": x}", `f.yaml:2: unknown key "Authorization…"`},
		{"a key that is too long for one", strings.Repeat("k", 41) + ": 1", `f.yaml:1: unknown key "` + strings.Repeat("k", 40) + `…"`},
		{"a file that is none of ours", strings.Repeat("#", maxTargets+1), `PROBER_TARGETS_FILE="f.yaml": has more than 2 MiB; want a targets file`},
		{"two documents", "qps: 1\n---\nqps: 2", `f.yaml:2: a second document begins; want one document`},
	} {
		t.Run(test.name, func(t *testing.T) {
			content := files(map[string]string{"f.yaml": test.file, "key": "sk"})
			problems(t, Options{Environ: withTarget("TARGETS_FILE=f.yaml"), ReadFile: content}, test.want)
		})
	}
}

// TestNoTargets holds that where the targets should stand in a
// file that cannot be read, nothing says that there are none.
func TestNoTargets(t *testing.T) {
	const none = `PROBER_TARGETS_0_URL: no targets; set it, or give a URL as argument`
	for _, test := range []struct{ environ, file, want string }{
		{"", "", none},
		{"QPS=fast", "", `PROBER_QPS="fast": not a number; want probes per second, for example 0.1` + "\n" + none},
		{"TARGETS_FILE=f.yaml", "qps: 1", none},
		{"TARGETS_FILE=f.yaml", "targets: [", `f.yaml:1: not YAML: did not find expected node content`},
		{"TARGETS_FILE=f.yaml", "targts: [{url: a}]", `f.yaml:1: unknown key "targts" (did you mean "targets"?)`},
		{"TARGETS_FILE=missing", "", `PROBER_TARGETS_FILE="missing": no such file or directory`},
	} {
		problems(t, Options{Environ: environ(test.environ), ReadFile: files(map[string]string{"f.yaml": test.file})}, test.want)
	}
}

// TestOverriddenValuesAreJudged holds that what is wrong is found before it takes effect, but for files that are not there.
func TestOverriddenValuesAreJudged(t *testing.T) {
	problems(t, Options{
		Environ:   environ("TARGETS_FILE=f.yaml\nQPS=x\nBOOK_FILE=no"),
		Overrides: map[string]string{"QPS": "2", "BOOK_FILE": "f.yaml"},
		ReadFile:  files(map[string]string{"f.yaml": "qps: fast\ntargets: [{url: http://one, qps: often}]"}),
	}, `PROBER_QPS="x": not a number; want probes per second, for example 0.1
f.yaml:1: qps="fast": not a number; want probes per second, for example 0.1
f.yaml:2: qps="often": not a number; want probes per second, for example 0.1`)
}

func TestATargetsFileMayBeEmpty(t *testing.T) {
	for _, content := range []string{"", "# nothing\n", "---\n", "targets:\nobjectives: []\n"} {
		load(t, Options{Environ: withTarget("TARGETS_FILE=f.yaml"), ReadFile: files(map[string]string{"f.yaml": content})})
	}
}
