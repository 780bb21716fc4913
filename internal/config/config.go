// Package config turns the environment, an optional targets file and the flags of a command into typed, validated data.
// It reports every problem at once, each with its place and a hint. It reads files that it is told to read and nothing
// else: it opens no connection, asks no server and keeps no state. Secrets leave it only through [Secret.Reveal].
//
// The structs below are the settings. caarlos0/env fills them, see [Load] for the order. Their tags are
//
//	env         name of the variable, without PROBER_ and TARGETS_n_
//	envDefault  default
//	yaml        key in the targets file
//	oneof       the words that are allowed; API and SERVER have those of package wire
//	min, max    bounds of a number or a duration; both are allowed
//	above       bound of a number that is not allowed itself
//	format      form of a text, or ratio for a number between 0 and 1: see [formats]
//
// What people read about a setting is in [descriptions].
package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
)

// A Config is everything the prober was told. [Load] makes it; the caller owns it.
type Config struct {
	ListenAddress   string           `env:"LISTEN_ADDRESS" envDefault:":9464" yaml:"listen_address" format:"address"`
	WebConfigFile   string           `env:"WEB_CONFIG_FILE" yaml:"web_config_file" format:"file"`
	LogLevel        string           `env:"LOG_LEVEL" envDefault:"info" yaml:"log_level" oneof:"debug info warn error"`
	LogFormat       string           `env:"LOG_FORMAT" yaml:"log_format" oneof:"json console"`
	TargetsFile     string           `env:"TARGETS_FILE" yaml:"targets_file" format:"file"`
	ReloadInterval  OptionalDuration `env:"RELOAD_INTERVAL" envDefault:"5s" yaml:"reload_interval" min:"100ms"`
	DNSInterval     Duration         `env:"DNS_INTERVAL" envDefault:"30s" yaml:"dns_interval" min:"100ms"`
	Shard           Shard            `env:"SHARD" yaml:"shard"`
	MaxTokensPerDay Tokens           `env:"MAX_TOKENS_PER_DAY" envDefault:"1000000000" yaml:"max_tokens_per_day" min:"1" max:"1000000000000000"`
	DrainEndpoint   bool             `env:"DRAIN_ENDPOINT" envDefault:"off" yaml:"drain_endpoint"`
	GenAISemconv    bool             `env:"GENAI_SEMCONV" envDefault:"on" yaml:"genai_semconv"`

	// Each target and each objective is filled by itself, with a prefix of its own.
	Targets    []Target    `env:"-"` // all of them, whatever the shard; at least one; environment first, then the file
	Rejected   []Rejected  `env:"-"` // that cannot be probed; never all: then Load fails
	Objectives []Objective `env:"-"` // at least one
	Given      []Objective `env:"-"` // Objectives; nil if they are only the default
	Warnings   []string    // legal but probably not meant, one sentence each, no secrets
	Unknown    []string    // variables that begin with PROBER_, mean nothing and were ignored; each has a warning too
}

// Settings may be given for all targets, PROBER_X, and for one, PROBER_TARGETS_n_X.
type Settings struct {
	QPS     Rate   `env:"QPS" envDefault:"0.1" yaml:"qps" above:"0" max:"1000"`
	Arrival string `env:"ARRIVAL" envDefault:"constant" yaml:"arrival" oneof:"constant poisson"`

	Prompt        string  `env:"PROMPT" envDefault:"cold" yaml:"prompt" oneof:"cold warm sessions dataset canary"`
	PromptTokens  int     `env:"PROMPT_TOKENS" envDefault:"21000" yaml:"prompt_tokens" min:"16" max:"1000000"`
	MaxTokens     int     `env:"MAX_TOKENS" envDefault:"100" yaml:"max_tokens" min:"1" max:"100000"`
	SessionUsers  int     `env:"SESSION_USERS" envDefault:"15" yaml:"session_users" min:"1" max:"10000"`
	SessionRounds int     `env:"SESSION_ROUNDS" envDefault:"20" yaml:"session_rounds" min:"1" max:"1000"`
	SystemTokens  int     `env:"SYSTEM_TOKENS" envDefault:"1000" yaml:"system_tokens" min:"0" max:"1000000"`
	DatasetFile   string  `env:"DATASET_FILE" yaml:"dataset_file" format:"file"`
	CanaryDepth   float64 `env:"CANARY_DEPTH" envDefault:"0.5" yaml:"canary_depth" min:"0" max:"1"`

	Timeout           Duration         `env:"TIMEOUT" envDefault:"120s" yaml:"timeout"`
	StallTimeout      Duration         `env:"STALL_TIMEOUT" envDefault:"30s" yaml:"stall_timeout"`
	MaxInFlight       int              `env:"MAX_IN_FLIGHT" envDefault:"1" yaml:"max_in_flight" min:"1" max:"1000"`
	TokenBudgetPerDay Tokens           `env:"TOKEN_BUDGET_PER_DAY" yaml:"token_budget_per_day" min:"0" max:"1000000000000"`
	Connection        string           `env:"CONNECTION" envDefault:"fresh" yaml:"connection" oneof:"fresh reuse"`
	HTTPVersion       string           `env:"HTTP_VERSION" envDefault:"1.1" yaml:"http_version" oneof:"1.1 2"`
	Stamp             string           `env:"STAMP" envDefault:"kernel" yaml:"stamp" oneof:"kernel user"`
	BackoffLimit      OptionalDuration `env:"BACKOFF_LIMIT" envDefault:"5m" yaml:"backoff_limit"`
	WaitForReady      OptionalDuration `env:"WAIT_FOR_READY" yaml:"wait_for_ready"`

	APIKey        Secret      `env:"API_KEY" yaml:"api_key"`
	APIKeyFile    string      `env:"API_KEY_FILE" yaml:"api_key_file" format:"file"`
	Priority      OptionalInt `env:"PRIORITY" yaml:"priority" min:"-2147483648" max:"2147483647"`
	SessionHeader string      `env:"SESSION_HEADER" yaml:"session_header" format:"header"`
}

// A Target is one endpoint and how it is probed. Every field is filled in.
type Target struct {
	URL                string  `env:"URL" yaml:"url" format:"url"`
	Name               string  `env:"NAME" yaml:"name" format:"name"`
	Group              string  `env:"GROUP" yaml:"group" format:"name"`
	API                string  `env:"API" envDefault:"auto" yaml:"api" oneof:"auto"`
	Path               string  `env:"PATH" yaml:"path" format:"path"`
	APIVersion         string  `env:"API_VERSION" yaml:"api_version"`
	Server             string  `env:"SERVER" envDefault:"auto" yaml:"server" oneof:"auto"`
	Model              string  `env:"MODEL" yaml:"model"`
	Headers            Headers `env:"HEADERS" yaml:"headers"`
	CAFile             string  `env:"CA_FILE" yaml:"ca_file" format:"file"`
	CertFile           string  `env:"CERT_FILE" yaml:"cert_file" format:"file"`
	KeyFile            string  `env:"KEY_FILE" yaml:"key_file" format:"file"`
	InsecureSkipVerify bool    `env:"INSECURE_SKIP_VERIFY" envDefault:"off" yaml:"insecure_skip_verify"`

	Settings `yaml:",inline"`

	EachAddress bool   `yaml:"-"` // stands for one target for each address of the URL's host: the URL was given with dns+
	Address     string `yaml:"-"` // IP address that is dialled in place of the URL's host, if it is not empty. Load leaves it empty
}

// A Rejected is a target that cannot be probed for what its settings say. The others are probed without it.
type Rejected struct {
	Name     string         // unlike that of any other target, rejected or not: the second one called a is "a (2)"
	Problems usage.Problems // at least one
}

// An Objective is the ratio of probes that shall be good.
type Objective = probe.Objective

// Sidecar reports whether the prober runs in the pod of its server: only there is it drained by a hook. It must not end
// for a mistake in its configuration, because the pod would not be ready without it.
func (c *Config) Sidecar() bool { return c.DrainEndpoint }

// reloaded are the settings of the prober that a reload changes. The others take effect with a restart only.
var reloaded = []string{"TARGETS_FILE", "SHARD", "MAX_TOKENS_PER_DAY"}

// Reject takes targets out of c that cannot be probed, for problems that [Load] did not look for.
func (c *Config) Reject(rejected []Rejected) {
	c.Targets = slices.DeleteFunc(c.Targets, func(t Target) bool {
		return slices.ContainsFunc(rejected, func(r Rejected) bool { return r.Name == t.Name })
	})
	c.Rejected = append(c.Rejected, rejected...)
}

// Problems returns the problems of all targets that cannot be probed; nil if there is none.
func (c *Config) Problems() usage.Problems {
	var all usage.Problems
	for _, r := range c.Rejected {
		all = append(all, r.Problems...)
	}
	return all.Sorted()
}

// NeedRestart returns the variables that differ in next and take effect with a restart only.
func (c *Config) NeedRestart(next *Config) []string {
	var variables []string
	for _, k := range settings().prober {
		if k.Restart && !k.field(c).Equal(k.field(next)) {
			variables = append(variables, k.Variable)
		}
	}
	return variables
}

// Identity returns t with only those settings by which its server knows the prober, and which server that is.
func (t Target) Identity() Target {
	id := Target{
		URL: t.URL, Address: t.Address, API: t.API, Path: t.Path, APIVersion: t.APIVersion, Server: t.Server, Model: t.Model,
		Headers: t.Headers, CAFile: t.CAFile, CertFile: t.CertFile, KeyFile: t.KeyFile,
	}
	id.APIKey, id.APIKeyFile = t.APIKey, t.APIKeyFile
	if t.APIKeyFile != "" { // another key from the same file is a newer one of the same client
		id.APIKey = Secret{}
	}
	return id
}

// Values returns the settings of t as texts, by their keys, without secrets, those that are not set or of no use to
// command, and what says which target it is.
func (t Target) Values(command string) map[string]string {
	values := map[string]string{}
	for _, k := range settings().target {
		tellsWhich := slices.Contains([]string{"URL", "NAME", "GROUP", "MODEL"}, k.name)
		if k.secret || tellsWhich || !k.usedBy(command) {
			continue
		}
		if text := fmt.Sprint(k.field(&t).Interface()); text != "" {
			values[strings.ToLower(k.name)] = text
		}
	}
	return values
}

// Files returns the paths of the files that t names, but for that of its key.
func (t Target) Files() []string {
	paths := []string{t.CAFile, t.CertFile, t.KeyFile, t.DatasetFile}
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

// field returns the setting in a pointer to a struct that has it.
func (k Key) field(of any) reflect.Value {
	return reflect.ValueOf(of).Elem().FieldByName(k.fieldName)
}
