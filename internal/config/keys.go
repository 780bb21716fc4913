package config

import (
	"math"
	"slices"
)

// A scope says where a key may be given.
type scope int

const (
	proberScope    scope = iota // PROBER_X: about the prober itself
	sharedScope                 // PROBER_X for all targets, and PROBER_TARGETS_n_X for one
	targetScope                 // PROBER_TARGETS_n_X
	objectiveScope              // PROBER_OBJECTIVES_n_X
)

// A kind says what texts are values of a key. See check.go.
type kind int

const (
	textKind       kind = iota // printable
	nameKind                   // printable, at most 100 characters, not empty
	identifierKind             // a-z, 0-9 and _
	wordKind                   // one of key.words
	numberKind                 // above key.low, at most key.high
	ratioKind                  // between 0 and 1, exclusive
	wholeKind                  // key.low to key.high; key.words mean 0
	optionalKind               // key.low to key.high; key.words mean that there is no number
	shareKind                  // between 0 and 1, inclusive
	durationKind               // with its unit, above 0 and at least key.low seconds; key.words mean 0
	onOffKind
	addressKind // host:port to listen on
	shardKind
	urlKind
	pathKind // of an HTTP request, without query
	secretKind
	headersKind
	headerNameKind
	objectKind // name of a Kubernetes object
)

// A key is one setting. The zero low, high and words mean: no such bound.
type key struct {
	name      string // without PROBER_ and TARGETS_n_, in upper case
	scope     scope
	kind      kind
	fallback  string // the default, as it would be written; "" means none
	otherwise string // what happens without a value, if fallback does not say it
	low, high float64
	words     []string
	want      string // hint: what a right value looks like
	help      string // meaning, unit and bounds in one phrase; no `, which flags would take for a name
}

const (
	wantDuration = "want a duration with its unit, for example "
	wantOnOff    = "want on or off"
)

// keys is every setting there is, with its default and bounds, in the order of
// the documentation. It is the only such list: known variables, flags, keys of
// the targets file and docs/configuration.md all come from it. apis and servers
// are the names of the dialects and kinds of servers that [Options] brings.
func keys(apis, servers []string) schema {
	return slices.Concat(proberKeys(), paceKeys(), promptKeys(), probeKeys(), requestKeys(), targetKeys(apis, servers), objectiveKeys())
}

func proberKeys() schema {
	return schema{
		{
			name: "LISTEN_ADDRESS", scope: proberScope, kind: addressKind, fallback: ":9464",
			want: "want host:port, for example :9464",
			help: "where /metrics, the status page, the API and the health checks are served",
		},
		{
			name: "WEB_CONFIG_FILE", scope: proberScope, kind: textKind, otherwise: "plain HTTP",
			help: "TLS and basic authentication for the listen address, in the format of the Prometheus exporter-toolkit",
		},
		{
			name: "LOG_LEVEL", scope: proberScope, kind: wordKind, fallback: "info", words: []string{"debug", "info", "warn", "error"},
			help: "least severe log entry that is written",
		},
		{
			name: "LOG_FORMAT", scope: proberScope, kind: wordKind, otherwise: "json; console on a terminal", words: []string{"json", "console"},
			help: "how log entries are written",
		},
		{
			name: "TARGETS_FILE", scope: proberScope, kind: textKind, otherwise: "none",
			help: "YAML file with targets, objectives and defaults for targets",
		},
		{
			name: "RELOAD_INTERVAL", scope: proberScope, kind: durationKind, fallback: "5s", low: 0.1, words: []string{"none"},
			want: wantDuration + "5s, or none",
			help: "how often run looks whether the targets file, or any other file that the configuration was read from, holds something else, " +
				"which it takes up when it stayed so for as long; none: on SIGHUP and /-/reload only",
		},
		{
			name: "DNS_INTERVAL", scope: proberScope, kind: durationKind, fallback: "30s", low: 0.1, want: wantDuration + "30s",
			help: "how often run looks up the hosts of dns+ URLs",
		},
		{
			name: "SHARD", scope: proberScope, kind: shardKind, otherwise: "all targets",
			want: "want number/shards, numbered from 0, for example 0/3, or with the name of a StatefulSet's pod prober-0/3",
			help: "which share of the targets is this prober's, number/shards, for example 0/3; the number may be the end of a pod's name, prober-0/3; " +
				"groups stay together, and one shard more moves no more than what it gets",
		},
		{
			name: "DRAIN_ENDPOINT", scope: proberScope, kind: onOffKind, fallback: "off", want: wantOnOff,
			help: "for sidecars: serve /-/drain, which the preStop hook prober drain asks for and after which run begins no more probes, and do not end for a wrong configuration",
		},
		{
			name: "GENAI_SEMCONV", scope: proberScope, kind: onOffKind, fallback: "on", want: wantOnOff,
			help: "also emit the OpenTelemetry GenAI metrics (gen_ai.client.…) on OTLP",
		},
	}
}

// paceKeys say when targets are probed.
func paceKeys() schema {
	return schema{
		{
			name: "QPS", scope: sharedScope, kind: numberKind, fallback: "0.1", high: 1000,
			want: "want probes per second, for example 0.1",
			help: "probes per second and target; above 0, at most 1000",
		},
		{
			name: "ARRIVAL", scope: sharedScope, kind: wordKind, fallback: "constant", words: []string{"constant", "jittered", "poisson"},
			help: "how the starts of probes are spread over time",
		},
	}
}

// promptKeys say what is asked. Members of a group agree in all of them.
func promptKeys() schema {
	return schema{
		{
			name: "PROMPT", scope: sharedScope, kind: wordKind, fallback: "cold",
			words: []string{"cold", "warm", "sessions", "book", "dataset", "canary"},
			help: "what is asked: words that no cache knows, always the same words, users with a growing history, passages of a book, " +
				"the prompts of a file, or words of which the answer must repeat three",
		},
		{
			name: "PROMPT_TOKENS", scope: sharedScope, kind: wholeKind, fallback: "21000", low: 16, high: mostTokens,
			want: "want the length of a prompt in tokens, at least 16 (fewer leave no room for a nonce), for example 21000",
			help: "exact length of a prompt in tokens, with sessions that of the first round; 16 to 1000000",
		},
		{
			name: "MAX_TOKENS", scope: sharedScope, kind: wholeKind, fallback: "100", low: 1, high: 100_000,
			want: "want the length of an answer in tokens, for example 100",
			help: "exact length of an answer in tokens; 1 to 100000",
		},
		{
			name: "SESSION_USERS", scope: sharedScope, kind: wholeKind, fallback: "15", low: 1, high: 10_000,
			want: "want a number of users, for example 15",
			help: "users of the prompt sessions who take turns, 1 to 10000",
		},
		{
			name: "SESSION_ROUNDS", scope: sharedScope, kind: wholeKind, fallback: "20", low: 1, high: 1000,
			want: "want a number of rounds, for example 20",
			help: "questions of a user of the prompt sessions, 1 to 1000; then a new user comes; with all answers before it the last prompt has at most 1000000 tokens",
		},
		{
			name: "SYSTEM_TOKENS", scope: sharedScope, kind: wholeKind, fallback: "1000", high: mostTokens,
			want: "want the length of the system prompt in tokens, for example 1000",
			help: "about the length of the system prompt that all users of the prompt sessions share, in tokens, below PROMPT_TOKENS; " +
				"a default that is not becomes a tenth of them",
		},
		{
			name: "BOOK_FILE", scope: sharedScope, kind: textKind, otherwise: "none",
			help: "text file for the prompt book, in UTF-8, at most 64 MiB, with as many words as a prompt has tokens",
		},
		{
			name: "DATASET_FILE", scope: sharedScope, kind: textKind, otherwise: "none",
			help: "file for the prompt dataset: JSON lines with a prompt, a text or messages, at most 64 MiB; prompts have their own lengths",
		},
		{
			name: "CANARY_DEPTH", scope: sharedScope, kind: shareKind, fallback: "0.5",
			want: "want 0 to 1, for example 0.5",
			help: "how much of the prompt canary stands before the words that the answer must repeat, 0 to 1",
		},
	}
}

// probeKeys say what bounds probes.
func probeKeys() schema {
	return schema{
		{
			name: "TIMEOUT", scope: sharedScope, kind: durationKind, fallback: "120s", want: wantDuration + "120s",
			help: "limit of a whole probe; a duration with its unit",
		},
		{
			name: "STALL_TIMEOUT", scope: sharedScope, kind: durationKind, fallback: "30s", want: wantDuration + "30s",
			help: "longest silence between token frames, at most the timeout; a default that is longer than the timeout follows it",
		},
		{
			name: "MAX_IN_FLIGHT", scope: sharedScope, kind: wholeKind, fallback: "1", low: 1, high: 1000,
			want: "want a number of probes, for example 1",
			help: "probes of a target that may run at once, 1 to 1000; a slot that finds no room is skipped and counted",
		},
		{
			name: "TOKEN_BUDGET_PER_DAY", scope: sharedScope, kind: wholeKind, fallback: "none", high: 1e12, words: []string{"none"},
			want: "want tokens a day, or none",
			help: "prompt and answer tokens a day and target; when they are spent, slots are skipped and counted",
		},
		{
			name: "CONNECTION", scope: sharedScope, kind: wordKind, fallback: "fresh", words: []string{"fresh", "reuse"},
			help: "whether each probe opens a connection of its own (DNS, TCP and TLS are then visible as phases)",
		},
		{
			name: "HTTP_VERSION", scope: sharedScope, kind: wordKind, fallback: "1.1", words: []string{"1.1", "2"},
			help: "version of HTTP that probes speak, 1.1 or 2, and no other; 2 on http:// URLs without an upgrade (prior knowledge)",
		},
		{
			name: "STAMP", scope: sharedScope, kind: wordKind, fallback: "kernel", words: []string{"kernel", "user"},
			help: "who says when a token arrived: the kernel, where it can (Linux), or the prober when it has read it (user): " +
				"then nothing tells a late prober from a late server, and no gap is kept out for it",
		},
		{
			name: "BACKOFF_LIMIT", scope: sharedScope, kind: durationKind, fallback: "5m", words: []string{"none"},
			want: wantDuration + "5m, or none",
			help: "longest pause that a Retry-After of a 429 or 503 may ask for; none: there are no pauses",
		},
		{
			name: "WAIT_FOR_READY", scope: sharedScope, kind: durationKind, fallback: "none", words: []string{"none"},
			want: wantDuration + "30m, or none",
			help: "how long run waits for the server to be ready (/health, or an answer for its models) before the first probe; slots meanwhile are " +
				"skipped and counted, and after that long it is probed all the same; none: it is probed at once",
		},
	}
}

// requestKeys say what goes out with each request.
func requestKeys() schema {
	return schema{
		{
			name: "API_KEY", scope: sharedScope, kind: secretKind, otherwise: "none",
			help: "key that is sent with each request, without Bearer",
		},
		{
			name: "API_KEY_FILE", scope: sharedScope, kind: textKind, otherwise: "none",
			help: "file with that key; a newline at its end does not belong to the key",
		},
		{
			name: "PRIORITY", scope: sharedScope, kind: optionalKind, fallback: "none", low: math.MinInt32, high: math.MaxInt32, words: []string{"none"},
			want: "want a whole number, for example -10, or none",
			help: "priority of the request, in the server's own sense: vLLM runs lower numbers first, SGLang higher ones",
		},
		{
			name: "INFERENCE_OBJECTIVE", scope: sharedScope, kind: objectKind, otherwise: "none",
			want: "want the name of a Kubernetes object: a-z, 0-9, - and ., for example prober-sheddable",
			help: "name of the InferenceObjective that probes belong to, sent as x-llm-d-inference-objective and x-gateway-inference-objective",
		},
		{
			name: "SESSION_HEADER", scope: sharedScope, kind: headerNameKind, otherwise: "the one that the server's router is known for",
			want: "want the name of a header, for example x-user-id",
			help: "header that carries the user's id with the prompt sessions",
		},
	}
}

func targetKeys(apis, servers []string) schema {
	return schema{
		{
			name: "URL", scope: targetScope, kind: urlKind,
			want: "want http:// or https://, a host and perhaps a port and path, for example http://localhost:8000",
			help: "base URL as clients get it; /v1 may be missing where there is no other path, http:// before loopback and private names, and an endpoint at its end is cut off; with dns+ in front (dns+http://…) it stands for one target for each address of its host",
		},
		{
			name: "NAME", scope: targetScope, kind: nameKind, otherwise: "host:port of the URL, and its path where several targets share those",
			want: "want 1 to 100 printable characters",
			help: "label target of the metrics; unique, at most 100 characters; with dns+ at most 60, and an address follows: name/10.1.2.3",
		},
		{
			name: "GROUP", scope: targetScope, kind: nameKind, otherwise: "the name; with dns+ each address alone",
			want: "want 1 to 100 printable characters",
			help: "targets of one group answer the same prompts in the same round and must agree in QPS, ARRIVAL, MAX_TOKENS and all that says what is asked",
		},
		{
			name: "API", scope: targetScope, kind: wordKind, fallback: "auto", words: withAuto(apis),
			help: "dialect that the server speaks, or auto: ask the server",
		},
		{
			name: "PATH", scope: targetScope, kind: pathKind, otherwise: "that of the URL, and of the API below it",
			want: "want a path from the host's root on, without query, for example /v1/chat/completions",
			help: "path that probes are sent to on the URL's host, where it is not what the URL and the API make; the server's models are still asked for below the URL",
		},
		{
			name: "API_VERSION", scope: targetScope, kind: textKind, otherwise: "the dialect's",
			help: "version of the API to ask for: api-version of Azure, anthropic-version of Anthropic",
		},
		{
			name: "SERVER", scope: targetScope, kind: wordKind, fallback: "auto", words: withAuto(servers),
			help: "kind of server behind an OpenAI API, or auto: found out where the server is asked for its dialect or its model",
		},
		{
			name: "MODEL", scope: targetScope, kind: textKind, otherwise: "asked of /v1/models",
			help: "model to ask for",
		},
		{
			name: "HEADERS", scope: targetScope, kind: headersKind, otherwise: "none",
			want: "want NAME=value,NAME=value (a value with a comma in it goes into the targets file)",
			help: "headers to send, NAME=value,NAME=value; a mapping in the targets file; values are secrets, Host replaces that of the URL",
		},
		{
			name: "CA_FILE", scope: targetScope, kind: textKind, otherwise: "the system's",
			help: "PEM file with the certificates to trust",
		},
		{
			name: "CERT_FILE", scope: targetScope, kind: textKind, otherwise: "none",
			help: "PEM file with the client certificate; needs KEY_FILE",
		},
		{
			name: "KEY_FILE", scope: targetScope, kind: textKind, otherwise: "none",
			help: "PEM file with the client certificate's key; needs CERT_FILE",
		},
		{
			name: "INSECURE_SKIP_VERIFY", scope: targetScope, kind: onOffKind, fallback: "off", want: wantOnOff,
			help: "do not verify the server's certificate",
		},
	}
}

// withAuto is words with "auto", which is always allowed, in front.
func withAuto(words []string) []string {
	if slices.Contains(words, "auto") {
		return words
	}
	return append([]string{"auto"}, words...)
}

func objectiveKeys() schema {
	return schema{
		{
			name: "NAME", scope: objectiveScope, kind: identifierKind, otherwise: "the signal",
			want: "want a-z, 0-9 and _ only",
			help: "label objective of the metrics; unique; a-z, 0-9 and _",
		},
		{
			name: "SIGNAL", scope: objectiveScope, kind: wordKind,
			words: []string{"ttft", "server_ttft", "ttfat", "tpot", "max_gap", "e2el", availability},
			help:  "what is judged",
		},
		{
			name: "LIMIT", scope: objectiveScope, kind: durationKind, want: wantDuration + "2s",
			help: "largest good value of the signal, a duration with its unit; not for availability",
		},
		{
			name: "GOAL", scope: objectiveScope, kind: ratioKind,
			want: "want a ratio between 0 and 1, for example 0.99",
			help: "ratio of probes that shall be good, between 0 and 1",
		},
	}
}

// hint says what a right value looks like.
func (k key) hint() string {
	if len(k.words) > 0 && k.kind == wordKind {
		return "want " + alternatives(k.words)
	}
	return k.want
}

// flag reports whether k has a flag. Objectives have none, and URLs are arguments.
func (k key) flag() bool { return k.scope != objectiveScope && k.kind != urlKind }

// A schema is a list of keys.
type schema []key

// find returns the key called name in one of scopes.
func (s schema) find(name string, scopes ...scope) (k key, ok bool) {
	for _, k := range s {
		if k.name == name && slices.Contains(scopes, k.scope) {
			return k, true
		}
	}
	return key{}, false
}

// in returns the keys of scopes, in order.
func (s schema) in(scopes ...scope) schema {
	var found schema
	for _, k := range s {
		if slices.Contains(scopes, k.scope) {
			found = append(found, k)
		}
	}
	return found
}
