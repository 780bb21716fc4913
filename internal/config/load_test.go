package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDefaults(t *testing.T) {
	got := load(t, Options{Environ: environ("TARGETS_0_URL=http://one:8000/v1")})
	want := &Config{
		ListenAddress: ":9464", LogLevel: "info", GenAISemconv: true, ReloadInterval: 5 * time.Second, DNSInterval: 30 * time.Second,
		Targets: []Target{{
			Name: "one:8000", Group: "one:8000", URL: "http://one:8000/v1", API: "auto", Server: "auto",
			Settings: Settings{
				Prompt: "cold", PromptTokens: 21000, MaxTokens: 100, QPS: 0.1, Arrival: "constant",
				Timeout: 120 * time.Second, StallTimeout: 30 * time.Second, MaxInFlight: 1, Connection: "fresh", HTTPVersion: "1.1", Stamp: "kernel",
				SessionUsers: 15, SessionRounds: 20, SystemTokens: 1000, CanaryDepth: 0.5, BackoffLimit: 5 * time.Minute,
			},
		}},
		Objectives: []Objective{{Name: "availability", Signal: "availability", Goal: 0.99}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestEveryVariable(t *testing.T) {
	got := load(t, Options{
		ReadFile: files(map[string]string{"web.yaml": "", "ca.pem": "", "cert.pem": "", "key.pem": "", "targets.yaml": "", "book.txt": "", "set.jsonl": ""}),
		Environ: environ(`
			LISTEN_ADDRESS=127.0.0.1:80
			WEB_CONFIG_FILE=web.yaml
			LOG_LEVEL=debug
			LOG_FORMAT=console
			TARGETS_FILE=targets.yaml
			GENAI_SEMCONV=Off
			RELOAD_INTERVAL=none
			DNS_INTERVAL=1m
			SHARD=prober-2/3
			TARGETS_0_URL=https://llm.example.com/v1
			TARGETS_0_NAME=the one
			TARGETS_0_GROUP=pair
			TARGETS_0_API=tgi
			TARGETS_0_MODEL=m
			TARGETS_0_HEADERS=X-A=1=2, X-B = 3
			TARGETS_0_CA_FILE=ca.pem
			TARGETS_0_CERT_FILE=cert.pem
			TARGETS_0_KEY_FILE=key.pem
			TARGETS_0_INSECURE_SKIP_VERIFY=true
			TARGETS_0_QPS=1
			TARGETS_0_ARRIVAL=poisson
			TARGETS_0_PATH=/my/chat
			TARGETS_0_API_VERSION=2024-10-21
			TARGETS_0_SERVER=sglang
			TARGETS_0_PROMPT=book
			TARGETS_0_SESSION_USERS=320
			TARGETS_0_SESSION_ROUNDS=10
			TARGETS_0_SYSTEM_TOKENS=0
			TARGETS_0_BOOK_FILE=book.txt
			TARGETS_0_DATASET_FILE=set.jsonl
			TARGETS_0_CANARY_DEPTH=1
			TARGETS_0_BACKOFF_LIMIT=none
			TARGETS_0_PRIORITY=-5
			TARGETS_0_SESSION_HEADER=x-user-id
			TARGETS_0_PROMPT_TOKENS=16
			TARGETS_0_MAX_TOKENS=1
			TARGETS_0_TIMEOUT=1m
			TARGETS_0_STALL_TIMEOUT=1m
			TARGETS_0_MAX_IN_FLIGHT=2
			TARGETS_0_TOKEN_BUDGET_PER_DAY=1000000
			TARGETS_0_CONNECTION=reuse
			TARGETS_0_HTTP_VERSION=2
			TARGETS_0_STAMP=user
			TARGETS_0_API_KEY=sk
			OBJECTIVES_0_NAME=steady
			OBJECTIVES_0_SIGNAL=max_gap
			OBJECTIVES_0_LIMIT=500ms
			OBJECTIVES_0_GOAL=0.95`),
	})
	want := &Config{
		ListenAddress: "127.0.0.1:80", WebConfigFile: "web.yaml", LogLevel: "debug", LogFormat: "console", TargetsFile: "targets.yaml",
		DNSInterval: time.Minute, Shard: Shard{Index: 2, Of: 3},
		Targets: []Target{{
			Name: "the one", Group: "pair", URL: "https://llm.example.com/v1", Path: "/my/chat", API: "tgi", Model: "m",
			APIVersion: "2024-10-21", Server: "sglang",
			Settings: Settings{
				SessionUsers: 320, SessionRounds: 10, BookFile: "book.txt", DatasetFile: "set.jsonl", CanaryDepth: 1,
				Priority: new(-5), SessionHeader: "x-user-id",
				Prompt: "book", PromptTokens: 16, MaxTokens: 1, QPS: 1, Arrival: "poisson",
				Timeout: time.Minute, StallTimeout: time.Minute, MaxInFlight: 2, TokenBudgetPerDay: 1_000_000, Connection: "reuse", HTTPVersion: "2", Stamp: "user",
				APIKey: NewSecret("sk"),
			},
			Headers: map[string]Secret{"X-A": NewSecret("1=2"), "X-B": NewSecret("3")},
			CAFile:  "ca.pem", CertFile: "cert.pem", KeyFile: "key.pem", InsecureSkipVerify: true,
		}},
		Objectives: []Objective{{Name: "steady", Signal: "max_gap", Limit: 500 * time.Millisecond, Goal: 0.95}},
		Warnings:   []string{`PROBER_TARGETS_0_INSECURE_SKIP_VERIFY="true": anyone between the prober and the server can read prompts and keys, and answer in its place`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestPrecedence(t *testing.T) {
	const file = "qps: 4\ntargets: [{url: http://one}]"
	for _, test := range []struct {
		name      string
		file      string
		environ   string
		overrides map[string]string
		want      float64
	}{
		{name: "the default, if nobody says anything", file: "targets: [{url: http://one}]", want: 0.1},
		{name: "the file beats the default", file: file, want: 4},
		{name: "the environment beats the file", file: file, environ: "QPS=3", want: 3},
		{name: "an empty variable says nothing", file: file, environ: "QPS=", want: 4},
		{name: "a single target beats what holds for all", file: "targets: [{url: http://one, qps: 5}]", environ: "QPS=3", want: 5},
		{name: "a flag beats the environment", file: file, environ: "QPS=3", overrides: map[string]string{"QPS": "2"}, want: 2},
		{name: "a flag beats a single target", file: "targets: [{url: http://one, qps: 5}]", overrides: map[string]string{"QPS": "2"}, want: 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := load(t, Options{
				Environ: environ("TARGETS_FILE=targets.yaml\n" + test.environ), Overrides: test.overrides,
				ReadFile: files(map[string]string{"targets.yaml": test.file}),
			})
			if got := c.Targets[0].QPS; got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestAPIKey(t *testing.T) {
	content := files(map[string]string{"key": "from file\n", "targets.yaml": "api_key_file: key\ntargets: [{url: http://one}]"})
	for _, test := range []struct {
		name      string
		environ   string
		overrides map[string]string
		want      string
	}{
		{name: "of one target", environ: "TARGETS_0_API_KEY=own\nAPI_KEY=all", want: "own"},
		{name: "of all targets", environ: "API_KEY=all", want: "all"},
		{name: "from a file, without its last newline", environ: "TARGETS_0_API_KEY_FILE=key", want: "from file"},
		{name: "from a file for all targets", environ: "API_KEY_FILE=key", want: "from file"},
		{name: "a target's own key beats the file for all", environ: "API_KEY_FILE=key\nTARGETS_0_API_KEY=own", want: "own"},
		{name: "a target's own file beats the key for all", environ: "API_KEY=all\nTARGETS_0_API_KEY_FILE=key", want: "from file"},
		{name: "a flag beats a target's own file", environ: "TARGETS_0_API_KEY_FILE=key", overrides: map[string]string{"API_KEY": "flag"}, want: "flag"},
		{name: "an empty flag takes the key away", environ: "API_KEY=all", overrides: map[string]string{"API_KEY": ""}, want: ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := load(t, Options{Environ: withTarget(test.environ), Overrides: test.overrides, ReadFile: content})
			if got := c.Targets[0].APIKey.Reveal(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	t.Run("a key in the environment beats a file named in the targets file", func(t *testing.T) {
		c := load(t, Options{Environ: environ("TARGETS_FILE=targets.yaml\nAPI_KEY=all"), ReadFile: content})
		if got := c.Targets[0].APIKey.Reveal(); got != "all" {
			t.Errorf("got %q, want %q", got, "all")
		}
	})
}

func TestTargetsOfTheFileComeAfterThoseOfTheEnvironment(t *testing.T) {
	c := load(t, Options{
		Environ:  environ("TARGETS_FILE=targets.yaml\nTARGETS_0_URL=http://b\nTARGETS_1_URL=http://a"),
		ReadFile: files(map[string]string{"targets.yaml": "targets: [{url: http://d}, {url: http://c}]"}),
	})
	var got []string
	for _, target := range c.Targets {
		got = append(got, target.Name)
	}
	if diff := cmp.Diff([]string{"b:80", "a:80", "d:80", "c:80"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestArgumentsReplaceTargets(t *testing.T) {
	c := load(t, Options{
		Environ:   environ("TARGETS_0_URL=http://old\nTARGETS_0_QPS=7\nAPI_KEY=sk\nMAX_TOKENS=5"),
		URLs:      []string{" https://one/v1 ", "http://[::1]:8000"},
		Overrides: map[string]string{"API": "tgi", "MODEL": "m", "GROUP": "pair", "HEADERS": "X-A=1", "INSECURE_SKIP_VERIFY": "on"},
	})
	want := load(t, Options{Environ: environ("TARGETS_0_URL=http://x\nTARGETS_1_URL=http://x\nTARGETS_0_NAME=one:443\nTARGETS_1_NAME=[::1]:8000\nMAX_TOKENS=5")}).Targets
	for i, url := range []string{"https://one/v1", "http://[::1]:8000"} {
		want[i].URL, want[i].Group, want[i].API, want[i].Model, want[i].Headers = url, "pair", "tgi", "m", Headers{"X-A": NewSecret("1")}
		want[i].APIKey, want[i].InsecureSkipVerify = NewSecret("sk"), true
	}
	if diff := cmp.Diff(want, c.Targets); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestArgumentsCanHaveNames(t *testing.T) {
	c := load(t, Options{URLs: []string{"left=http://one", " right =https://two/v1", "http://three/a=b"}})
	for i, want := range []Target{{Name: "left", URL: "http://one"}, {Name: "right", URL: "https://two/v1"}, {Name: "three:80", URL: "http://three/a=b"}} {
		if got := c.Targets[i]; got.Name != want.Name || got.Group != want.Name || got.URL != want.URL {
			t.Errorf("target %d is %s (%s) at %s, want %s at %s", i, got.Name, got.Group, got.URL, want.Name, want.URL)
		}
	}
	only := load(t, Options{URLs: []string{"http://one"}, Overrides: map[string]string{"NAME": "it"}}).Targets[0]
	if only.Name != "it" || only.Group != "it" {
		t.Errorf("the only argument has name %q and group %q, want it and it", only.Name, only.Group)
	}
	got := problems(t, Options{URLs: []string{"=http://one", "x=nonsense"}})
	want := `URL argument 1="=http://one": not an http or https URL; want http:// or https://, a host and perhaps a port and path, for example http://localhost:8000
URL argument 2="nonsense": not an http or https URL; want http:// or https://, a host and perhaps a port and path, for example http://localhost:8000`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestVariablesOfOthersAreIgnored(t *testing.T) {
	environment := withTarget(`
		SERVICE_HOST=10.0.0.1
		SERVICE_PORT=9464
		SERVICE_PORT_HTTP=9464
		PORT=tcp://10.0.0.1:9464
		PORT_9464_TCP=tcp://10.0.0.1:9464
		PORT_9464_TCP_PROTO=tcp
		PORT_9464_TCP_PORT=9464
		PORT_9464_TCP_ADDR=10.0.0.1
		EAST_SERVICE_HOST=10.0.0.2
		EAST_PORT=tcp://10.0.0.2:9464`)
	environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://collector:4318"
	environment["PATH"] = "/bin"
	load(t, Options{Environ: environment})
}

func TestWarnings(t *testing.T) {
	c := load(t, Options{
		Environ:  withTarget("TARGETS_0_CA_FILE=ca.pem\nTOKEN_BUDGET_PER_DAY=21000"),
		ReadFile: files(map[string]string{"ca.pem": ""}),
	})
	want := []string{
		`PROBER_TARGETS_0_CA_FILE="ca.pem": has no effect on an http URL`,
		`PROBER_TOKEN_BUDGET_PER_DAY="21000": is less than the 21100 tokens of one probe`,
	}
	if diff := cmp.Diff(want, c.Warnings); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestPriority(t *testing.T) {
	for _, test := range []struct {
		name, environ string
		want          *int
	}{
		{"none is the default", "", nil},
		{"0 is a priority", "PRIORITY=0", new(0)},
		{"negative ones are", "PRIORITY=-10", new(-10)},
		{"a target can have none", "PRIORITY=-10\nTARGETS_0_PRIORITY=none", nil},
	} {
		if diff := cmp.Diff(test.want, load(t, Options{Environ: withTarget(test.environ)}).Targets[0].Priority); diff != "" {
			t.Errorf("%s: -want +got\n%s", test.name, diff)
		}
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

// TestTargetsOfOneHostAreNamedByTheirPaths holds that default names differ where URLs do,
// whatever the order of targets, and say no more than they must.
func TestTargetsOfOneHostAreNamedByTheirPaths(t *testing.T) {
	c := load(t, Options{URLs: []string{"http://a/two/v1", "http://a/v1", "http://a/v1beta/openai", "http://b/alone", "http://c/x", "c=http://c/y"}})
	for i, want := range []string{"a:80/two", "a:80", "a:80/v1beta/openai", "b:80", "c:80", "c"} {
		if got := c.Targets[i]; got.Name != want || got.Group != want {
			t.Errorf("%s is called %s, want %s", got.URL, got.Name, want)
		}
	}
}
