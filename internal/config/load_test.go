package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestVantage holds which source of the vantage counts, that what is replaced may be wrong, and what is shown as its
// place. No target needs to be right for it.
func TestVantage(t *testing.T) {
	flag := map[string]string{"VANTAGE": "us-1"}
	for _, test := range []struct {
		name, file, environ string
		flag                map[string]string
		want, shown         string
	}{
		{name: "none, if nothing is given", file: "{vantage: null, "},
		{name: "the file", file: "{vantage: eu 1, ", want: "eu 1", shown: "f.yaml:1"},
		{
			name: "the variable before the file", want: "ap-1", shown: "PROBER_VANTAGE",
			file: `{vantage: "\t", `, environ: "VANTAGE=ap-1",
		},
		{
			name: "a flag before both", want: "us-1", shown: "--vantage",
			file: "{vantage: eu-1, ", environ: "VANTAGE=ap-1", flag: flag,
		},
	} {
		o := withFile(test.file+"targets: [{url: http://one}, {url: no URL}]}", test.environ)
		o.Overrides = test.flag
		if got := load(t, o).Vantage; got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
		o = withFile(test.file+"targets: [{url: http://one}]}", test.environ)
		o.Overrides = test.flag
		text, _, err := Effective(o)
		line := regexp.MustCompile(`(?m)^  vantage: (.*?) +# (.*)$`).FindStringSubmatch(text)
		want := []string{test.want, test.shown}
		isShown := line != nil && slices.Equal(line[1:], want)
		if err != nil || isShown != (test.want != "") {
			t.Errorf("%s: shown as %q, %v, want %q", test.name, line, err, want)
		}
	}
}

// TestDisabledTargets holds that run and check know of disabled targets, and that a run which is finite leaves them out
// and says so. It refuses to begin if none is left, and a flag enables all.
func TestDisabledTargets(t *testing.T) {
	const one = "targets: [{url: http://a, name: a, enabled: false}"
	for _, test := range []struct {
		name, file string
		finite     bool
		flag       string
		want       string
	}{
		{name: "run", file: one + ", {url: http://b, name: b}]", want: "a false, b true"},
		{name: "run, all", file: one + "]", want: "a false"},
		{
			name: "once", file: one + ", {url: http://b, name: b}]", finite: true,
			want: `b true, f.yaml:1: enabled="false": target "a" is disabled, and left out`,
		},
		{name: "once, enabled", file: one + ", {url: http://b, name: b}]", finite: true, flag: "on", want: "a true, b true"},
		{
			name: "once, all", file: one + "]", finite: true,
			want: `1 problem:
  f.yaml:1: enabled="false": all targets are disabled; enable one of them; --enabled enables all for one command`,
		},
		{
			name: "once, and the others are wrong", file: one + ", {url: http://b, name: b, qps: x}]", finite: true,
			want: `1 problem:
  f.yaml:1: qps="x": not a number; want probes per second, for example 0.1`,
		},
	} {
		o := withFile(test.file)
		o.Finite = test.finite
		o.Overrides = map[string]string{"ENABLED": test.flag}
		if test.flag == "" {
			o.Overrides = nil
		}
		var got []string
		c, err := Load(o)
		if err != nil {
			got = append(got, err.Error())
		} else {
			for _, target := range c.Targets {
				got = append(got, fmt.Sprintf("%s %t", target.Name, target.Enabled))
			}
			got = append(got, c.Warnings...)
		}
		if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.name, diff)
		}
	}
}

// TestPrecedence holds which source of a rate counts. What is replaced may be wrong.
func TestPrecedence(t *testing.T) {
	const target = "targets: [{url: http://one}]"
	const own = "targets: [{url: http://one, qps: 5}]"
	flag := map[string]string{"QPS": "2"}
	for _, test := range []struct {
		name, file, environ string
		flag                map[string]string
		want                float64
	}{
		{name: "the default, if nothing is given", file: target, want: 0.1},
		{name: "the file before the default", file: "qps: 4\n" + target, want: 4},
		{name: "the environment before the file", file: "qps: 4\n" + target, environ: "QPS=3", want: 3},
		{name: "an empty variable says nothing", file: "qps: 4\n" + target, environ: "QPS=", want: 4},
		{name: "a target's own before that of all", file: own, environ: "QPS=3", want: 5},
		{name: "a flag before a target's own", file: own, flag: flag, want: 2},
		{
			name: "a flag before wrong values", flag: flag, want: 2,
			file: "qps: fast\ntargets: [{url: http://one, qps: often}]", environ: "QPS=x",
		},
	} {
		o := withFile(test.file, "MAX_TOKENS_PER_DAY=none", test.environ)
		o.Overrides = test.flag
		if got := load(t, o).Targets[0].QPS; got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

// TestAPIKey holds which source of a key counts. A key and the file of a key replace each other.
func TestAPIKey(t *testing.T) {
	content := files(map[string]string{"key": "from file\r\n", "targets.yaml": "api_key_file: key"})
	flag := map[string]string{"API_KEY_FILE": "key"}
	for _, test := range []struct {
		name, environ string
		flag          map[string]string
		want          string
	}{
		{name: "a file, without its last newline", environ: "TARGETS_0_API_KEY_FILE=key", want: "from file"},
		{name: "a target's key before that of all", environ: "TARGETS_0_API_KEY=own\nAPI_KEY=all", want: "own"},
		{name: "a target's key before the file of all", environ: "API_KEY_FILE=key\nTARGETS_0_API_KEY=own", want: "own"},
		{name: "a target's file before all's key", environ: "API_KEY=all\nTARGETS_0_API_KEY_FILE=key", want: "from file"},
		{name: "the environment before the file", environ: "TARGETS_FILE=targets.yaml\nAPI_KEY=all", want: "all"},
		{name: "the file of a flag", environ: "TARGETS_0_API_KEY=own", flag: flag, want: "from file"},
		{name: "an empty flag", environ: "API_KEY_FILE=key", flag: map[string]string{"API_KEY_FILE": ""}, want: ""},
		{name: "no flag for a key", environ: "API_KEY=all", flag: map[string]string{"API_KEY": "flag"}, want: "all"},
	} {
		c := load(t, Options{Environ: withTarget(test.environ), Overrides: test.flag, ReadFile: content})
		if got := c.Targets[0].APIKey.Reveal(); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// TestOAuth holds what a client of OAuth 2 needs, and that it is given beside no other
// credentials.
func TestOAuth(t *testing.T) {
	const client = "OAUTH_TOKEN_URL=https://login/t\nOAUTH_CLIENT_ID=id\n"
	content := files(map[string]string{"secret": "from file\n"})
	for given, want := range map[string]string{
		client + "OAUTH_SECRET=s":           "",
		client + "OAUTH_SECRET_FILE=secret": "",
		client:                              "OAUTH_SECRET_FILE",
		"OAUTH_TOKEN_URL=https://login/t\nOAUTH_SECRET=s":             "OAUTH_CLIENT_ID",
		"OAUTH_SCOPES=all-apis":                                       "OAUTH_TOKEN_URL",
		client + "OAUTH_SECRET=s\nAPI_KEY=sk":                         "given together with PROBER_TARGETS_0_API_KEY",
		client + "OAUTH_SECRET_FILE=no":                               "no such file",
		client + "OAUTH_SECRET=s\nOAUTH_TOKEN_URL=login":              "not an http or https URL",
		client + "OAUTH_SECRET=s\nOAUTH_TOKEN_URL=https://id:s@login": "has credentials in it",
		client + "OAUTH_SECRET=s\nHEADERS=authorization=Basic eA":     "header Authorization",
		client + "OAUTH_SECRET=s\nOAUTH_CLIENT_AUTH=query":            "want header or body",
	} {
		given = "TARGETS_0_" + strings.ReplaceAll(strings.TrimSpace(given), "\n", "\nTARGETS_0_")
		c, err := Load(Options{Environ: withTarget(given), ReadFile: content})
		if want == "" {
			if err != nil || c.Targets[0].OAuthSecret.Reveal() == "" {
				t.Errorf("%q: %v", given, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", given, err, want)
		}
	}
}

// TestArguments holds that URLs replace the targets of the environment, but not what it says for all targets, and which
// names targets get from their URLs: unique ones, if the URLs are, and no longer than they must be.
func TestArguments(t *testing.T) {
	type target struct {
		name, group, url string
		each             bool
	}
	o := Options{Environ: environ("TARGETS_0_URL=http://old\nTARGETS_0_QPS=7\nMAX_TOKENS=5")}
	var want []target
	for _, test := range []struct {
		argument string
		want     target
	}{
		{" https://one/v1 ", target{name: "one:443", url: "https://one/v1"}},
		{"http://[::1]:8000", target{name: "[::1]:8000", url: "http://[::1]:8000"}},
		{" right =https://two/v1", target{name: "right", url: "https://two/v1"}},
		{"http://three/a=b", target{name: "three:80", url: "http://three/a=b"}},
		{"dns+http://vllm.ns.svc:8000", target{name: "vllm.ns.svc:8000", url: "http://vllm.ns.svc:8000", each: true}},
		{"left=dns+https://left", target{name: "left", url: "https://left", each: true}},
		{"http://four/dns+http://d", target{name: "four:80", url: "http://four/dns+http://d"}},
		{"http://a/two/v1", target{name: "a:80/two", url: "http://a/two/v1"}},
		{"http://a/v1", target{name: "a:80", url: "http://a/v1"}},
		{"http://a/v1beta/openai", target{name: "a:80/v1beta/openai", url: "http://a/v1beta/openai"}},
		{"http://b/one", target{name: "b:80/one", url: "http://b/one"}},
		{"http://b/two", target{name: "b:80/two", url: "http://b/two"}},
		{"http://c/x", target{name: "c:80", url: "http://c/x"}},
		{"c=http://c/y", target{name: "c", url: "http://c/y"}},
		{"http://e/v1", target{name: "e:80", url: "http://e/v1"}},
		{"http://e/x", target{name: "e:80/x", url: "http://e/x"}},
	} {
		o.URLs = append(o.URLs, test.argument)
		if !test.want.each { // each address is a group of its own
			test.want.group = test.want.name
		}
		want = append(want, test.want)
	}
	var got []target
	for _, made := range load(t, o).Targets {
		got = append(got, target{made.Name, made.Group, made.URL, made.EachAddress})
		if made.QPS != 0.1 || made.MaxTokens != 5 {
			t.Errorf("%s has %v probes per second and %d tokens", made.URL, made.QPS, made.MaxTokens)
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(target{})); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestVariablesOfOthersAreIgnored holds that variables of Kubernetes and OpenTelemetry are neither problems nor
// warnings.
func TestVariablesOfOthersAreIgnored(t *testing.T) {
	const services = `SERVICE_HOST=10.0.0.1 SERVICE_PORT=9464 SERVICE_PORT_HTTP=9464 PORT=tcp://10.0.0.1:9464
		PORT_9464_TCP=tcp://10.0.0.1:9464 PORT_9464_TCP_PROTO=tcp PORT_9464_TCP_PORT=9464 PORT_9464_TCP_ADDR=10.0.0.1
		EAST_SERVICE_HOST=10.0.0.2 EAST_PORT=tcp://10.0.0.2:9464 TARGETS_7_URL=`
	environment := withTarget(strings.Fields(services)...)
	environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://collector:4318"
	if c := load(t, Options{Environ: environment}); c.Warnings != nil {
		t.Errorf("warnings %q", c.Warnings)
	}
}

func TestWarnings(t *testing.T) {
	const given = `TARGETS_0_CA_FILE=ca.pem TARGETS_0_INSECURE_SKIP_VERIFY=on TOKEN_BUDGET_PER_DAY=21000 XYZZY_FROB=1`
	c := load(t, Options{
		Environ:  withTarget(strings.Fields(given)...),
		ReadFile: files(map[string]string{"ca.pem": ""}),
	})
	want := []string{
		`PROBER_XYZZY_FROB: unknown variable, ignored`,
		`PROBER_TARGETS_0_INSECURE_SKIP_VERIFY="on": anyone between the prober and the server can read prompts and keys, ` +
			`and answer instead of the server`,
		`PROBER_TARGETS_0_CA_FILE="ca.pem": has no effect on an http URL`,
		`PROBER_TARGETS_0_INSECURE_SKIP_VERIFY="on": has no effect on an http URL`,
		`PROBER_TOKEN_BUDGET_PER_DAY="21000": is less than the 21100 tokens of one probe`,
	}
	if diff := cmp.Diff(want, c.Warnings); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestDefaultsFollowOtherSettings(t *testing.T) {
	for _, test := range []struct {
		environ string
		system  int
		stall   time.Duration
	}{
		{"PROMPT_TOKENS=1001", 1000, 30 * time.Second},
		{"PROMPT_TOKENS=1000", 100, 30 * time.Second},
		{"PROMPT_TOKENS=16", 1, 30 * time.Second},
		{"PROMPT_TOKENS=16\nSYSTEM_TOKENS=0", 0, 30 * time.Second},
		{"TIMEOUT=5s", 1000, 5 * time.Second},
	} {
		got := load(t, Options{Environ: withTarget("PROMPT=sessions", test.environ)}).Targets[0]
		if got.SystemTokens != test.system {
			t.Errorf("%s: a system prompt of %d tokens, want %d", test.environ, got.SystemTokens, test.system)
		}
		if got.StallTimeout != test.stall {
			t.Errorf("%s: a stall timeout of %v, want %v", test.environ, got.StallTimeout, test.stall)
		}
	}
}

// TestTheShortestCanary holds that a canary may be as short as its error message says.
func TestTheShortestCanary(t *testing.T) {
	got := load(t, Options{Environ: withTarget("PROMPT=canary", "PROMPT_TOKENS=80", "MAX_TOKENS=16")}).Targets[0]
	if got.PromptTokens != 80 || got.MaxTokens != 16 {
		t.Errorf("%d tokens of prompt and %d of answer, want 80 and 16", got.PromptTokens, got.MaxTokens)
	}
}

// TestDepths holds that depths are ascending however they are written, and that the shortest canary of several may be as
// short as its error messages say.
func TestDepths(t *testing.T) {
	for text, want := range map[string]string{"0.9, 0.1,.5": "0.1,0.5,0.9", "1": "1", "0,1e-2": "0,0.01"} {
		if got := load(t, Options{Environ: withTarget("CANARY_DEPTH=" + text)}).Targets[0].CanaryDepth.String(); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	load(t, Options{
		Environ: withTarget("PROMPT=canary", "CANARY_DEPTH=0.1,0.5,0.9", "PROMPT_TOKENS=120", "MAX_TOKENS=30"),
	})
}

// TestURLsWithoutScheme holds that hosts of the user's own network need none.
func TestURLsWithoutScheme(t *testing.T) {
	for _, url := range []string{
		"localhost:8000", "127.0.0.1:8000/v1", "[::1]:8000", "192.168.1.7", "vllm:8000", "vllm.inference.svc",
		"vllm.inference.svc.cluster.local:8000",
	} {
		if got := load(t, Options{URLs: []string{"dns=" + url}}).Targets[0].URL; got != "http://"+url {
			t.Errorf("%s: got %s", url, got)
		}
	}
}

// TestEndpoints holds that the endpoint is cut off a URL, with a warning, unless the path of probes is set.
func TestEndpoints(t *testing.T) {
	const warning = `PROBER_TARGETS_0_URL="%s": ends with the endpoint %s, which is cut off: the base URL is %s`
	for _, test := range []struct{ url, api, path, base, endpoint, more string }{
		{
			url: "http://one/v1/chat/completions", base: "http://one/v1", endpoint: "/chat/completions",
			more: "; to be sure that this endpoint is probed, set PROBER_TARGETS_0_API to openai-chat",
		},
		{url: "http://one/chat/completions", api: "openai-completions", base: "http://one", endpoint: "/chat/completions"},
		{url: "http://one/v1/completions/", api: "openai-completions", base: "http://one/v1", endpoint: "/completions"},
		{url: "http://one/messages", api: "tgi", base: "http://one", endpoint: "/messages"},
		{url: "http://one/v1/responses", api: "tgi", base: "http://one/v1", endpoint: "/responses"},
		{url: "http://messages", base: "http://messages"},
		{url: "http://one/completions", path: "/x/completions", base: "http://one/completions"},
	} {
		c := load(t, Options{
			Environ: environ("TARGETS_0_URL="+test.url, "TARGETS_0_API="+test.api, "TARGETS_0_PATH="+test.path),
		})
		var want []string
		if test.endpoint != "" {
			want = []string{fmt.Sprintf(warning, test.url, test.endpoint, test.base) + test.more}
		}
		if diff := cmp.Diff(test.base, c.Targets[0].URL) + cmp.Diff(want, c.Warnings); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.url, diff)
		}
	}
}

// TestValuesOfATarget holds what a report says about how a target was probed: the settings that are set and count for
// the command, and neither secrets nor what identifies the target.
func TestValuesOfATarget(t *testing.T) {
	c := load(t, Options{Environ: withTarget("TARGETS_0_MODEL=m", "API_KEY=sk", "MAX_TOKENS=16")})
	values := c.Targets[0].Values("bench")
	if values["max_tokens"] != "16" || values["prompt"] != "cold" {
		t.Errorf("max_tokens and prompt are missing: %v", values)
	}
	for _, key := range []string{"url", "name", "group", "model", "api_key", "session_header"} {
		if value, ok := values[key]; ok {
			t.Errorf("%s is %q, want it left out", key, value)
		}
	}
}

// TestBody holds that what is added to requests is the same from the file and from a variable, that a target's own
// replaces what all have, that it is shown, and that what looks like a secret is a warning.
func TestBody(t *testing.T) {
	const file = `
body:
  chat_template_kwargs: {enable_thinking: false}
  top_k: 20
  stop: ["yes", "no", 1.5, null]
targets:
  - {name: a, url: http://a}
  - {name: b, url: http://b, body: {}}
  - {name: c, url: http://c, body: {nested: {api_key: x}}}
`
	from := Options{
		Environ:  map[string]string{"PROBER_TARGETS_FILE": "f.yaml"},
		ReadFile: files(map[string]string{"f.yaml": file}),
	}
	c := load(t, from)
	const shared = `{"chat_template_kwargs":{"enable_thinking":false},"stop":["yes","no",1.5,null],"top_k":20}`
	for i, want := range []string{shared, `{}`, `{"nested":{"api_key":"x"}}`} {
		if got := c.Targets[i].Body.String(); got != want {
			t.Errorf("%s has %s, want %s", c.Targets[i].Name, got, want)
		}
	}
	if len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], `"api_key" looks like a secret`) {
		t.Errorf("warnings %q", c.Warnings)
	}
	variable := load(t, Options{Environ: withTarget("BODY=" + shared)}).Targets[0]
	if got := variable.Body.String(); got != shared {
		t.Errorf("the variable gives %s", got)
	}
	shown, _, err := Effective(from)
	if err != nil || !strings.Contains(shown, "body: "+shared) {
		t.Errorf("config show: %v\n%s", err, shown)
	}
}
