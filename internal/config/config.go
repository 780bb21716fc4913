// Package config turns the environment, an optional targets file and the flags of a command into typed, validated data.
// It reports every problem at once, each with its place and a hint. It reads files that it is told to read and nothing
// else: it opens no connection, asks no server and keeps no state. Secrets leave it only through [Secret.Reveal].
//
// The structs below define the settings. Each field's tags are
//
//	env         name of the variable, without PROBER_ and TARGETS_n_
//	envDefault  default
//	otherwise   in words: what happens without a value, where there is no default
//	help        meaning, unit and bounds in one phrase; no back quotes, which flags take for a name
//	want        hint: what a right value looks like
//	oneof       the words that are allowed; API and SERVER add those of package wire
//	min, max    bounds of a number, both allowed; with above, the lower one is not; min of a duration is 0, not allowed, without the tag
//	none        "yes": the word none is allowed and means the zero value
//	is          form of a text: address, file, header, identifier, name, path, url; or of a number: ratio
//	reload      "restart": a change takes effect with a restart only
//	group       "agree": members of a group have the same value
//	client      "yes": part of who the prober is to the server, see [Target.Client]
//	for         commands that have a use for the setting; without the tag all of run, demo, once, check and bench
//	topic       heading in help of the setting and those after it
package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// A Config is everything the prober was told. [Load] makes it; the caller owns it.
type Config struct {
	ListenAddress   string        `env:"LISTEN_ADDRESS" envDefault:":9464" is:"address" reload:"restart" want:"host:port, for example :9464" for:"run demo" topic:"Serving and logging" help:"where /metrics, the status page, the API and the health checks are served"`
	WebConfigFile   string        `env:"WEB_CONFIG_FILE" otherwise:"plain HTTP" is:"file" reload:"restart" for:"run demo" help:"TLS and basic authentication for the listen address, in the format of the Prometheus exporter-toolkit"`
	LogLevel        string        `env:"LOG_LEVEL" envDefault:"info" oneof:"debug info warn error" reload:"restart" for:"run demo" help:"least severe log entry that is written"`
	LogFormat       string        `env:"LOG_FORMAT" otherwise:"json; console on a terminal" oneof:"json console" reload:"restart" for:"run demo" help:"how log entries are written"`
	TargetsFile     string        `env:"TARGETS_FILE" otherwise:"none" is:"file" for:"run once check bench" topic:"Configuration" help:"YAML file with targets, objectives and defaults for targets"`
	ReloadInterval  time.Duration `env:"RELOAD_INTERVAL" envDefault:"5s" min:"100ms" none:"yes" reload:"restart" want:"a duration with its unit, for example 5s, or none" for:"run" help:"how often run checks all files of the configuration for changes; none: reload only on SIGHUP and /-/reload"`
	DNSInterval     time.Duration `env:"DNS_INTERVAL" envDefault:"30s" min:"100ms" reload:"restart" want:"a duration with its unit, for example 30s" for:"run" help:"how often run looks up the hosts of dns+ URLs"`
	Shard           Shard         `env:"SHARD" otherwise:"all targets" want:"number/shards, numbered from 0, for example 0/3, or with the name of a StatefulSet's pod prober-0/3" for:"run once check bench" help:"share of the targets that this prober probes, as number/shards, numbered from 0: 0/3; the name of a StatefulSet's pod may stand for the number (prober-0/3)"`
	MaxTokensPerDay int           `env:"MAX_TOKENS_PER_DAY" envDefault:"1000000000" min:"1" max:"1000000000000000" none:"yes" want:"tokens a day, for example 5000000000, or none" for:"run check" help:"limit of prompt and answer tokens a day for all targets together; run refuses a configuration that costs more; none: no limit"`
	DrainEndpoint   bool          `env:"DRAIN_ENDPOINT" envDefault:"off" reload:"restart" want:"on or off" for:"run" topic:"Special cases" help:"for sidecars: serve /-/drain, which stops probing, and keep running when the configuration is invalid"`
	AdminAPI        bool          `env:"ADMIN_API" envDefault:"off" reload:"restart" want:"on or off" for:"run demo" help:"pause, resume and probe a target by POST /api/v1/targets/NAME/pause, resume and probe, and on the page; an address other than loopback needs a login (WEB_CONFIG_FILE)"`
	GenAISemconv    bool          `env:"GENAI_SEMCONV" envDefault:"on" reload:"restart" want:"on or off" for:"run demo bench" help:"also emit the OpenTelemetry GenAI metrics (gen_ai.client.…) on OTLP"`

	// Package env is not to look for these: each is parsed by itself.
	Targets    []Target    `env:"-"` // all of them, whatever the shard; at least one; environment first, then the file
	Objectives []Objective `env:"-"` // at least one
	Given      []Objective `env:"-"` // Objectives; nil if they are only the default
	Warnings   []string    // legal but probably not meant, one sentence each, no secrets
	Unknown    []string    // variables that begin with PROBER_, mean nothing and were ignored; each has a warning too
}

// Settings may be given for all targets, PROBER_X, and for one, PROBER_TARGETS_n_X.
type Settings struct {
	QPS     float64 `env:"QPS" envDefault:"0.1" above:"0" max:"1000" group:"agree" want:"probes per second, for example 0.1" for:"run demo check bench" topic:"Rate" help:"probes per second and target; above 0, at most 1000"`
	Arrival string  `env:"ARRIVAL" envDefault:"constant" oneof:"constant poisson" group:"agree" for:"run demo check bench" help:"how the starts of probes are spread over time"`

	Active Window `env:"ACTIVE" otherwise:"always" want:"days, a time and a time zone, for example Mon-Fri 08:00-18:00 Europe/Berlin" for:"run" help:"when targets are probed, for example Mon-Fri 08:00-18:00 Europe/Berlin (each day, UTC if left out); at other times they are paused"`

	Prompt        string  `env:"PROMPT" envDefault:"cold" oneof:"cold warm sessions dataset canary" group:"agree" topic:"Prompts" help:"workload: cold (new words each time: no cache helps), warm (the same words), sessions (users with a growing history), dataset (prompts of DATASET_FILE) or canary (the answer must repeat three words)"`
	PromptTokens  int     `env:"PROMPT_TOKENS" envDefault:"21000" min:"16" max:"1000000" group:"agree" want:"the length of a prompt in tokens, at least 16 (fewer leave no room for a nonce), for example 21000" help:"exact length of a prompt in tokens, with sessions that of the first round; 16 to 1000000"`
	MaxTokens     int     `env:"MAX_TOKENS" envDefault:"100" min:"1" max:"100000" group:"agree" want:"the length of an answer in tokens, for example 100" help:"exact length of an answer in tokens; 1 to 100000"`
	SessionUsers  int     `env:"SESSION_USERS" envDefault:"15" min:"1" max:"10000" group:"agree" want:"a number of users, for example 15" help:"users of the prompt sessions who take turns, 1 to 10000"`
	SessionRounds int     `env:"SESSION_ROUNDS" envDefault:"20" min:"1" max:"1000" group:"agree" want:"a number of rounds, for example 20" help:"questions of each user of the prompt sessions, 1 to 1000; the last prompt, with all answers before it, has at most 1000000 tokens"`
	SystemTokens  int     `env:"SYSTEM_TOKENS" envDefault:"1000" min:"0" max:"1000000" group:"agree" want:"the length of the system prompt in tokens, for example 1000" help:"approximate length, in tokens, of the system prompt that all users of the prompt sessions share; below PROMPT_TOKENS; the default becomes a tenth of it where it is not"`
	DatasetFile   string  `env:"DATASET_FILE" otherwise:"none" is:"file" group:"agree" help:"file for the prompt dataset: JSON lines with a prompt, a text or messages, at most 64 MiB"`
	CanaryDepth   float64 `env:"CANARY_DEPTH" envDefault:"0.5" min:"0" max:"1" group:"agree" want:"0 to 1, for example 0.5" help:"where in the prompt canary the words stand that the answer must repeat, from 0 (start) to 1 (end)"`

	Timeout           time.Duration `env:"TIMEOUT" envDefault:"120s" want:"a duration with its unit, for example 120s" topic:"Requests" help:"limit of a whole probe; a duration with its unit"`
	StallTimeout      time.Duration `env:"STALL_TIMEOUT" envDefault:"30s" want:"a duration with its unit, for example 30s" help:"longest time between two token frames, at most the timeout"`
	MaxInFlight       int           `env:"MAX_IN_FLIGHT" envDefault:"1" min:"1" max:"1000" want:"a number of probes, for example 1" for:"run demo check" help:"most probes of a target in flight, 1 to 1000; further ones that fall due are skipped and counted"`
	TokenBudgetPerDay int           `env:"TOKEN_BUDGET_PER_DAY" otherwise:"none" min:"0" max:"1000000000000" none:"yes" want:"tokens a day, or none" help:"most prompt and answer tokens per day and target; when they are spent, probes are skipped and counted"`
	Connection        string        `env:"CONNECTION" envDefault:"fresh" oneof:"fresh reuse" help:"whether each probe opens a connection of its own (DNS, TCP and TLS are then visible as phases)"`
	HTTPVersion       string        `env:"HTTP_VERSION" envDefault:"1.1" oneof:"1.1 2" help:"HTTP version of all probes, 1.1 or 2; 2 on http:// URLs without an upgrade (prior knowledge)"`
	Stamp             string        `env:"STAMP" envDefault:"kernel" oneof:"kernel user" help:"source of arrival timestamps: kernel (its receive time, on Linux) or user (the prober's clock after the read: a delayed prober then looks like a slow server)"`
	BackoffLimit      time.Duration `env:"BACKOFF_LIMIT" envDefault:"5m" none:"yes" want:"a duration with its unit, for example 5m, or none" for:"run demo" help:"longest pause after a 429 or 503 with Retry-After; none: Retry-After is ignored"`
	WaitForReady      time.Duration `env:"WAIT_FOR_READY" otherwise:"none" none:"yes" want:"a duration with its unit, for example 30m, or none" for:"run" help:"longest time that run waits for the server to be ready (/health, or its model list); probes that are due meanwhile are skipped and counted; none: it is probed at once"`

	APIKey        Secret `env:"API_KEY" otherwise:"none" client:"yes" for:"run once check bench" topic:"Credentials and headers" help:"key that is sent with each request, without Bearer"`
	APIKeyFile    string `env:"API_KEY_FILE" otherwise:"none" client:"yes" for:"run once check bench" help:"file with the API key; a newline at its end does not belong to the key"`
	Priority      *int   `env:"PRIORITY" otherwise:"none" min:"-2147483648" max:"2147483647" none:"yes" want:"a whole number, for example -10, or none" for:"run once check bench" help:"priority of the request, in the server's own sense: vLLM runs lower numbers first, SGLang higher ones"`
	SessionHeader string `env:"SESSION_HEADER" otherwise:"the one that the server's router is known for" is:"header" want:"the name of a header, for example x-user-id" for:"run once check bench" help:"header that carries the user's id with the prompt sessions"`
}

// A Target is one endpoint and how it is probed. Every field is filled in.
type Target struct {
	URL                string  `env:"URL" is:"url" client:"yes" want:"http:// or https://, a host and perhaps a port and path, for example http://localhost:8000" topic:"Targets" help:"base URL as other clients get it; /v1 may be left out where there is no other path, http:// before loopback and private names; dns+http://… makes one target for each address of its host"`
	Name               string  `env:"NAME" otherwise:"host:port of the URL, and its path where several targets share those" is:"name" want:"1 to 100 printable characters" for:"run once check bench" help:"label target of the metrics; unique, at most 100 characters; with dns+ 60, and an address follows: name/10.1.2.3"`
	Group              string  `env:"GROUP" otherwise:"the name; with dns+ each address alone" is:"name" want:"1 to 100 printable characters" for:"run once check bench" help:"targets of one group answer the same prompts in the same round; they must agree in the rate and in what is asked"`
	API                string  `env:"API" envDefault:"auto" oneof:"auto" client:"yes" for:"run once check bench" help:"dialect of the server's API; auto: the server is asked"`
	Path               string  `env:"PATH" otherwise:"the URL's path, then the API's" is:"path" client:"yes" want:"a path from the host's root on, without query, for example /v1/chat/completions" for:"run once check bench" help:"path of the probes' requests on the URL's host, in place of the URL's and the API's"`
	APIVersion         string  `env:"API_VERSION" otherwise:"the dialect's" client:"yes" for:"run once check bench" help:"version of the API to ask for: api-version of Azure, anthropic-version of Anthropic"`
	Server             string  `env:"SERVER" envDefault:"auto" oneof:"auto" client:"yes" for:"run once check bench" help:"type of server behind an OpenAI API; auto: detected"`
	Model              string  `env:"MODEL" otherwise:"asked of /v1/models" client:"yes" for:"run once check bench" help:"model that is asked for"`
	Headers            Headers `env:"HEADERS" otherwise:"none" client:"yes" want:"NAME=value,NAME=value (a value with a comma in it goes into the targets file)" for:"run once check bench" help:"headers to send, NAME=value,NAME=value; a mapping in the targets file; values are secrets, Host replaces that of the URL"`
	CAFile             string  `env:"CA_FILE" otherwise:"the system's" is:"file" client:"yes" for:"run once check bench" topic:"TLS" help:"PEM file with the certificates to trust"`
	CertFile           string  `env:"CERT_FILE" otherwise:"none" is:"file" client:"yes" for:"run once check bench" help:"PEM file with the client certificate; needs KEY_FILE"`
	KeyFile            string  `env:"KEY_FILE" otherwise:"none" is:"file" client:"yes" for:"run once check bench" help:"PEM file with the client certificate's key; needs CERT_FILE"`
	InsecureSkipVerify bool    `env:"INSECURE_SKIP_VERIFY" envDefault:"off" want:"on or off" for:"run once check bench" help:"do not verify the server's certificate"`

	Settings

	EachAddress bool   // stands for one target for each address of the URL's host: the URL was given with dns+
	Address     string // IP address that is dialled whatever the URL's host; "" means: that host. Load leaves it empty
}

// An Objective is the ratio of probes that shall be good.
type Objective = probe.Objective

// NeedRestart returns the variables that differ in next and take effect with a restart only.
func (c *Config) NeedRestart(next *Config) []string {
	var variables []string
	for _, k := range settings().prober {
		if k.Restart && !k.of(c).Equal(k.of(next)) {
			variables = append(variables, k.Variable)
		}
	}
	return variables
}

// Identity returns t with only those settings by which its server knows the prober, and which server that is.
func (t Target) Identity() Target {
	id := Target{Address: t.Address}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Target]()) {
		if f.Tag.Get("client") != "" {
			reflect.ValueOf(&id).Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(t).FieldByIndex(f.Index))
		}
	}
	if t.APIKeyFile != "" { // another key from the same file is a newer one of the same client
		id.APIKey = Secret{}
	}
	return id
}

// Values returns the settings of t as texts, by their names in lower case, but for secrets, those that are not set or of no use
// to command, and what says which target it is.
func (t Target) Values(command string) map[string]string {
	values := map[string]string{}
	for _, k := range settings().target {
		v := reflect.Indirect(k.of(t))
		if k.secret || len(k.For) > 0 && !slices.Contains(k.For, command) || slices.Contains([]string{"URL", "NAME", "GROUP", "MODEL"}, k.name) || !v.IsValid() {
			continue
		}
		if text := fmt.Sprint(v.Interface()); text != "" {
			values[strings.ToLower(k.name)] = text
		}
	}
	return values
}

// Files returns the paths of the files that t names, but for that of its key.
func (t Target) Files() []string {
	var paths []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Target]()) {
		if path := reflect.ValueOf(t).FieldByIndex(f.Index).String(); f.Tag.Get("is") == "file" && path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}
