package wire

import (
	"bytes"
	_ "embed" // servers.yaml
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A Server is a type of server, and how it differs from the others that serve its dialects. All of it is data: see
// servers.yaml. The zero value is a server of unknown type: it is asked as vLLM is, and then without what it rejects.
type Server struct {
	Name    string   // the configuration value and the "server" label
	Dialect *Dialect `yaml:"-"` // what the API "auto" takes; nil: openai-chat
	Prefix  string   // stands before "/v1" in its paths
	Note    string   // what a person should know about its numbers; empty for nothing

	Signatures []signature // it is recognized by one of them

	// What its requests have.

	Omit          []Field          // fields that it rejects, or has no use for
	Keys          map[Field]string // its own names for some fields; "a.b" is key b of the object a
	Extra         map[string]any   // fields of its own that each request has, with keys as in Keys
	SchemaIn      string           `yaml:"schema_in"`      // where it takes a JSON Schema, see [Form]; empty: as OpenAI
	SessionHeader string           `yaml:"session_header"` // its router keeps a session on one replica by it

	// Where it says something else. A path that is empty does not exist, unless it has a default.

	tokenizers  *tokenizers // routes that count tokens; nil: asked as vLLM is
	List        ModelList   // lists its models, if [ModelsPath] does not, or not all
	VersionPath string      `yaml:"version_path"` // returns its version
	LoadedPath  string      `yaml:"loaded_path"`  // lists the models in memory: see [ParseLoaded]
	ShowPath    string      `yaml:"show_path"`    // describes the model of a POST: see [ParseDescription]
	HealthPath  string      `yaml:"health_path"`  // says whether it is ready; empty: /health, as most servers have it

	// How it counts.

	ReportsCached Claim `yaml:"reports_cached"` // how many tokens came from its cache; empty: unknown
	TokenFrames   bool  `yaml:"token_frames"`   // each frame with a choice is one token, also without text

	// CacheApart says that its count of a prompt lacks the tokens that its cache read or wrote. Otherwise the answers of a
	// server tell.
	CacheApart bool `yaml:"cache_apart"`

	// Estimates says that it guesses the length of a prompt until it has read it: in count_tokens, and in the first event
	// of the Messages API.
	Estimates bool

	// PieceTokens is the number of tokens in which it generates a long answer: it consists of whole pieces, and the last
	// one is whole as well. 0: answers are not generated in pieces.
	PieceTokens int `yaml:"piece_tokens"`
}

// A Claim says whether servers of a type do something: some always, some never, some depending on how they were
// started.
type Claim string

// The claims.
const (
	Unknown  Claim = "unknown"
	Always   Claim = "yes"
	Never    Claim = "no"
	Optional Claim = "optional"
)

// Claim returns whether s does what a field asks for. For [FieldIgnoreEOS] that is to enforce the length of an answer.
func (s Server) Claim(f Field) Claim {
	switch {
	case s.Name == "":
		return Unknown
	case slices.Contains(s.Omit, f):
		return Never
	}
	return Always
}

// Servers returns the names of all known server types, sorted.
func Servers() []string {
	var names []string
	for _, s := range servers {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return slices.Compact(names) // a type that can be known by its OpenAI API alone has two entries
}

// LookupServer returns the server type of a name. The error lists the known names.
func LookupServer(name string) (Server, error) {
	for _, s := range servers {
		if s.Name == name {
			return s, nil
		}
	}
	return Server{}, fmt.Errorf("unknown server type %q: want one of %s", name, strings.Join(Servers(), ", "))
}

//go:embed servers.yaml
var serversYAML []byte

// servers is the known types, in the order in which they are tried. The list is only read.
var servers = mustServers(serversYAML)

// mustServers calls [parseServers] on our own file. An error in it is a mistake that every test and every start finds.
func mustServers(file []byte) []Server {
	list, err := parseServers(file)
	if err != nil {
		panic(fmt.Errorf("wire: servers.yaml: %w", err))
	}
	return list
}

// parseServers reads a list of server types. An unknown key, dialect, tokenizer, place of a schema or kind of matcher
// is an error.
func parseServers(file []byte) ([]Server, error) {
	var entries []struct {
		Server   `yaml:",inline"`
		Dialect  string
		Tokenize string
	}
	strict := yaml.NewDecoder(bytes.NewReader(file))
	strict.KnownFields(true)
	err := strict.Decode(&entries)
	if err != nil {
		return nil, err
	}
	var list []Server
	for _, e := range entries {
		s := e.Server
		if e.Dialect != "" {
			s.Dialect, err = Lookup(e.Dialect)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.Name, err)
			}
		}
		s.tokenizers = tokenizersByName[e.Tokenize]
		if s.tokenizers == nil {
			return nil, fmt.Errorf("%s: unknown tokenizer %q", e.Name, e.Tokenize)
		}
		if !slices.Contains([]string{"", schemaInObject, schemaInValue}, s.SchemaIn) {
			return nil, fmt.Errorf("%s: unknown place of a schema %q", e.Name, s.SchemaIn)
		}
		for _, sig := range s.Signatures {
			err = sig.check()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.Name, err)
			}
		}
		list = append(list, s)
	}
	return list, nil
}
