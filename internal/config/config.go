// Package config turns the environment, an optional targets file and the flags of a command into typed, validated data.
// It reports every problem at once, each with its place and a hint. It reads files that it is told to read and nothing
// else: it opens no connection, asks no server and keeps no state. Secrets leave it only through [Secret.Reveal].
//
// The structs below are the settings. In the order in which a configuration is loaded, the files of the package are:
//
//	config.go       the settings, and what is known of a loaded configuration
//	setting.go      what a setting is: its tags and its help
//	kinds.go        what the values of a setting look like; values.go has types of such values
//	schema.go       the JSON Schema of the targets file
//	entry.go        what was written for one struct: texts with their places, and how they become its fields
//	environment.go  reads variables, flags and arguments
//	file.go         reads the targets file
//	load.go         merges all of these in order, and prints the result
//	prompts.go      the prompts of targets
//	http_sd.go      sources that list targets, and what an address of their lists is as a target
//	validate.go     the rules for settings that depend on each other; also objectives.go, cost.go, labels.go
//
// The tags are
//
//	env         name of the variable, without PROBER_ and TARGETS_n_; in lower case, it is the key in the targets file
//	envDefault  default
//	oneof       the words that are allowed; API, SERVER and SIGNAL have those of their kinds
//	min, max    bounds of a number or a duration, which are allowed themselves
//	optional    the word none is allowed, too, for the zero value; its text is an example, if there is no default
//	format      what the text or number means: see [kinds]
//	shared      may be given for all targets, PROBER_X, and for one, PROBER_TARGETS_n_X. With the text group, members of
//	            a group must agree in it, so that they get the same prompts
//	file        a setting of the prober that may stand in the targets file: who writes it for one place knows it
//	reload      a setting of the prober that a reload changes; the others need a restart
//
// What people read about a setting is in help.txt. To add a setting, add a field here and a line there. Rules name a
// setting by a pointer to its field, &t.QPS, so that a name which does not exist does not compile: see [entry.key].
package config

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
)

// A Config is everything the prober was told. [Load] makes it; the caller owns it.
type Config struct {
	ListenAddress  string        `env:"LISTEN_ADDRESS" envDefault:":9464" format:"address"`
	WebConfigFile  string        `env:"WEB_CONFIG_FILE" format:"file"`
	LogLevel       string        `env:"LOG_LEVEL" envDefault:"info" oneof:"debug info warn error"`
	LogFormat      string        `env:"LOG_FORMAT" oneof:"json console"`
	LogProbes      string        `env:"LOG_PROBES" envDefault:"notable" oneof:"notable all failed"`
	TargetsFile    string        `env:"TARGETS_FILE" format:"file" reload:""`
	ReloadInterval time.Duration `env:"RELOAD_INTERVAL" envDefault:"5s" min:"100ms" optional:""`
	DNSInterval    time.Duration `env:"DNS_INTERVAL" envDefault:"30s" min:"100ms"`

	Shard           Shard `env:"SHARD" reload:""`
	MaxTokensPerDay int   `env:"MAX_TOKENS_PER_DAY" envDefault:"1000000000" min:"1" optional:"" format:"tokens" reload:""`

	DrainEndpoint bool   `env:"DRAIN_ENDPOINT" envDefault:"off"`
	GenAISemconv  GenAI  `env:"GENAI_SEMCONV" envDefault:"off"`
	ExternalURL   string `env:"EXTERNAL_URL" format:"website"` // never ends with a slash
	GrafanaURL    string `env:"GRAFANA_URL" format:"website"`  // never ends with a slash
	Vantage       string `env:"VANTAGE" format:"name" file:""` // where the prober stands

	// Each target is filled by itself.
	Targets    []Target   `env:"-"` // all of them, whatever the shard; environment first, then the file
	HTTPSD     []HTTPSD   `env:"-"` // sources that list further targets; there is one, or there is a target
	Shared     Target     `env:"-"` // what each target that a source lists is without its address: see [Config.Listed]
	Rejected   []Rejected `env:"-"` // targets that cannot be probed; never all of them: then Load fails
	LabelNames []string   `env:"-"` // of the labels of all targets, even of rejected ones; sorted
	Warnings   []string   // what is legal but probably a mistake: a sentence each, no secrets
}

// A Target is one endpoint and how it is probed. Every field is filled in.
type Target struct {
	URL                string  `env:"URL" format:"url"`
	Name               string  `env:"NAME" format:"name"`
	Enabled            bool    `env:"ENABLED" envDefault:"on"`
	Group              string  `env:"GROUP" format:"name"`
	API                string  `env:"API" envDefault:"auto" format:"api"`
	Path               string  `env:"PATH" format:"path"`
	APIVersion         string  `env:"API_VERSION"`
	Server             string  `env:"SERVER" envDefault:"auto" format:"server"`
	Model              string  `env:"MODEL"`
	Headers            Headers `env:"HEADERS"`
	CAFile             string  `env:"CA_FILE" format:"file"`
	CertFile           string  `env:"CERT_FILE" format:"file"`
	KeyFile            string  `env:"KEY_FILE" format:"file"`
	TLSServerName      string  `env:"TLS_SERVER_NAME" format:"host"`
	InsecureSkipVerify bool    `env:"INSECURE_SKIP_VERIFY" envDefault:"off"`

	QPS     float64 `env:"QPS" envDefault:"0.1" min:"0.00001" max:"1000" format:"rate" shared:"group"`
	Arrival string  `env:"ARRIVAL" envDefault:"constant" oneof:"constant poisson" shared:"group"`

	Prompt string `env:"PROMPT" envDefault:"cold" oneof:"cold warm sessions dataset tool json canary" shared:"group"`

	PromptTokens  int    `env:"PROMPT_TOKENS" envDefault:"21000" min:"16" max:"1000000" format:"tokens" shared:"group"`
	MaxTokens     int    `env:"MAX_TOKENS" envDefault:"100" min:"1" max:"100000" format:"tokens" shared:"group"`
	SessionUsers  int    `env:"SESSION_USERS" envDefault:"15" min:"1" max:"10000" shared:"group"`
	SessionRounds int    `env:"SESSION_ROUNDS" envDefault:"20" min:"1" max:"1000" shared:"group"`
	SystemTokens  int    `env:"SYSTEM_TOKENS" envDefault:"1000" min:"0" max:"1000000" format:"tokens" shared:"group"`
	DatasetFile   string `env:"DATASET_FILE" format:"file" shared:"group"`
	CanaryDepth   Depths `env:"CANARY_DEPTH" envDefault:"0.5" shared:"group"`

	Timeout           time.Duration `env:"TIMEOUT" envDefault:"120s" min:"1ms" shared:""`
	StallTimeout      time.Duration `env:"STALL_TIMEOUT" envDefault:"30s" min:"1ms" shared:""`
	MaxInFlight       int           `env:"MAX_IN_FLIGHT" envDefault:"1" min:"1" max:"1000" shared:""`
	TokenBudgetPerDay int           `env:"TOKEN_BUDGET_PER_DAY" min:"0" optional:"50000000" format:"tokens" shared:""`
	Connection        string        `env:"CONNECTION" envDefault:"fresh" oneof:"fresh reuse" shared:""`
	HTTPVersion       string        `env:"HTTP_VERSION" envDefault:"1.1" oneof:"1.1 2" shared:""`
	Timestamps        string        `env:"TIMESTAMPS" envDefault:"kernel" oneof:"kernel user" shared:""`
	BackoffLimit      time.Duration `env:"BACKOFF_LIMIT" envDefault:"5m" min:"1ms" optional:"" shared:""`
	WaitForReady      time.Duration `env:"WAIT_FOR_READY" min:"1ms" optional:"30m" shared:""`
	Refusals          string        `env:"REFUSALS" envDefault:"ignore" oneof:"ignore bad" shared:""`

	APIKey     Secret `env:"API_KEY" shared:""`
	APIKeyFile string `env:"API_KEY_FILE" format:"file" shared:""`

	OAuthTokenURL   string `env:"OAUTH_TOKEN_URL" format:"token-url" shared:""`
	OAuthClientID   string `env:"OAUTH_CLIENT_ID" shared:""`
	OAuthSecret     Secret `env:"OAUTH_SECRET" shared:""`
	OAuthSecretFile string `env:"OAUTH_SECRET_FILE" format:"file" shared:""`
	OAuthScopes     string `env:"OAUTH_SCOPES" shared:""` // with blanks between them
	OAuthClientAuth string `env:"OAUTH_CLIENT_AUTH" envDefault:"header" oneof:"header body" shared:""`

	Body          Body   `env:"BODY" shared:""` // of requests for answers: what is added to it; nil for nothing
	Priority      *int   `env:"PRIORITY" min:"-2147483648" max:"2147483647" optional:"-10" shared:""`
	SessionHeader string `env:"SESSION_HEADER" format:"header" shared:""`

	Labels Labels `env:"LABELS" shared:""` // those of all targets and its own; nil for none

	// Prompts are what it is asked in rotation: its own, those of all targets or, without any, the one that its own
	// settings make. There is at least one.
	Prompts []Prompt `env:"-"`

	// Objectives are its own or, without any, those of all targets: at least one. GivenObjectives are the same, or nil if
	// they are the default because nobody wrote any.
	Objectives      []probe.Objective `env:"-"`
	GivenObjectives []probe.Objective `env:"-"`

	// Places say where the settings of the target are written, or would be, by their keys in the targets file: "model in
	// targets.yaml:21", "PROBER_TARGETS_0_MODEL" or "--model". That of api_key is also that of a file with the key.
	Places map[string]string `env:"-"`

	EachAddress bool   // stands for a target for each address of the URL's host: the URL was given with dns+
	Address     string // IP address to dial instead of the URL's host; "" for none; Load never sets it
	Workload    string // name of the dns+ target if this is one of its addresses; else ""; Load never sets it
}

// A Prompt is one of those that a target is asked in rotation. Every field is filled in.
type Prompt struct {
	Name      string `env:"NAME" format:"name"` // value of the label prompt; unique within the target
	Workload  string `env:"PROMPT" oneof:"cold warm sessions dataset tool json canary"`
	Tokens    int    `env:"PROMPT_TOKENS" min:"16" max:"1000000" format:"tokens"`
	MaxTokens int    `env:"MAX_TOKENS" min:"1" max:"100000" format:"tokens"`
	Share     int    `env:"SHARE" envDefault:"1" min:"1" max:"100"` // of the target's probes, beside those of the others

	Places map[string]string // as those of a [Target]; nil if its own settings make the prompt
}

// An HTTPSD is a source that lists targets, in the format of Prometheus' HTTP service discovery:
// https://prometheus.io/docs/prometheus/latest/http_sd/.
type HTTPSD struct {
	URL     SourceURL     `env:"URL"`
	Refresh time.Duration `env:"REFRESH" envDefault:"60s" min:"5s"` // how often it is asked
}

// A Rejected is a target that cannot be probed because of its settings. The others are probed without it.
type Rejected struct {
	Name     string         // unique among all targets, rejected or not: the second one called a is "a (2)"
	Labels   Labels         // those without a problem
	Problems usage.Problems // at least one
}

// objectiveSettings are the settings of a [probe.Objective]. It has the same fields, so that Go converts one into the
// other.
type objectiveSettings struct {
	Name   string        `env:"NAME" format:"identifier"`
	Signal probe.Signal  `env:"SIGNAL" envDefault:"availability"`
	Limit  time.Duration `env:"LIMIT" min:"1us" format:"limit"` // 0 for availability
	Goal   float64       `env:"GOAL" envDefault:"0.99" min:"0.001" max:"0.999999" format:"ratio"`
	Prompt string        `env:"PROMPT" format:"name"` // empty: each prompt of the target

	RefusalsAreBad bool // as its target says: see [Target.Refusals]
}

// Sidecar reports whether the prober runs in the pod of its server: only there is it drained by a hook. It must not end
// for a mistake in its configuration, because the pod would not be ready without it.
func (c *Config) Sidecar() bool { return c.DrainEndpoint }

// Reject takes targets out of c because of problems that [Load] did not look for. Without those that sources list,
// there are no sources.
func (c *Config) Reject(rejected []Rejected) {
	isRejected := func(t Target) bool {
		return slices.ContainsFunc(rejected, func(r Rejected) bool { return r.Name == t.Name })
	}
	c.Targets = slices.DeleteFunc(c.Targets, isRejected)
	if isRejected(c.Shared) {
		c.HTTPSD = nil
	}
	c.Rejected = append(c.Rejected, rejected...)
}

// MustRefuse reports whether a command has to refuse c for its rejected targets: because there is no other, and no
// source of others, or because its run is finite and needs them all.
func (c *Config) MustRefuse(finite bool) bool {
	return len(c.Targets) == 0 && len(c.HTTPSD) == 0 || finite && len(c.Rejected) > 0
}

// Problems returns the problems of all rejected targets; nil if there are none.
func (c *Config) Problems() usage.Problems {
	var all usage.Problems
	for _, r := range c.Rejected {
		all = append(all, r.Problems...)
	}
	return all.Sorted()
}

// NeedRestart returns the variables of settings that differ in next and take effect only with a restart.
func (c *Config) NeedRestart(next *Config) []string {
	var variables []string
	for _, k := range newSchema().prober.keys {
		if k.needsRestart() && k.text(c) != k.text(next) {
			variables = append(variables, k.Variable)
		}
	}
	return variables
}

// Destination returns a target with only the settings that select the server: what is known of it holds for all targets
// with the same ones. Headers that hold credentials say who asks, others may say which server is to answer.
func (t Target) Destination() Target {
	d := t.Identity()
	d.APIKey, d.APIKeyFile = Secret{}, ""
	d.OAuthTokenURL, d.OAuthClientID, d.OAuthScopes, d.OAuthClientAuth = "", "", "", ""
	d.OAuthSecret, d.OAuthSecretFile = Secret{}, ""
	d.CAFile, d.CertFile, d.KeyFile = "", "", ""
	d.Headers = Headers{}
	for name, value := range t.Headers {
		if !probe.HoldsCredential(name) {
			d.Headers[name] = value
		}
	}
	return d
}

// Identity returns a target with only the settings that select the server and that identify the prober to it.
func (t Target) Identity() Target {
	id := Target{
		URL: t.URL, Address: t.Address, API: t.API, Path: t.Path, APIVersion: t.APIVersion, Server: t.Server, Model: t.Model,
		Headers: t.Headers, CAFile: t.CAFile, CertFile: t.CertFile, KeyFile: t.KeyFile, TLSServerName: t.TLSServerName,
	}
	id.APIKey, id.APIKeyFile = t.APIKey, t.APIKeyFile
	id.OAuthTokenURL, id.OAuthClientID, id.OAuthScopes = t.OAuthTokenURL, t.OAuthClientID, t.OAuthScopes
	id.OAuthSecret, id.OAuthSecretFile = t.OAuthSecret, t.OAuthSecretFile
	id.OAuthClientAuth = t.OAuthClientAuth
	return id.WithoutRotated()
}

// WithoutRotated returns t without the secrets that are in files: a new one in the same file belongs to the same
// client.
func (t Target) WithoutRotated() Target {
	if t.APIKeyFile != "" {
		t.APIKey = Secret{}
	}
	if t.OAuthSecretFile != "" {
		t.OAuthSecret = Secret{}
	}
	return t
}

// Values returns the settings of t that a command uses, as texts by their keys in the targets file. It leaves out
// secrets, settings that are not set, and those that identify the target.
func (t Target) Values(command string) map[string]string {
	values := map[string]string{}
	for _, k := range newSchema().target.keys {
		text := k.text(&t)
		identifies := slices.Contains([]any{&t.URL, &t.Name, &t.Group, &t.Model}, k.pointer(&t))
		if text != "" && k.usedBy(command) && !k.secret && !identifies {
			values[k.fileKey()] = text
		}
	}
	return values
}

// Files returns the paths of the files that t names, except for those of its API key and of its client secret.
func (t Target) Files() []string {
	paths := []string{t.CAFile, t.CertFile, t.KeyFile, t.DatasetFile}
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

// NameForTLS returns the name that the server's certificate must have: TLS_SERVER_NAME or, if the URL's host is an IP
// address, that of the header Host. Empty: the URL's host.
func (t Target) NameForTLS() string {
	if t.TLSServerName != "" || net.ParseIP(t.Host()) == nil {
		return t.TLSServerName
	}
	for name, value := range t.Headers {
		if strings.EqualFold(name, "Host") {
			host := url.URL{Host: value.Reveal()}
			return host.Hostname()
		}
	}
	return ""
}

// Host returns the host of the URL, without port and brackets.
func (t Target) Host() string { return t.parsedURL().Hostname() }

// parsedURL returns the URL of t, which was checked.
func (t Target) parsedURL() *url.URL {
	u, _ := url.Parse(t.URL)
	return u
}
