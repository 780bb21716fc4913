package wire

import (
	"bytes"
	_ "embed" // servers.yaml
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Server is a type of server and how it differs from the others that serve its dialects. All of it is data: see servers.yaml.
// The zero value is a server of unknown type, which is asked as vLLM is and then without what it rejects.
type Server struct {
	Name    string   // the configuration value and the "server" label
	Dialect *Dialect `yaml:"-"` // that auto takes; nil: openai-chat
	Prefix  string   // of its paths, before "/v1"

	Omit  []Field          // fields that it rejects, or has no use for
	Keys  map[Field]string // its own names for some fields
	Extra map[string]any   // fields of its own that each request has

	Tokenize *tokenizers `yaml:"-"` // its tokenizer routes; nil: asked as vLLM is
	Cached   Claim       // whether it tells how many tokens came from its cache; empty: unknown
	Session  string      // header by which its router keeps a session on one replica

	// Estimates says that it guesses the length of a prompt until it has read it: in count_tokens, and in the first event
	// of the Messages API.
	Estimates bool

	List    ModelList // where it lists its models, if not (only) at [ModelsPath]
	Version string    // path that tells its version; empty: none
	Health  string    // path that tells whether it is ready; empty: /health, as vLLM, SGLang, TGI, llama-server and TensorRT-LLM have it
	Loaded  string    // path that lists the models in memory and their contexts, see [ParseLoaded]; empty: none
	Show    string    // path that describes the model of a POST, see [ParseDescription]; empty: none

	TokenFrames bool `yaml:"token_frames"` // each frame with a choice is one token, also without text
	// tokens: longer answers are generated in pieces of so many, the last one whole as well; 0: they are not
	Piece int

	Note string // what a person should know of its numbers; empty for nothing

	Marks []mark
}

// A Claim is what a server type is known to do: some always, some never, some depending on how they were started.
type Claim string

// The claims.
const (
	Unknown  Claim = "unknown"
	Always   Claim = "yes"
	Never    Claim = "no"
	Optional Claim = "optional"
)

// Claim is whether s does what a field asks for, as [FieldIgnoreEOS] to enforce the length of an answer.
func (s Server) Claim(f Field) Claim {
	switch {
	case s.Name == "":
		return Unknown
	case slices.Contains(s.Omit, f):
		return Never
	}
	return Always
}

// Servers returns the names of all known server types, in the order help texts show them.
func Servers() []string {
	var names []string
	for _, s := range servers {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return slices.Compact(names) // a type that is known by its OpenAI API alone has a row of its own
}

// LookupServer returns the server type of that name. The error lists the known names.
func LookupServer(name string) (Server, error) {
	for _, s := range servers {
		if s.Name == name {
			return s, nil
		}
	}
	return Server{}, fmt.Errorf("unknown server type %q: want one of %s", name, strings.Join(Servers(), ", "))
}

// Evidence is what a server's replies tell about its type.
type Evidence struct {
	Answer  bool                // Header is all, and of the answer to a probe: gateways put their names there
	Header  map[string][]string // of the reply to [ModelsPath], canonical keys
	Models  []byte              // that reply, whatever its status
	Refused bool                // it was no success
	Prefix  string              // before "/v1" in the path that was answered
	Host    string              // that was asked, without its port

	Get func(path string) []byte // asks for another path; nil unless that was a success
}

// A mark tells a server type from others, by the first of these that is set.
type mark struct {
	Header string // a header of the model list's reply, which holds word
	Host   string // the host's name, or the end of it after a dot
	// a key in the first entry of the model list, with a dot one inside of another; if word is set, only where that is
	// the owner
	Entry   string
	Refusal string // what the reply holds where the model list was refused
	Prefix  string // before "/v1" in the model list's path
	Path    string // a path with a reply that holds word; beside entry: both, and any owner
	Word    string // the owner of the first model

	Own     bool // the first model of the list is its own owner, and as old as 1970 (TGI)
	Refused bool // only where the model list was refused
	Answers bool // on the answers to probes as well
}

// Recognize tells the type of a server: ok is false if it is none that is known.
func Recognize(e Evidence) (s Server, ok bool) {
	for _, s := range servers {
		if slices.ContainsFunc(s.Marks, func(m mark) bool { return m.on(e) }) {
			return s, true
		}
	}
	return Server{}, false
}

func (m mark) on(e Evidence) bool {
	switch {
	case m.Refused && !e.Refused, e.Answer && !m.Answers:
		return false
	case m.Header != "":
		return slices.ContainsFunc(e.Header[m.Header], func(v string) bool { return strings.Contains(v, m.Word) })
	case m.Host != "":
		return e.Host == m.Host || strings.HasSuffix(e.Host, "."+m.Host)
	case m.Entry != "" && m.Path != "":
		return e.entry(m.Entry) != nil && bytes.Contains(e.Get(m.Path), []byte(m.Word))
	case m.Entry != "":
		return e.entry(m.Entry) != nil && (m.Word == "" || e.owned(m.Word))
	case m.Own:
		id := textIn(e.entry("id"))
		return len(id) > 0 && e.owned(string(id)) && string(e.entry("created")) == "0"
	case m.Refusal != "":
		return e.Refused && bytes.Contains(bytes.ReplaceAll(e.Models, []byte(" "), nil), []byte(m.Refusal))
	case m.Prefix != "":
		return e.Prefix == m.Prefix
	case m.Path != "":
		return bytes.Contains(e.Get(m.Path), []byte(m.Word))
	}
	return e.owned(m.Word)
}

// entry is the value of a key, as in [mark], in the first entry of the model list; nil if there is none.
func (e Evidence) entry(key string) []byte {
	if e.Refused || !json.Valid(e.Models) {
		return nil
	}
	value := first(member(bytes.TrimSpace(e.Models), "data"))
	for name := range strings.SplitSeq(key, ".") {
		value = member(value, name)
	}
	return value
}

func (e Evidence) owned(owner string) bool { return string(textIn(e.entry("owned_by"))) == owner }

//go:embed servers.yaml
var serversYAML []byte

// servers are the known types, in the order of recognition. The list is only read.
var servers = mustServers(serversYAML)

// mustServers is [parseServers] of a file of ours: what is wrong in it is a mistake of ours, which every test and
// every start finds.
func mustServers(file []byte) []Server {
	list, err := parseServers(file)
	if err != nil {
		panic(fmt.Errorf("wire: servers.yaml: %w", err))
	}
	return list
}

// parseServers reads server types. A row with an unknown key, dialect or tokenizer is an error.
func parseServers(file []byte) (list []Server, err error) {
	var rows []struct {
		Server   `yaml:",inline"`
		Dialect  string
		Tokenize string
	}
	strict := yaml.NewDecoder(bytes.NewReader(file))
	strict.KnownFields(true)
	if err := strict.Decode(&rows); err != nil {
		return nil, err
	}
	routes := map[string]*tokenizers{
		"none": noTokens, "vllm": vllmTokens, "prompts": promptTokens, "tgi": tgiTokens,
		"llama": llamaTokens, "llama-cpp-python": llamaCppPythonTokens, "lmdeploy": lmdeployTokens,
	}
	for _, row := range rows {
		if row.Dialect != "" {
			row.Server.Dialect, err = Lookup(row.Dialect)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", row.Name, err)
			}
		}
		row.Server.Tokenize = routes[row.Tokenize]
		if row.Server.Tokenize == nil {
			return nil, fmt.Errorf("%s: unknown tokenizer %q", row.Name, row.Tokenize)
		}
		list = append(list, row.Server)
	}
	return list, nil
}
