// Package wire knows the APIs of inference servers for a streamed completion: the request body that asks for
// one, and what each frame of the answer says. It is a pure codec: no clock, no network, no configuration.
package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrMalformed is wrapped by every error that [Dialect.Decode] returns: the frame is not what the dialect's
// servers send. No error repeats a frame, which may be a part of an answer.
var ErrMalformed = errors.New("malformed frame")

// A Delta is what one frame said. Its texts lie in the frame's data, and are valid as long as that is.
type Delta struct {
	Choice    bool         // the frame carries a choice, so usage growth is evidence of a token
	Role      bool         // the frame tells a role and no text: it is no token, whatever it counts
	Text      []byte       // visible output, tool-call text and refusals included
	Whole     bool         // Text is the whole answer so far, not what the frame adds to it
	Reasoning []byte       // generated tokens too, so it counts for TTFT
	Refusal   bool         // some of Text is a refusal
	Finish    string       // the server's finish reason, on the frame that carries it
	Tokens    int          // tokens this frame carries, from token ids; 0 if it does not say
	Usage     Usage        // cumulative counts; the zero value if the frame carries none
	Err       *ServerError // what the server reported in-band; nil if nothing
}

// A Dialect is an API that a family of servers has. Implementations have no state and are safe for concurrent use.
type Dialect interface {
	Name() string               // the configuration value and the "api" label
	Path(a Ask) string          // joined to the base URL by [URL]
	Body(a Ask) ([]byte, error) // a streaming request that asks for usage counts
	Fields() []Field            // the optional fields that Body sends when Omit is empty
	TakesIDs(s Server) bool     // whether s takes prompts as token ids

	// Decode interprets the data of one frame. An error the server reported is in Delta.Err; the returned error
	// wraps [ErrMalformed] and nothing else.
	Decode(data []byte) (Delta, error)

	// Header is what the API wants in the header of each request besides content negotiation: the key, if it is
	// not empty, and the API's version.
	Header(key, version string) map[string]string

	// Tokenizer is the route that counts the tokens of this dialect's prompts on s; ok is false if there is none.
	Tokenizer(s Server) (t Tokenizer, ok bool)

	// Finishes reports whether a whole answer tells a finish reason. Where it does not, the clean end of the body
	// is the end of the answer.
	Finishes() bool
}

// A dialect is how one API differs from others.
type dialect struct {
	name      string
	path      func(a Ask) string
	fields    []Field
	body      func(a Ask, optional []Field) body
	read      func(frame []byte) Delta
	header    func(key, version string) map[string]string // nil: the key as most APIs want it
	ids       func(s Server) bool                         // nil: no server takes token ids
	tokenizer func(s Server) Tokenizer                    // nil, or one without a path: there is none
	endless   bool                                        // a whole answer may tell no finish reason
}

func (d *dialect) Name() string                      { return d.name }
func (d *dialect) Path(a Ask) string                 { return d.path(a) }
func (d *dialect) Body(a Ask) ([]byte, error)        { return json.Marshal(d.body(a, d.fields)) }
func (d *dialect) Fields() []Field                   { return d.fields }
func (d *dialect) TakesIDs(s Server) bool            { return d.ids != nil && d.ids(s) }
func (d *dialect) Decode(data []byte) (Delta, error) { return decode(data, d.read) }
func (d *dialect) Finishes() bool                    { return !d.endless }

func (d *dialect) Header(key, version string) map[string]string {
	switch {
	case d.header != nil:
		return d.header(key, version)
	case key == "":
		return nil
	}
	return map[string]string{"Authorization": "Bearer " + key}
}

func (d *dialect) Tokenizer(s Server) (t Tokenizer, ok bool) {
	if d.tokenizer != nil {
		t = d.tokenizer(s)
	}
	return t, t.Path != ""
}

// at is the path of an API that has one, and v1 that of one behind a server type's prefix.
func at(path string) func(Ask) string { return func(Ask) string { return path } }
func v1(path string) func(Ask) string {
	return func(a Ask) string { return a.Server.Prefix + "/v1" + path }
}

// always is for an API that takes token ids on every server.
func always(Server) bool { return true }

// dialects is every known dialect, in the order help texts show them.
var dialects = []Dialect{
	chat, completions, responses, azure, anthropic, sglang, tgi, triton, llama, ollama,
}

// Dialects returns every known dialect, in the order help texts show them.
func Dialects() []Dialect { return slices.Clone(dialects) }

// APIs returns the names of all known dialects, in the same order.
func APIs() []string {
	var names []string
	for _, d := range dialects {
		names = append(names, d.Name())
	}
	return names
}

// Auto is the configuration value that means: ask the server.
const Auto = "auto"

// Lookup returns the dialect of that name. The error lists the known names.
func Lookup(name string) (Dialect, error) {
	for _, d := range dialects {
		if d.Name() == name {
			return d, nil
		}
	}
	return nil, fmt.Errorf("unknown API %q: want one of %s", name, strings.Join(APIs(), ", "))
}

// URL joins a base URL, as users give it to clients, and a path of a dialect. A base that has a path is used as
// it is, as OpenAI's clients use it: "/v1beta/openai" is followed by "/chat/completions". Only a base without a
// path, or with nothing but KServe's "/openai", may lack "/v1". Anthropic's clients add it to every base.
func URL(base, path string) string {
	root := strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1")
	deployment, onDeployment := strings.CutPrefix(path, openAIPrefix+"/deployments/")
	switch {
	case onDeployment && strings.Contains(root, openAIPrefix+"/deployments/"): // the base names it already
		_, endpoint, _ := strings.Cut(deployment, "/")
		return root + "/" + endpoint
	case strings.HasPrefix(path, openAIPrefix+"/"): // Azure's and KServe's, which users may give as well
		root = strings.TrimSuffix(root, openAIPrefix)
	case !strings.HasPrefix(path, "/v1/messages") && complete(base):
		path = strings.TrimPrefix(path, "/v1")
	}
	return root + path
}

// complete reports whether endpoints follow a base URL without "/v1" between them.
func complete(base string) bool {
	_, rest, _ := strings.Cut(strings.TrimRight(base, "/"), "://")
	_, path, ok := strings.Cut(rest, "/")
	return ok && "/"+path != openAIPrefix && path != "v1" && !strings.HasSuffix(path, "/v1")
}

// At is the URL of a path on the host of a base URL, whatever path that has. The path
// takes the place of a dialect's, whose query stays.
func At(base, path, dialects string) string {
	scheme, rest, _ := strings.Cut(base, "://")
	host, _, _ := strings.Cut(rest, "/")
	if _, query, ok := strings.Cut(dialects, "?"); ok {
		path += "?" + query
	}
	return scheme + "://" + host + path
}

// openAIPrefix is before the paths of some servers, in the base URL or not.
const openAIPrefix = "/openai"
