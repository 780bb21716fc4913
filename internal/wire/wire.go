// Package wire knows how inference servers spell a streamed completion: the
// request body that asks for one, and what each frame of the answer says. It is
// a pure codec: no clock, no network, no configuration.
package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrMalformed is wrapped by every error that [Dialect.Decode] returns: the
// frame is not what the dialect's servers send.
var ErrMalformed = errors.New("malformed frame")

// malformed is the error for data that is no frame. It does not repeat the data:
// that may be a part of an answer.
func malformed(data []byte) error {
	return fmt.Errorf("%w: %d bytes that are no JSON object", ErrMalformed, len(data))
}

// An Ask is one question, in no server's spelling.
type Ask struct {
	Model     string
	Prompt    string
	Length    int     // tokens that the prompt is meant to have; 0 if that is nobody's concern
	MaxTokens int     // generated tokens asked for, exactly where the server can be held to it
	CacheSalt string  // keeps the prompt out of other probes' prefix cache; empty for none
	Omit      []Field // optional fields that this server is known to reject

	// What the answer is held to.
	PromptTokens Count // tokens that the server must count for the prompt; unknown: not judged
	ExactLimit   bool  // an answer that ends for its length must be MaxTokens long
	ExactOutput  bool  // every answer must be MaxTokens long
}

// Omits reports whether the server is known to reject field f.
func (a Ask) Omits(f Field) bool { return slices.Contains(a.Omit, f) }

// A Field is an optional field of a request: a server that rejects it by name
// is asked without it.
type Field string

// The optional fields, in the spelling of the request body.
const (
	FieldMinTokens       Field = "min_tokens"
	FieldIgnoreEOS       Field = "ignore_eos"
	FieldContinuousUsage Field = "continuous_usage_stats"
	FieldStreamOptions   Field = "stream_options"
	FieldCacheSalt       Field = "cache_salt"
	FieldSeed            Field = "seed"
	FieldTemperature     Field = "temperature"
	FieldMaxTokens       Field = "max_tokens" // chat only: asked as max_completion_tokens instead
	FieldDetails         Field = "details"    // TGI
)

// A Delta is what one frame said. Its texts lie in the frame's data, and are
// valid as long as that is.
type Delta struct {
	Choice    bool         // the frame carries a choice, so usage growth is evidence of a token
	Text      []byte       // visible output, tool-call text and refusals included
	Reasoning []byte       // generated tokens too, so it counts for TTFT
	Refusal   bool         // some of Text is a refusal
	Finish    string       // the server's finish reason, on the frame that carries it
	Tokens    int          // tokens this frame carries, from token ids; 0 if it does not say
	Usage     Usage        // cumulative counts; the zero value if the frame carries none
	Err       *ServerError // what the server reported in-band; nil if nothing
	Done      bool         // the protocol's end marker: no frame of the answer follows
}

// A Dialect is one family of servers' spelling. Implementations are stateless
// values, safe for concurrent use.
type Dialect interface {
	Name() string               // the configuration value and the "api" label
	Path() string               // joined to the base URL by [URL]
	Body(a Ask) ([]byte, error) // a streaming request that asks for usage counts

	// Decode interprets the data of one frame. An error the server reported
	// is in Delta.Err; the returned error wraps [ErrMalformed] and nothing else.
	Decode(data []byte) (Delta, error)

	// Fields lists the optional fields Body sends when Omit is empty.
	Fields() []Field

	// Count is the path and the body of a POST request that asks how many
	// tokens the prompt of a is. Counted reads the reply; ok is false if it is
	// no count, as on servers that have no such route.
	Count(a Ask) (path string, body []byte, err error)
	Counted(reply []byte) (n int, ok bool)
}

// dialects is every known dialect, in the order help texts show them.
var dialects = []Dialect{chat{}, completions{}, tgi{}}

// Dialects returns every known dialect, in the order help texts show them.
func Dialects() []Dialect { return slices.Clone(dialects) }

// Auto is the configuration value that means: ask the server.
const Auto = "auto"

// Lookup returns the dialect of that name. The error lists the known names.
func Lookup(name string) (Dialect, error) {
	known := make([]string, 0, len(dialects))
	for _, d := range dialects {
		if d.Name() == name {
			return d, nil
		}
		known = append(known, d.Name())
	}
	return nil, fmt.Errorf("unknown API %q: want one of %s", name, strings.Join(known, ", "))
}

// URL joins a base URL, as users give it to clients (with or without a final
// slash or "/v1"), and a path of a dialect.
func URL(base, path string) string {
	return Root(base) + path
}

// Root is the base URL without a final slash or "/v1".
func Root(base string) string {
	return strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1")
}
