// Package wire knows the APIs of inference servers. An [Ask] goes in, and the body of a request for a streamed answer
// comes out. The frames of the answer go in one by one, and for each a [Delta] comes out: text, tokens, usage, finish
// reason or error. The package is a pure codec: no clock, no network, no configuration.
//
// A [Dialect] is an API; each has a file of its own. A [Server] is a type of server and what it does differently; each
// is an entry of servers.yaml. What a server says instead of an answer is a [ServerError].
//
// Begin reading at [Dialect.Body] in ask.go and at [Dialect.Decode] in decode.go, then at a dialect, such as openai.go.
// message.go, usage.go and finish.go read what the answers of several dialects have in common. error.go decides whose
// fault an error is. error_object.go, error_text.go and page.go find it, and refusal.go reads why a request was
// refused. recognize.go knows the type of a server by its replies; models.go and tokenizer.go read what else they say.
package wire

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// ErrMalformed is wrapped by every error that [Dialect.Decode] returns. None repeats a frame that may be a part of an
// answer.
var ErrMalformed = errors.New("malformed frame")

// A Delta is what one frame said.
type Delta struct {
	Choice       bool        // the frame carries a choice, so that a growing usage proves a token
	RoleOnly     bool        // the frame names a role and has no text: it is not a token, whatever its usage says
	Text         []byte      // visible output, with tool calls and refusals
	Calls        []CallPiece // of functions; their texts are in Text as well
	RepeatedText []byte      // text that earlier frames brought in pieces: it is news only if none of them did
	NotStreamed  bool        // the frame is the answer to a request without streaming
	Reasoning    []byte      // text that the model thought: generated tokens too, so that it counts for TTFT
	Refusal      bool        // some of Text is a refusal
	ID           string      // the server's name of the answer, by which its log may know it; empty if the frame has none
	Model        string      // the model that answers, by its own name; empty if the frame does not say
	Finish       string      // the server's finish reason, on the frame that carries it
	Tokens       int         // number of token ids in this frame; 0 if the frame has none
	Usage        Usage       // counts so far; the zero value if the frame carries none
	EarlyUsage   bool        // Usage was sent before the server had read the prompt: see [Server.Estimates]
	End          bool        // the frame is the protocol's end of the answer: clients read no further

	Err *ServerError // the error that the frame reports; nil if there is none

	// BareMessage is the message of a frame that has nothing else. AWS sends errors so: the message was one if the answer
	// then has no end. Nil if there is none.
	BareMessage *ServerError
}

// A Dialect is an API that several servers have, and how it differs from others. It is only read.
type Dialect struct {
	Name           string             // the configuration value and the "api" label
	Path           func(a Ask) string // joined to the base URL by [URL]
	Fields         []Field            // the optional fields of its requests
	Forms          bool               // its requests can ask for a [Form]
	FinishOptional bool               // an answer may be whole without a finish reason, if its body ends cleanly

	// Operation and Provider are gen_ai.operation.name and gen_ai.provider.name of its requests by the OpenTelemetry GenAI
	// conventions: https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/. The provider is whose API it
	// is, not which engine answers: vLLM, SGLang and all others with OpenAI's API are "openai". An API whose provider the
	// conventions do not list has its own name there.
	Operation string
	Provider  string

	body        func(a Ask) body               // returns a streaming request without the optional fields
	keys        map[Field]string               // its own names for some fields
	fieldsIn    string                         // the object that holds the fields, with a dot; empty: the request itself
	read        func(frame gjson.Result) Delta // reads a frame that is a JSON object
	typeInEvent bool                           // an event's name is the type of its frame, if that has none

	keyHeader string                   // header for the API key; empty: Authorization
	version   string                   // default of Anthropic's header with the API's version; empty: no such header
	tokenizer func(s Server) Tokenizer // the route that counts tokens, which may not exist; nil: it never does
}

// Header returns what the API wants in the header of each request: the key, if it is not empty, and the API's version.
func (d *Dialect) Header(key, version string) map[string]string {
	header := map[string]string{}
	switch {
	case key == "":
	case d.keyHeader != "":
		header[d.keyHeader] = key
	default:
		header["Authorization"] = "Bearer " + key
	}
	if d.version != "" {
		header["anthropic-version"] = cmp.Or(version, d.version)
	}
	return header
}

// Tokenizer returns the route that counts the tokens of this dialect's prompts on s; ok is false if there is none.
func (d *Dialect) Tokenizer(s Server) (t Tokenizer, ok bool) {
	if d.tokenizer != nil {
		t = d.tokenizer(s)
	}
	return t, t.Path != ""
}

func fixedPath(path string) func(Ask) string {
	return func(Ask) string { return path }
}

// v1Path returns the path of an API below /v1, which some server types have behind a prefix.
func v1Path(path string) func(Ask) string {
	return func(a Ask) string { return a.Server.Prefix + "/v1" + path }
}

// dialects is every known dialect, in the order in which help texts show them. The list is only read.
var dialects = []*Dialect{
	chat, completions, responses, azure, anthropic, tgi, triton, llama, ollama,
}

// APIs returns the names of all dialects, in the order in which help texts show them.
func APIs() []string {
	var names []string
	for _, d := range dialects {
		names = append(names, d.Name)
	}
	return names
}

// Auto is the configuration value that means: ask the server.
const Auto = "auto"

// Lookup returns the dialect of a name. The error lists the known names.
func Lookup(name string) (*Dialect, error) {
	for _, d := range dialects {
		if d.Name == name {
			return d, nil
		}
	}
	return nil, fmt.Errorf("unknown API %q: want one of %s", name, strings.Join(APIs(), ", "))
}
