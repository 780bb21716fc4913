package wire

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// An Ask is one question, whatever the server's API.
type Ask struct {
	Model   string
	Version string // of the API, or of the model on Triton; empty for the default
	Server  Server // what is known of the server; the zero value if nothing is

	Turns  []Turn // the conversation before Prompt; nil if there was none
	Prompt string

	MaxTokens int     // generated tokens asked for, exactly where the server enforces it
	CacheSalt string  // keeps the prompt out of other probes' prefix cache; empty for none
	Session   string  // for routers that keep a session on one replica; empty for none
	Priority  *int    // in the server's own sense; nil for none
	Form      *Form   // that the answer must have; nil: any text
	Omit      []Field // optional fields that this server is known to reject
	Body      Object  // what the user adds to the request; it counts more than all that the prober writes
}

// A Turn is one message of a conversation. Its JSON is that of OpenAI's API.
type Turn struct {
	Role string `json:"role"` // system, user or assistant
	Text string `json:"content"`
}

// conversation returns all turns, the prompt last.
func (a Ask) conversation() []Turn {
	return append(slices.Clone(a.Turns), Turn{Role: "user", Text: a.Prompt})
}

// text returns all turns as one text, for APIs without a chat template.
func (a Ask) text() string {
	var texts []string
	for _, t := range a.conversation() {
		texts = append(texts, t.Text)
	}
	return strings.Join(texts, "\n\n")
}

// Omits reports whether a field is not sent: the server is known to reject it, or its type has no use for it.
func (a Ask) Omits(f Field) bool {
	return slices.Contains(a.Omit, f) || slices.Contains(a.Server.Omit, f)
}

// A Field is an optional field of a request: a server that rejects it by name is asked without it.
type Field string

// The optional fields, as the request body names them.
const (
	FieldMinTokens       Field = "min_tokens"
	FieldIgnoreEOS       Field = "ignore_eos"
	FieldContinuousUsage Field = "continuous_usage_stats"
	FieldStreamOptions   Field = "stream_options"
	FieldCacheSalt       Field = "cache_salt"
	FieldPriority        Field = "priority"
	FieldSeed            Field = "seed"
	FieldTemperature     Field = "temperature"
	FieldDetails         Field = "details" // TGI

	// Chat has two names for the limit of an answer. Without max_tokens, max_completion_tokens is always sent.
	FieldMaxTokens           Field = "max_tokens"
	FieldMaxCompletionTokens Field = "max_completion_tokens"

	fieldStore   Field = "store"             // Responses: the server is asked not to keep the answer
	fieldThink   Field = "think"             // Ollama: a model that can think is asked not to do so
	fieldTimings Field = "timings_per_token" // llama-server: timings in every frame, not only in the last

	// Triton: the vLLM backend is asked to report these, and other models ignore them.
	fieldExcludeInput Field = "exclude_input_in_output"
	fieldFinishReason Field = "return_finish_reason"
	fieldInputTokens  Field = "return_num_input_tokens"
	fieldOutputTokens Field = "return_num_output_tokens"
)

// A body is a request in the making. Keys with a dot lie in an inner object: "stream_options.include_usage".
type body map[string]any

// set sets the value of a key. It makes the inner objects that the key needs.
func (b body) set(key string, value any) {
	outer, inner, nested := strings.Cut(key, ".")
	if !nested {
		b[key] = value
		return
	}
	object, ok := b[outer].(body)
	if !ok {
		object = body{}
		b[outer] = object
	}
	object.set(inner, value)
}

// Body returns a streaming request. It has the optional fields that a asks for and that are not omitted, and what the
// user adds. The error is [ErrNoForm] if the dialect has no way to ask for the form of the answer.
func (d *Dialect) Body(a Ask) ([]byte, error) {
	if a.Form != nil && !d.Forms {
		return nil, ErrNoForm
	}
	b := d.body(a)
	for _, f := range d.Fields {
		value, ok := a.option(f)
		if ok && !a.Omits(f) {
			b.set(d.keyOf(f, a.Server), value)
		}
	}
	b.merge(a.Body)
	return json.Marshal(b)
}

// keyOf returns the key of an optional field in the requests to a server.
func (d *Dialect) keyOf(f Field, s Server) string {
	return d.fieldsIn + cmp.Or(d.keys[f], s.Keys[f], string(f))
}

// option returns the value of an optional field; ok is false if a does not ask for it.
func (a Ask) option(f Field) (value any, ok bool) {
	switch f {
	case FieldMaxTokens:
		return a.MaxTokens, true
	case FieldMinTokens: // JSON ends by itself: what is longer is no JSON
		return a.MaxTokens, a.Form == nil
	case FieldIgnoreEOS:
		return true, a.Form == nil
	case FieldMaxCompletionTokens: // beside max_tokens, which a server of unknown type may ignore
		return a.MaxTokens, a.Server.Name == ""
	case FieldTemperature:
		return 0, true
	case FieldSeed:
		return 1, true
	case FieldCacheSalt:
		return a.CacheSalt, a.CacheSalt != ""
	case FieldPriority:
		return a.Priority, a.Priority != nil
	case FieldContinuousUsage:
		return true, !a.Omits(FieldStreamOptions)
	case fieldThink, fieldStore:
		return false, true
	}
	return true, true
}
