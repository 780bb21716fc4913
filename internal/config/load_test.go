package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var secrets = cmp.AllowUnexported(Secret{}) // compared by their texts

func TestDefaults(t *testing.T) {
	got := load(t, Options{Environ: environ("TARGETS_0_URL=http://one:8000/v1")})
	want := &Config{
		ListenAddress: ":9464", LogLevel: "info", GenAISemconv: true, ReloadInterval: 5 * time.Second, DNSInterval: 30 * time.Second,
		MaxTokensPerDay: 1_000_000_000,
		Targets: []Target{{
			Name: "one:8000", Group: "one:8000", URL: "http://one:8000/v1", API: "auto", Server: "auto",
			Settings: Settings{
				Prompt: "cold", PromptTokens: 21000, MaxTokens: 100, QPS: 0.1, Arrival: "constant",
				Timeout: 120 * time.Second, StallTimeout: 30 * time.Second, MaxInFlight: 1, Connection: "fresh", HTTPVersion: "1.1", Timestamps: "kernel",
				SessionUsers: 15, SessionRounds: 20, SystemTokens: 1000, CanaryDepth: 0.5, BackoffLimit: 5 * time.Minute,
			},
		}},
		Objectives: []Objective{{Name: "availability", Signal: "availability", Goal: 0.99}},
	}
	if diff := cmp.Diff(want, got, secrets); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestSettingsOfTheProber(t *testing.T) {
	const given = `LISTEN_ADDRESS=127.0.0.1:80 WEB_CONFIG_FILE=web.yaml LOG_LEVEL=debug LOG_FORMAT=console TARGETS_FILE=targets.yaml
		GENAI_SEMCONV=Off DRAIN_ENDPOINT=on RELOAD_INTERVAL=none DNS_INTERVAL=1m SHARD=prober-2/3 MAX_TOKENS_PER_DAY=none
		OBJECTIVES_0_NAME=steady OBJECTIVES_0_SIGNAL=max_gap OBJECTIVES_0_LIMIT=500ms OBJECTIVES_0_GOAL=0.95`
	content := files(map[string]string{"web.yaml": "", "targets.yaml": ""})
	got := load(t, Options{ReadFile: content, Environ: withTarget(strings.Join(strings.Fields(given), "\n"))})
	want := &Config{
		ListenAddress: "127.0.0.1:80", WebConfigFile: "web.yaml", LogLevel: "debug", LogFormat: "console", TargetsFile: "targets.yaml",
		DrainEndpoint: true, DNSInterval: time.Minute, Shard: Shard{Index: 2, Of: 3}, Targets: got.Targets,
		Objectives: []Objective{{Name: "steady", Signal: "max_gap", Limit: 500 * time.Millisecond, Goal: 0.95}},
	}
	want.Given = want.Objectives
	if diff := cmp.Diff(want, got, secrets); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestSourcesAgree holds that the environment, the targets file and flags give a target the same settings, by the same names.
func TestSourcesAgree(t *testing.T) {
	const given = `URL=https://llm.example.com/v1 NAME=one GROUP=pair API=tgi PATH=/my/chat API_VERSION=2024-10-21 SERVER=sglang MODEL=70
		CA_FILE=ca.pem CERT_FILE=cert.pem KEY_FILE=key.pem INSECURE_SKIP_VERIFY=off QPS=1 ARRIVAL=poisson
		PROMPT=dataset PROMPT_TOKENS=16 MAX_TOKENS=1 SESSION_USERS=320 SESSION_ROUNDS=10 SYSTEM_TOKENS=0 CANARY_DEPTH=1
		DATASET_FILE=set.jsonl TIMEOUT=60s STALL_TIMEOUT=1m MAX_IN_FLIGHT=2 TOKEN_BUDGET_PER_DAY=1000000
		CONNECTION=reuse HTTP_VERSION=2 TIMESTAMPS=user BACKOFF_LIMIT=none WAIT_FOR_READY=30m
		API_KEY=sk PRIORITY=-5 SESSION_HEADER=x-user-id`
	want := Target{
		Name: "one", Group: "pair", URL: "https://llm.example.com/v1", Path: "/my/chat", API: "tgi", Model: "70",
		APIVersion: "2024-10-21", Server: "sglang", CAFile: "ca.pem", CertFile: "cert.pem", KeyFile: "key.pem",
		Headers: Headers{"X-A": NewSecret("1=2"), "X-B": NewSecret("3")},
		Settings: Settings{
			SessionUsers: 320, SessionRounds: 10, DatasetFile: "set.jsonl", CanaryDepth: 1,
			Priority: new(-5), SessionHeader: "x-user-id", WaitForReady: 30 * time.Minute,
			Prompt: "dataset", PromptTokens: 16, MaxTokens: 1, QPS: 1, Arrival: "poisson",
			Timeout: time.Minute, StallTimeout: time.Minute, MaxInFlight: 2, TokenBudgetPerDay: 1_000_000,
			Connection: "reuse", HTTPVersion: "2", Timestamps: "user", APIKey: NewSecret("sk"),
		},
	}
	variables, flags := map[string]string{prefix + "TARGETS_0_HEADERS": "X-A=1=2, X-B = 3"}, map[string]string{"HEADERS": "X-A=1=2,X-B=3"}
	file := "targets:\n- headers: {X-A: 1=2, X-B: 3}\n"
	for setting := range strings.FieldsSeq(given) {
		name, text, _ := strings.Cut(setting, "=")
		variables[prefix+"TARGETS_0_"+name], flags[name] = text, text
		file += "  " + strings.ToLower(name) + ": " + text + "\n"
	}
	for _, k := range settings().target {
		if _, ok := flags[k.name]; !ok && k.name != "API_KEY_FILE" {
			t.Errorf("%s is not given", k.name)
		}
	}
	for source, o := range map[string]Options{
		"environment":  {Environ: variables},
		"targets file": {Environ: environ("TARGETS_FILE=f.yaml")},
		"flags":        {Overrides: flags, URLs: []string{want.URL}, Environ: environ("API_KEY=sk")},
	} {
		o.ReadFile = files(map[string]string{"ca.pem": "", "cert.pem": "", "key.pem": "", "set.jsonl": "", "f.yaml": file})
		want := want
		if source == "flags" { // they have no secrets, and a URL as argument gets no headers from the environment
			want.Headers = nil
		}
		if diff := cmp.Diff([]Target{want}, load(t, o).Targets, secrets); diff != "" {
			t.Errorf("%s: -want +got\n%s", source, diff)
		}
	}
}

func TestPrecedence(t *testing.T) {
	const file = "qps: 4\ntargets: [{url: http://one}]"
	for name, test := range map[string]struct {
		file, environ string
		flag          map[string]string
		want          float64
	}{
		"the default, if nothing is given":         {file: "targets: [{url: http://one}]", want: 0.1},
		"the file beats the default":               {file: file, want: 4},
		"the environment beats the file":           {file: file, environ: "QPS=3", want: 3},
		"an empty variable says nothing":           {file: file, environ: "QPS=", want: 4},
		"a single target beats what holds for all": {file: "targets: [{url: http://one, qps: 5}]", environ: "QPS=3", want: 5},
		"a flag beats a single target":             {file: "targets: [{url: http://one, qps: 5}]", flag: map[string]string{"QPS": "2"}, want: 2},
		"what is overridden may be wrong": {file: "qps: fast\ntargets: [{url: http://one, qps: often}]", environ: "QPS=x",
			flag: map[string]string{"QPS": "2"}, want: 2},
	} {
		read := files(map[string]string{"targets.yaml": test.file})
		c := load(t, Options{Environ: environ("TARGETS_FILE=targets.yaml\nMAX_TOKENS_PER_DAY=none\n" + test.environ),
			Overrides: test.flag, ReadFile: read})
		if got := c.Targets[0].QPS; got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestAPIKey(t *testing.T) {
	content := files(map[string]string{"key": "from file\r\n", "targets.yaml": "api_key_file: key"})
	for name, test := range map[string]struct {
		environ string
		flag    map[string]string
		want    string
	}{
		"of one target":                             {environ: "TARGETS_0_API_KEY=own\nAPI_KEY=all", want: "own"},
		"from a file, without its last newline":     {environ: "TARGETS_0_API_KEY_FILE=key", want: "from file"},
		"a target's own key beats the file for all": {environ: "API_KEY_FILE=key\nTARGETS_0_API_KEY=own", want: "own"},
		"a target's own file beats the key for all": {environ: "API_KEY=all\nTARGETS_0_API_KEY_FILE=key", want: "from file"},
		"the file of a flag beats a target's own key": {environ: "TARGETS_0_API_KEY=own",
			flag: map[string]string{"API_KEY_FILE": "key"}, want: "from file"},
		"no flag holds a key": {environ: "API_KEY=all",
			flag: map[string]string{"API_KEY": "flag"}, want: "all"},
		"an empty flag takes the file away": {environ: "API_KEY_FILE=key",
			flag: map[string]string{"API_KEY_FILE": ""}, want: ""},
		"the environment beats a file of the targets file": {environ: "TARGETS_FILE=targets.yaml\nAPI_KEY=all", want: "all"},
	} {
		c := load(t, Options{Environ: withTarget(test.environ), Overrides: test.flag, ReadFile: content})
		if got := c.Targets[0].APIKey.Reveal(); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestArguments holds that URLs replace the targets of the environment, not what it says for all of them, and which names they
// give: default names differ where URLs do, whatever the order of targets, and say no more than they must.
func TestArguments(t *testing.T) {
	wants := []struct {
		argument, name, url string
		each                bool
	}{
		{" https://one/v1 ", "one:443", "https://one/v1", false},
		{"http://[::1]:8000", "[::1]:8000", "http://[::1]:8000", false},
		{" right =https://two/v1", "right", "https://two/v1", false},
		{"http://three/a=b", "three:80", "http://three/a=b", false},
		{"dns+http://vllm.ns.svc:8000/v1", "vllm.ns.svc:8000", "http://vllm.ns.svc:8000/v1", true},
		{"left=dns+https://left", "left", "https://left", true},
		{"http://four/dns+http://d", "four:80", "http://four/dns+http://d", false},
		{"http://a/two/v1", "a:80/two", "http://a/two/v1", false},
		{"http://a/v1", "a:80", "http://a/v1", false},
		{"http://a/v1beta/openai", "a:80/v1beta/openai", "http://a/v1beta/openai", false},
		{"http://c/x", "c:80", "http://c/x", false},
		{"c=http://c/y", "c", "http://c/y", false},
	}
	o := Options{Environ: environ("TARGETS_0_URL=http://old\nTARGETS_0_QPS=7\nMAX_TOKENS=5")}
	for _, want := range wants {
		o.URLs = append(o.URLs, want.argument)
	}
	targets := load(t, o).Targets
	if len(targets) != len(wants) {
		t.Fatalf("%d targets of %d arguments", len(targets), len(wants))
	}
	for i, want := range wants {
		got, group := targets[i], want.name
		if want.each {
			group = "" // each address alone
		}
		if got.Name != want.name || got.Group != group || got.URL != want.url || got.EachAddress != want.each || got.QPS != 0.1 || got.MaxTokens != 5 {
			t.Errorf("%s is %+v", want.argument, got)
		}
	}
}

func TestVariablesOfOthersAreIgnored(t *testing.T) {
	const services = `SERVICE_HOST=10.0.0.1 SERVICE_PORT=9464 SERVICE_PORT_HTTP=9464 PORT=tcp://10.0.0.1:9464
		PORT_9464_TCP=tcp://10.0.0.1:9464 PORT_9464_TCP_PROTO=tcp PORT_9464_TCP_PORT=9464 PORT_9464_TCP_ADDR=10.0.0.1
		EAST_SERVICE_HOST=10.0.0.2 EAST_PORT=tcp://10.0.0.2:9464 TARGETS_7_URL=`
	environment := withTarget(strings.Join(strings.Fields(services), "\n"))
	environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://collector:4318"
	load(t, Options{Environ: environment})
}

func TestWarnings(t *testing.T) {
	c := load(t, Options{
		Environ:  withTarget("TARGETS_0_CA_FILE=ca.pem\nTARGETS_0_INSECURE_SKIP_VERIFY=on\nTOKEN_BUDGET_PER_DAY=21000\nXYZZY_FROB=1"),
		ReadFile: files(map[string]string{"ca.pem": ""}),
	})
	want := []string{
		`PROBER_XYZZY_FROB: unknown variable, ignored`,
		`PROBER_TARGETS_0_INSECURE_SKIP_VERIFY="on": anyone between the prober and the server can read prompts and keys, and answer in its place`,
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
		got := load(t, Options{Environ: withTarget("PROMPT=sessions\n" + test.environ)}).Targets[0]
		if got.SystemTokens != test.system || got.StallTimeout != test.stall {
			t.Errorf("%s: got %d and %v, want %d and %v", test.environ, got.SystemTokens, got.StallTimeout, test.system, test.stall)
		}
	}
}

// TestBaseURLs holds what becomes of URLs that are not written as a base is.
func TestBaseURLs(t *testing.T) {
	const cut = " is cut off: the base URL is "
	for _, test := range []struct{ environ, url, warning string }{
		{"TARGETS_0_URL=localhost:8000", "http://localhost:8000", ""},
		{"TARGETS_0_URL=127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1", ""},
		{"TARGETS_0_URL=[::1]:8000", "http://[::1]:8000", ""},
		{"TARGETS_0_URL=192.168.1.7", "http://192.168.1.7", ""},
		{"TARGETS_0_URL=vllm:8000", "http://vllm:8000", ""},
		{"TARGETS_0_URL=vllm.inference.svc", "http://vllm.inference.svc", ""},
		{"TARGETS_0_URL=dns+vllm.inference.svc.cluster.local:8000", "http://vllm.inference.svc.cluster.local:8000", ""},
		{"TARGETS_0_URL=http://one/v1/chat/completions", "http://one/v1",
			`ends with the endpoint /chat/completions, which` + cut + `http://one/v1; to be sure that this endpoint is probed, set PROBER_TARGETS_0_API to openai-chat`},
		{"TARGETS_0_API=openai-completions\nTARGETS_0_URL=http://one/chat/completions", "http://one", "ends with the endpoint /chat/completions, which" + cut + "http://one"},
		{"TARGETS_0_API=openai-completions\nTARGETS_0_URL=http://one/v1/completions/", "http://one/v1", "ends with the endpoint /completions, which" + cut + "http://one/v1"},
		{"TARGETS_0_API=tgi\nTARGETS_0_URL=http://one/messages", "http://one", "ends with the endpoint /messages, which" + cut + "http://one"},
		{"TARGETS_0_API=tgi\nTARGETS_0_URL=http://one/v1/responses", "http://one/v1", "ends with the endpoint /responses, which" + cut + "http://one/v1"},
		{"TARGETS_0_URL=http://messages", "http://messages", ""},
		{"TARGETS_0_PATH=/x/completions\nTARGETS_0_URL=http://one/completions", "http://one/completions", ""},
	} {
		c := load(t, Options{Environ: environ(test.environ)})
		warned := strings.Join(c.Warnings, "\n")
		_, warned, _ = strings.Cut(warned, ": ")
		if got := c.Targets[0].URL; got != test.url || warned != test.warning {
			t.Errorf("%s: %s and warning\n%q, want %s and\n%q", test.environ, got, warned, test.url, test.warning)
		}
	}
}
