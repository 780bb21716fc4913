package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// defaultKind is the server that the OpenAI routes are when Config does not say.
const defaultKind = "vllm"

// kind is one server with an OpenAI API: all in which it differs from others, as data. Texts with a $ in them are templates
// for expand; what a template may hold stands at encoder.hole (frames), kind.told (errors) and Server.fill (the rest).
type kind struct {
	name     string
	prefixes []string // of chat/completions, completions and models
	limit    int64    // of a body, in bytes

	chat, text routeFormat // of chat/completions and of completions

	model     string // entry of the model list
	models    string // the list around $entry; empty: no list
	openModel bool   // the list wants no key
	documents map[string]string
	routes    []kindRoute       // /tokenize and its like
	headers   map[string]string // on every response
	computed  map[string]string // on every answer
	lost      string            // body of the 404 for a path that is not served

	anyModel   bool     // every model name will do
	needsModel bool     // a request without a model is refused
	ids        bool     // completions take token ids
	tokenData  string   // field with token ids in place of the prompt, dots lead inside; empty: none
	salts      []string // fields that key the prefix cache, dots lead inside
	strict     bool     // foreign fields are refused all at once, as pydantic words it; see routeFormat.schema
	platform   bool     // foreign fields are refused as the OpenAI platform words it
	optioned   bool     // include_usage and continuous_usage_stats are true inside stream_options unless said otherwise
	noClamp    bool     // prompt and answer together above the model's length are refused, not clamped
	replays    bool     // the same body twice is answered from a cache
	uncounted  bool     // the end-of-sequence token is not counted

	failure    string         // an error before the stream
	outer      string         // an error of the router in front: 404, 503, no JSON, no model; empty: failure
	inside     string         // a validation error when a stream was asked for: a stream of status 200; empty: failure
	tooLong    string         // an error for a prompt that does not fit; empty: failure
	tooLongAs  int            // its status; 0: 400
	statuses   map[int]int    // statuses that are others here
	errorTypes map[int]string // by status, then by its hundreds
	errorCodes map[int]string // the same for $name

	broken  string        // an error inside the stream, to its end
	cuts    bool          // an error inside the stream cuts the connection
	comment string        // keeps the connection awake
	waiting string        // comment at acceptance and every second until the first token; empty: none
	prelude string        // what is sent with acceptance
	late    bool          // headers come with the first chunk
	batch   time.Duration // frames are released so often, the first at once; 0: each at its time
	single  bool          // a frame is one token, always
}

// routeFormat is how a kind reads and writes one of its two routes.
type routeFormat struct {
	ignores  []string                    // fields that do nothing, dots lead inside
	renames  map[string]string           // fields by other names
	schema   []string                    // all fields there are, for strict kinds
	switches map[string]func(*ask, bool) // fields that are true or false, dots lead inside
	instead  map[string]string           // fields that are refused, and what is to be sent in their place

	id      string // of an answer
	chunk   string // a frame around $choice
	role    string // choice of the frame before the first token; empty: no such frame
	roleEnd string // what ends that frame's line; empty: two line feeds
	first   string // choice of the first token frame; empty: token
	token   string // choice of a token frame
	last    string // choice of the last token frame; empty: token
	final   string // choice of the frame behind the last token, in the same write; empty: no such frame
	delta   string // $delta of a frame of the answer proper
	thought string // $delta of a frame of reasoning; empty: no frame has any
	secret  bool   // reasoning is in no frame and only usage counts it; without thought and this there is none
	hushed  bool   // no token frame for tokens without text
	joined  bool   // the whole count goes out in the write of the finish frame

	usage   string // the whole count
	running string // the count so far, with continuous usage
	idle    string // in place of a count where there is none
	idling  bool   // idle only if usage was asked for
	report  report
}

// report is where the whole count of tokens goes.
type report int

const (
	reportAsked  report = iota // a frame of its own, if asked for
	reportAlways               // a frame of its own
	reportInside               // in the frame that has the finish reason
)

// kindRoute is one more path of a kind.
type kindRoute struct {
	pattern string
	open    bool // without the key
	handle  func(*Server, http.ResponseWriter, *http.Request)
}

// kindTable is all kinds, in a stable order. Azure's is not among them: it is another API.
func kindTable() []kind {
	return []kind{
		vllmKind(), stackKind(), rayKind(), tgiKind(), sglangKind(), trtllmKind(), lmdeployKind(), llamaKind(),
		kserveKind(), nimKind(), dynamoKind(), openRouterKind(), liteLLMKind(), openAIKind(),
	}
}

// Kinds are the names of the servers that the OpenAI routes can be, in a stable order. The slice is the caller's.
func Kinds() []string {
	var names []string
	for _, k := range kindTable() {
		names = append(names, k.name)
	}
	return names
}

// ParseKind checks a name for Config.Server; empty is vllm. The error for an unknown name lists the known ones.
func ParseKind(name string) (string, error) {
	known := Kinds()
	switch {
	case name == "":
		return defaultKind, nil
	case slices.Contains(known, name):
		return name, nil
	}
	return "", fmt.Errorf("server %q: unknown; known: %s", name, strings.Join(known, ", "))
}

// kindOf finds a kind by name; an unknown one is vllm.
func kindOf(name string) *kind {
	table := kindTable()
	i := max(0, slices.IndexFunc(table, func(k kind) bool { return k.name == name }))
	return &table[i]
}

// serverKind is the kind that a configuration asks for. Only the API "openai" has kinds.
func serverKind(c Config) *kind {
	if apiOf(c.API).name != styleOpenAI {
		return kindOf(defaultKind)
	}
	return kindOf(c.Server)
}
