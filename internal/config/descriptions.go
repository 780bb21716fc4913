package config

import "strings"

// A description is what people read about a setting: in help, in docs/configuration.md and in editors.
type description struct {
	name     string // as in the tag env; those of objectives begin with OBJECTIVES_
	commands string // that have a use for it; empty: all of run, demo, once, check and bench
	help     string // one line of at most 80 characters, without full stop; details belong in docs/configuration.md
}

// A topic is a heading in help, and the settings under it.
type topic struct {
	heading  string
	settings []description
}

// Commands that serve, and those that probe the targets of a user.
const (
	forServing = "run demo"
	forTargets = "run once check bench"
)

// descriptions are all settings by topic. A setting without a default in its tag has the one that its help tells, or none.
var descriptions = []topic{
	{"Serving and logging", []description{
		{"LISTEN_ADDRESS", forServing, "address of /metrics, the page, the API and the health checks"},
		{"WEB_CONFIG_FILE", forServing, "TLS and basic authentication, as the Prometheus exporter-toolkit has them"},
		{"LOG_LEVEL", forServing, "least severe log entry that is written"},
		{"LOG_FORMAT", forServing, "how log entries are written; default: json, console on a terminal"},
	}},
	{"Configuration", []description{
		{"TARGETS_FILE", forTargets, "YAML file with targets, objectives and defaults for targets"},
		{"RELOAD_INTERVAL", "run", "how often all files of the configuration are checked for changes"},
		{"DNS_INTERVAL", "run", "how often the hosts of dns+ URLs are looked up"},
		{"SHARD", forTargets, "share of the targets, as number/shards from 0: 0/3, or by pod name: prober-0/3"},
		{"MAX_TOKENS_PER_DAY", "run check", "limit of tokens a day for all targets together; run refuses what costs more"},
	}},
	{"Special cases", []description{
		{"DRAIN_ENDPOINT", forServing, "for sidecars: serve /-/drain, and run although the configuration is invalid"},
		{"GENAI_SEMCONV", "run demo bench", "also emit the OpenTelemetry GenAI metrics on OTLP"},
	}},
	{"Rate", []description{
		{"QPS", "run demo check bench", "probes per second and target; above 0, at most 1000"},
		{"ARRIVAL", "run demo check bench", "how the starts of probes are spread over time"},
	}},
	{"Prompts", []description{
		{"PROMPT", "", "workload: cold (no cache helps), warm, sessions, dataset or canary"},
		{"PROMPT_TOKENS", "", "exact length of a prompt in tokens"},
		{"MAX_TOKENS", "", "exact length of an answer in tokens"},
		{"SESSION_USERS", "", "users of the prompt sessions, who take turns"},
		{"SESSION_ROUNDS", "", "questions of each user of the prompt sessions"},
		{"SYSTEM_TOKENS", "", "length of the system prompt that all users of the prompt sessions share"},
		{"DATASET_FILE", "", "JSON lines for the prompt dataset: a prompt, a text or messages"},
		{"CANARY_DEPTH", "", "where in the prompt the words of the prompt canary stand, from start to end"},
	}},
	{"Requests", []description{
		{"TIMEOUT", "", "limit of a whole probe"},
		{"STALL_TIMEOUT", "", "longest time between two token frames, at most the timeout"},
		{"MAX_IN_FLIGHT", "run demo check", "most probes of a target in flight; further ones are skipped"},
		{"TOKEN_BUDGET_PER_DAY", "", "most tokens per day and target; then probes are skipped"},
		{"CONNECTION", "", "whether each probe opens a connection of its own"},
		{"HTTP_VERSION", "", "HTTP version of all probes, 1.1 or 2; 2 also without TLS (prior knowledge)"},
		{"STAMP", "", "source of arrival timestamps: kernel, or user (the clock after the read)"},
		{"BACKOFF_LIMIT", forServing, "longest pause after a 429 or 503 with Retry-After"},
		{"WAIT_FOR_READY", "run", "longest time to wait for the server to be ready before it is probed"},
	}},
	{"Credentials and headers", []description{
		{"API_KEY", forTargets, "key that is sent with each request, without Bearer"},
		{"API_KEY_FILE", forTargets, "file with the API key"},
		{"PRIORITY", forTargets, "priority of the request, in the server's own sense"},
		{"SESSION_HEADER", forTargets, "header with the user's id of the prompt sessions; default: the router's own"},
	}},
	{"Targets", []description{
		{"URL", "", "base URL as other clients get it; dns+http://… probes each address of its host"},
		{"NAME", forTargets, "label target of the metrics, unique; default: host:port of the URL"},
		{"GROUP", forTargets, "members get the same prompts in the same rounds; default: the name"},
		{"API", forTargets, "dialect of the server's API; auto: the server is asked"},
		{"PATH", forTargets, "path of the probes' requests, in place of the URL's and the API's"},
		{"API_VERSION", forTargets, "version of the API, for Azure and Anthropic; default: the dialect's"},
		{"SERVER", forTargets, "type of server behind an OpenAI API; auto: detected"},
		{"MODEL", forTargets, "model to ask for, by default the only one of /v1/models"},
		{"HEADERS", forTargets, "headers to send, NAME=value,NAME=value; a mapping in the targets file"},
	}},
	{"TLS", []description{
		{"CA_FILE", forTargets, "PEM file with the certificates to trust; default: the system's"},
		{"CERT_FILE", forTargets, "PEM file with the client certificate; needs KEY_FILE"},
		{"KEY_FILE", forTargets, "PEM file with the client certificate's key; needs CERT_FILE"},
		{"INSECURE_SKIP_VERIFY", forTargets, "do not verify the server's certificate"},
	}},
	{"Objectives", []description{
		{"OBJECTIVES_NAME", "", "label objective of the metrics, unique; a-z, 0-9 and _; default: the signal"},
		{"OBJECTIVES_SIGNAL", "", "what is judged"},
		{"OBJECTIVES_LIMIT", "", "largest good value of the signal; not for availability"},
		{"OBJECTIVES_GOAL", "", "ratio of probes that shall be good, between 0 and 1"},
	}},
}

// described returns what [descriptions] say, by name.
func described() map[string]Key {
	all := map[string]Key{}
	for _, t := range descriptions {
		for _, d := range t.settings {
			all[d.name] = Key{Topic: t.heading, For: strings.Fields(d.commands), Help: d.help}
		}
	}
	return all
}
