// Package config turns the environment, an optional targets file and the flags
// of a verb into plain, validated data. It reports every problem at once, each
// with its place and a hint. It reads files that it is told to read and nothing
// else: it opens no connection, asks no server and keeps no state. Secrets leave
// it only through [Secret.Reveal].
package config

import "time"

// A Config is everything the prober was told. [Load] makes it; whoever asked for
// it owns it. Defaults and bounds of its fields stand in one table, keys.go.
type Config struct {
	ListenAddress string `env:"LISTEN_ADDRESS"`  // host:port; an empty host means every interface
	WebConfigFile string `env:"WEB_CONFIG_FILE"` // in exporter-toolkit's format; "" means plain HTTP
	LogLevel      string `env:"LOG_LEVEL"`       // debug, info, warn or error
	LogFormat     string `env:"LOG_FORMAT"`      // json or console; "" means the caller chooses
	TargetsFile   string `env:"TARGETS_FILE"`    // "" means none
	GenAISemconv  bool   `env:"GENAI_SEMCONV"`   // also emit OpenTelemetry's GenAI metrics on OTLP

	ReloadInterval time.Duration `env:"RELOAD_INTERVAL"` // between looks at the files that were read; 0: they are not looked at
	DNSInterval    time.Duration `env:"DNS_INTERVAL"`    // between lookups of the hosts of targets with EachAddress, above 0
	DrainEndpoint  bool          `env:"DRAIN_ENDPOINT"`  // serve /-/drain
	Shard          Shard         `env:"SHARD"`           // which of the targets are this prober's; the targets below are all of them

	Targets    []Target    `envPrefix:"TARGETS_"`    // at least one; environment first, then the file
	Objectives []Objective `envPrefix:"OBJECTIVES_"` // at least one
	Warnings   []string    // legal but doubtful settings, one sentence each, no secrets
}

// A Target is one endpoint and how it is probed. Every field is filled in: a
// target needs no look at the defaults.
type Target struct {
	Name  string `env:"NAME"`  // unique; printable, at most 100 characters
	Group string `env:"GROUP"` // targets of one group answer the same prompts; alone, it is the name, or "" with EachAddress
	URL   string `env:"URL"`   // base URL, http or https, without dns+, credentials, query and endpoint
	Path  string `env:"PATH"`  // of probes, from the host's root on; "" means: what the URL and the API make
	API   string `env:"API"`   // a dialect's name, or "auto": ask the server
	Model string `env:"MODEL"` // "" means: ask the server

	EachAddress bool   // stands for one target for each address of the URL's host: the URL was given with dns+
	Address     string // IP address that is dialled whatever the URL's host; "" means: that host. Load leaves it empty

	APIVersion string `env:"API_VERSION"` // version of the API to ask for; "" means the dialect's
	Server     string `env:"SERVER"`      // kind of server behind an OpenAI API, or "auto": find out

	Prompt       string  `env:"PROMPT"`        // name of the workload
	PromptTokens int     `env:"PROMPT_TOKENS"` // exact length of the prompt; of the first round with sessions
	MaxTokens    int     `env:"MAX_TOKENS"`    // exact length of the answer
	QPS          float64 `env:"QPS"`           // probes per second, above 0
	Arrival      string  `env:"ARRIVAL"`       // constant, jittered or poisson

	SessionUsers  int     `env:"SESSION_USERS"`  // users of the prompt sessions at a time, at least 1
	SessionRounds int     `env:"SESSION_ROUNDS"` // questions of each, at least 1
	SystemTokens  int     `env:"SYSTEM_TOKENS"`  // about the length of the system prompt they share; with sessions below PromptTokens
	BookFile      string  `env:"BOOK_FILE"`      // not empty if the prompt is book; can be read, its content is not judged
	DatasetFile   string  `env:"DATASET_FILE"`   // the same for the prompt dataset
	CanaryDepth   float64 `env:"CANARY_DEPTH"`   // how much of the prompt stands before the canary, 0 to 1

	Timeout           time.Duration `env:"TIMEOUT"`              // limit of a whole probe, above 0
	StallTimeout      time.Duration `env:"STALL_TIMEOUT"`        // longest silence between token frames, at most Timeout
	MaxInFlight       int           `env:"MAX_IN_FLIGHT"`        // probes that may run at once, at least 1
	TokenBudgetPerDay int           `env:"TOKEN_BUDGET_PER_DAY"` // prompt and answer tokens; 0 means no budget
	Connection        string        `env:"CONNECTION"`           // fresh or reuse
	HTTPVersion       string        `env:"HTTP_VERSION"`         // 1.1 or 2
	Stamp             string        `env:"STAMP"`                // kernel or user
	BackoffLimit      time.Duration `env:"BACKOFF_LIMIT"`        // longest pause that a Retry-After may ask for; 0 means no pauses
	WaitForReady      time.Duration `env:"WAIT_FOR_READY"`       // longest wait for the server to be ready before the first probe; 0 means none

	APIKey     Secret            `env:"API_KEY"`      // empty means none; already read from APIKeyFile, if that is given
	APIKeyFile string            `env:"API_KEY_FILE"` // where APIKey was read from; "" if it was given directly
	Headers    map[string]Secret `env:"HEADERS"`      // names as given, unique whatever their case

	Priority           *int   `env:"PRIORITY"`            // in the server's own sense, may be negative; nil means none
	InferenceObjective string `env:"INFERENCE_OBJECTIVE"` // name of a Kubernetes object; "" means none
	SessionHeader      string `env:"SESSION_HEADER"`      // carries the id of a session; "" means the one that the server is known for

	CAFile             string `env:"CA_FILE"`   // certificates to trust; "" means the system's
	CertFile           string `env:"CERT_FILE"` // client certificate; given with KeyFile or not at all
	KeyFile            string `env:"KEY_FILE"`
	InsecureSkipVerify bool   `env:"INSECURE_SKIP_VERIFY"`
}

// An Objective is a promise about a target: the ratio Goal of probes is good.
type Objective struct {
	Name   string        `env:"NAME"`   // unique; a-z, 0-9 and _
	Signal string        `env:"SIGNAL"` // ttft, server_ttft, ttfat, tpot, max_gap, e2el or availability
	Limit  time.Duration `env:"LIMIT"`  // a good probe's signal is at most this; 0 exactly for availability
	Goal   float64       `env:"GOAL"`   // between 0 and 1, exclusive
}
