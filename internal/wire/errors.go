package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A ServerError is an error object that a server sent, in whatever shape.
type ServerError struct {
	Type    string // the server's class of error; may be empty
	Code    string // the server's code, often an HTTP status; may be empty
	Message string // text for humans, cut to 300 bytes; may be empty
}

// Error is the server's own words.
func (e *ServerError) Error() string {
	parts := slices.DeleteFunc([]string{e.Type, e.Code, e.Message}, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return "server error without a text"
	}
	return "server error: " + strings.Join(parts, ": ")
}

// Overloaded reports whether the server says that it has too much to do. A code of 503 within a stream is not enough.
func (e *ServerError) Overloaded() bool {
	words := e.Message == "Model is overloaded" // all that TGI tells on its OpenAI APIs
	return e.Type == "overloaded" || e.Type == "overloaded_error" || words
}

// Invalid reports whether the server says that the request is at fault, and not the server: it would have answered 400
// or 422, had the stream not begun.
func (e *ServerError) Invalid() bool {
	types := []string{
		"validation", "template_error", "missing_template_variable", "tool_error", // TGI
		"BadRequestError", "invalid_request_error", // vLLM and SGLang; OpenAI and Anthropic
	}
	codes := []string{"400", "413", "422"}
	_, long := TooLong([]byte(e.Message))
	if long || slices.Contains(types, e.Type) {
		return true
	}
	return slices.Contains(codes, e.Code) && !ownFailure.MatchString(e.Message)
}

// ownFailure is how TGI tells its own failures, to which its OpenAI APIs give the code 422 as to all others.
var ownFailure = regexp.MustCompile("^(Request failed during generation|Incomplete generation|" +
	"Model is overloaded|Stream event serialization)")

// ParseError reads the error object of a frame or of a body, in every shape that servers are known to send: {"error":{…}},
// {"error":"text"}, {"object":"error",…}, {"type":"error",…}, {"detail":…}, {"code":…,"message":…}, [{…}]; nil if there is none.
func ParseError(data []byte) *ServerError {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' && json.Valid(data) {
		data = first(data)
	}
	var f errorFields
	if json.Unmarshal(data, &f) != nil {
		return nil
	}
	// A frame of tokens that has an error without any content has none.
	empty := slices.Contains([]string{"", "null", `""`, "{}", "[]", "false", "0"}, string(f.Error))
	switch e := f.itself(); {
	case present(f.Choices) && empty:
	case present(f.Error):
		return nested(f.Error, unquote(f.ErrorType))
	case e.Type == "error", unquote(f.Object) == "error":
		return e
	case present(f.Detail):
		return nested(f.Detail, "")
	case e.Message != "" && e.Code != "" && !present(f.Choices):
		return e
	}
	return nil
}

// errorFields are the keys of an object that may be an error, or hold one. Each is a string, a number or null.
type errorFields struct {
	Error     json.RawMessage `json:"error"`      // or an object
	ErrorType json.RawMessage `json:"error_type"` // TGI
	Object    json.RawMessage `json:"object"`
	Type      json.RawMessage `json:"type"`
	Code      json.RawMessage `json:"code"`
	Status    json.RawMessage `json:"http_status_code"`
	Message   json.RawMessage `json:"message"`
	Detail    json.RawMessage `json:"detail"` // FastAPI; or a list
	Choices   json.RawMessage `json:"choices"`
}

func (f errorFields) itself() *ServerError {
	return &ServerError{Type: unquote(f.Type), Code: cmp.Or(unquote(f.Code), unquote(f.Status)), Message: cut(unquote(f.Message))}
}

// nested reads the value of an "error" key: an object, a text, or anything. class is its type if it names none.
func nested(raw json.RawMessage, class string) *ServerError {
	var f errorFields
	if json.Unmarshal(raw, &f) != nil {
		return &ServerError{Type: class, Message: cut(unquote(raw))}
	}
	e := f.itself()
	if e.Type = cmp.Or(e.Type, class); *e == (ServerError{}) {
		e.Message = cut(string(raw))
	}
	return e
}

// Describe is an answer that should have been a stream: its error object if there is one, else the start of its text.
func Describe(body []byte) string {
	if e := ParseError(body); e != nil {
		return e.Error()
	}
	return cut(strings.Join(strings.Fields(string(body)), " "))
}

func present(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null"
}

// unquote is the string in raw, or raw itself if it is no string.
func unquote(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// Cut stands where a server's words were cut.
const Cut = " … "

// cut bounds what is kept of a server's words, which may be anything, a compressed page for example.
func cut(s string) string {
	const longest = 300 // bytes
	clean := strings.ToValidUTF8(s, "�")
	if len(clean) <= longest {
		return clean
	}
	return fmt.Sprintf("%s%s(%d bytes)", strings.ToValidUTF8(clean[:longest], ""), Cut, len(s))
}

// Limits are how many tokens a server takes at most; 0: it does not say.
type Limits struct {
	Context int // of prompt and answer together
	Input   int // of the prompt alone
}

// Or is l, with what it does not say from other.
func (l Limits) Or(other Limits) Limits {
	return Limits{Context: cmp.Or(l.Context, other.Context), Input: cmp.Or(l.Input, other.Input)}
}

// tooLong is how servers refuse what does not fit their context, and the number that follows; tooLongInput is how TGI
// refuses a prompt that is too long by itself: it takes one of exactly that number.
var (
	tooLong = regexp.MustCompile("(?i)(?:context[ _]length|max_model_len|maximum model length|context[ _]?window|" +
		"context[ _]size|n_ctx|prompt is too long[^>]*>|`inputs` tokens \\+ `max_new_tokens` must be <)" +
		`[ :="'\\(isof]*(\d{1,3}(?:,\d{3})+\b|\d+)?|prompt is too long`)
	tooLongInput = regexp.MustCompile("`inputs` must have less than (\\d+) tokens")
)

// TooLong reports whether a reply says that prompt and answer are too long for the server, and its limits as far as
// they are told.
func TooLong(reply []byte) (limits Limits, ok bool) {
	largest := func(pattern *regexp.Regexp) (n int) {
		for _, match := range pattern.FindAllSubmatch(reply, -1) {
			ok = true
			number, err := strconv.Atoi(strings.ReplaceAll(string(match[1]), ",", ""))
			if err == nil && number <= maxCount {
				n = max(n, number)
			}
		}
		return n
	}
	limits.Context = largest(tooLong)
	limits.Input = largest(tooLongInput)
	return limits, ok
}

// noTemplate is how servers refuse a conversation for a model whose tokenizer says nothing about conversations: TGI,
// vLLM, SGLang and transformers.
var noTemplate = regexp.MustCompile(`(?i)template not found|must provide a chat template|chat_template is not set`)

// NoTemplate reports whether a reply says that the model has no chat template, so that it can only be asked for
// completions.
func NoTemplate(reply []byte) bool { return noTemplate.Match(reply) }

// What servers say of a request whose status alone is misleading. LiteLLM knows all of it.
var (
	wrongModel = regexp.MustCompile(`(?i)invalid model name|server is pinned to|model[ _]not[ _]found` +
		`|not a valid model|unknown model|no such model|\bmodel\b.{0,200}(does not exist|not found)`)
	wantsHeader = regexp.MustCompile(`(?i)\bheader is required`)                                      // Portkey
	badKey      = regexp.MustCompile(`no_db_connection|(?i)no connected db`)                          // LiteLLM
	noBackend   = regexp.MustCompile(`all_deployments_in_cooldown|(?i)no deployments? available for`) // LiteLLM
)

// WrongModel reports whether a reply says that the server does not serve the model that was asked for.
func WrongModel(reply []byte) bool { return wrongModel.Match(reply) }

// WantsHeader reports whether a reply says that the request lacks a header.
func WantsHeader(reply []byte) bool { return wantsHeader.Match(reply) }

// BadKey reports whether a reply says, with whatever status, that the server does not accept the key: LiteLLM without
// a database knows its master key alone, and answers 400 to all others, since it cannot look them up.
func BadKey(reply []byte) bool { return badKey.Match(reply) }

// NoBackend reports whether a reply says, with whatever status, that a gateway has no server left to ask: LiteLLM
// answers 429 once all of them failed, and would to any key.
func NoBackend(reply []byte) bool { return noBackend.Match(reply) }
