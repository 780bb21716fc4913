// Package wire knows the APIs of inference servers for a streamed completion: the request body that asks for
// one, and what each frame of the answer says. It is a pure codec: no clock, no network, no configuration.
package wire

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// ErrMalformed is wrapped by every error that [Dialect.Decode] returns. None repeats a frame, which may be a part of an answer.
var ErrMalformed = errors.New("malformed frame")

// A Delta is what one frame said. Its texts lie in the frame's data, and are valid as long as that is.
type Delta struct {
	Choice bool   // the frame carries a choice, so usage growth is evidence of a token
	Role   bool   // the frame tells a role and no text: it is no token, whatever it counts
	Text   []byte // visible output, tool-call text and refusals included
	// Text is the whole answer so far if it begins with what came before, else what the frame adds to it
	Whole     bool
	Reasoning []byte       // generated tokens too, so it counts for TTFT
	Refusal   bool         // some of Text is a refusal
	Finish    string       // the server's finish reason, on the frame that carries it
	Tokens    int          // tokens this frame carries, from token ids; 0 if it does not say
	Usage     Usage        // cumulative counts; the zero value if the frame carries none
	Early     bool         // Usage was told before the server had read the prompt: see [Server.Estimates]
	Err       *ServerError // what the server reported in-band; nil if nothing
}

// A Dialect is an API that a family of servers has, and how it differs from others. It is only read.
type Dialect struct {
	Name    string             // the configuration value and the "api" label
	Path    func(a Ask) string // joined to the base URL by [URL]
	Fields  []Field            // the optional fields of its requests
	Endless bool               // a whole answer may tell no finish reason: the clean end of the body is its end

	body      func(a Ask) body         // a streaming request, without the optional fields
	keys      map[Field]string         // its own names for some fields
	inside    string                   // the object that holds the fields, with a dot; empty: the request itself
	read      func(frame []byte) Delta // what a frame says that is a JSON object
	keyHeader string                   // header of the key; empty: Authorization
	version   string                   // default of the header that tells the API's version; empty: there is none
	tokenizer func(s Server) Tokenizer // nil, or one without a path: there is none
}

// Header is what the API wants in the header of each request: the key, if it is not empty, and the API's version.
func (d *Dialect) Header(key, version string) map[string]string {
	header := map[string]string{}
	if key != "" && d.keyHeader != "" {
		header[d.keyHeader] = key
	} else if key != "" {
		header["Authorization"] = "Bearer " + key
	}
	if d.version != "" {
		header["anthropic-version"] = cmp.Or(version, d.version)
	}
	return header
}

// Tokenizer is the route that counts the tokens of this dialect's prompts on s; ok is false if there is none.
func (d *Dialect) Tokenizer(s Server) (t Tokenizer, ok bool) {
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

// dialects is every known dialect, in the order help texts show them. The list is only read.
var dialects = []*Dialect{
	chat, completions, responses, azure, anthropic, sglang, tgi, triton, llama, ollama,
}

// APIs returns the names of all dialects, in the order help texts show them.
func APIs() []string {
	var names []string
	for _, d := range dialects {
		names = append(names, d.Name)
	}
	return names
}

// Auto is the configuration value that means: ask the server.
const Auto = "auto"

// Lookup returns the dialect of that name. The error lists the known names.
func Lookup(name string) (*Dialect, error) {
	for _, d := range dialects {
		if d.Name == name {
			return d, nil
		}
	}
	return nil, fmt.Errorf("unknown API %q: want one of %s", name, strings.Join(APIs(), ", "))
}

// URL joins a base URL, as users give it to clients, and a path of a dialect. A base that has a path is used as it is, as
// OpenAI's clients do: only one without a path, or with KServe's "/openai", may lack "/v1". Anthropic's clients add it to all.
func URL(base, path string) string {
	root, withV1 := strings.CutSuffix(strings.TrimRight(base, "/"), "/v1")
	_, place, _ := strings.Cut(root, "://")
	_, own, _ := strings.Cut(place, "/")
	deployment, onDeployment := strings.CutPrefix(path, openAIPrefix+"/deployments/")
	switch {
	case onDeployment && strings.Contains(root, openAIPrefix+"/deployments/"): // the base names it already
		_, endpoint, _ := strings.Cut(deployment, "/")
		return root + "/" + endpoint
	case strings.HasPrefix(path, openAIPrefix+"/"): // Azure's and KServe's, which users may give as well
		root = strings.TrimSuffix(root, openAIPrefix)
	case own != "" && !withV1 && "/"+own != openAIPrefix && !strings.HasPrefix(path, "/v1/messages"):
		path = strings.TrimPrefix(path, "/v1")
	}
	return root + path
}

// At is the URL of a path on the host of a base URL. The path takes the place of a dialect's, whose query stays.
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
