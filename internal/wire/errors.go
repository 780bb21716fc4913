package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A ServerError is an error object that a server sent, in whatever shape.
type ServerError struct {
	Type    string // the server's class of error; may be empty
	Code    string // the server's code, often an HTTP status; may be empty
	Message string // text for humans, at most 300 bytes; may be empty
}

// Error returns the server's own words.
func (e *ServerError) Error() string {
	isEmpty := func(s string) bool { return s == "" }
	parts := slices.DeleteFunc([]string{e.Type, e.Code, e.Message}, isEmpty)
	if len(parts) == 0 {
		return "server error without a text"
	}
	return "server error: " + strings.Join(parts, ": ")
}

// Overloaded reports whether the server says that it has too much to do. The code 503 within a stream does not say so:
// an engine may have died. On its OpenAI APIs, TGI says it in the message only.
func (e *ServerError) Overloaded() bool {
	return e.Type == "overloaded" || e.Type == "overloaded_error" || e.Message == "Model is overloaded"
}

// Invalid reports whether the server says that the request is at fault, and not the server: had the stream not begun,
// it would have answered 400 or 422.
func (e *ServerError) Invalid() bool {
	types := []string{
		"validation", "template_error", "missing_template_variable", "tool_error", // TGI
		"BadRequestError",       // vLLM and SGLang
		"invalid_request_error", // OpenAI and Anthropic
	}
	codes := []string{"400", "413", "422"}
	_, tooLong := TooLong([]byte(e.Message))
	if tooLong || slices.Contains(types, e.Type) {
		return true
	}
	return slices.Contains(codes, e.Code) && !tgiFailure.MatchString(e.Message)
}

// tgiFailure matches the messages of TGI's own failures. On its OpenAI APIs it gives them the code 422, as all others.
var tgiFailure = regexp.MustCompile("^(Request failed during generation|Incomplete generation|" +
	"Model is overloaded|Stream event serialization)")

// ParseError reads the error object of a frame or of a body; nil if there is none. Servers are known to send
//
//	{"error":{…}}  {"error":"text"}  {"object":"error",…}  {"type":"error",…}
//	{"detail":…}  {"code":…,"message":…}  [{…}]
func ParseError(data []byte) *ServerError {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' && json.Valid(data) {
		data = firstElement(data)
	}
	var f errorFields
	if json.Unmarshal(data, &f) != nil {
		return nil
	}
	if isSet(f.Choices) && isEmptyValue(f.Error) {
		return nil // a frame of tokens with an "error" that says there is none
	}
	own := f.serverError()
	switch {
	case isSet(f.Error):
		return readError(f.Error, unquote(f.ErrorType))
	case own.Type == "error", unquote(f.Object) == "error":
		return own
	case isSet(f.Detail):
		return readError(f.Detail, "")
	case own.Message != "" && own.Code != "" && !isSet(f.Choices):
		return own
	}
	return nil
}

// errorFields are the keys of an object that may be an error, or contain one. Each is a string, a number or null.
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

// serverError returns the object itself as an error.
func (f errorFields) serverError() *ServerError {
	return &ServerError{
		Type:    unquote(f.Type),
		Code:    cmp.Or(unquote(f.Code), unquote(f.Status)),
		Message: shorten(unquote(f.Message)),
	}
}

// readError reads the value of an "error" key: an object, a text, or anything. defaultType is its type if it names
// none.
func readError(raw json.RawMessage, defaultType string) *ServerError {
	var f errorFields
	if json.Unmarshal(raw, &f) != nil {
		return &ServerError{Type: defaultType, Message: shorten(unquote(raw))}
	}
	e := f.serverError()
	e.Type = cmp.Or(e.Type, defaultType)
	if *e == (ServerError{}) {
		e.Message = shorten(string(raw))
	}
	return e
}

// Describe returns what a server said in an answer that should have been a stream: its error object if there is one,
// else the start of its text.
func Describe(body []byte) string {
	e := ParseError(body)
	if e != nil {
		return e.Error()
	}
	return shorten(strings.Join(strings.Fields(string(body)), " "))
}

// isSet reports whether a key is there and not null.
func isSet(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null"
}

// isEmptyValue reports whether a key is not there, or has a value without content.
func isEmptyValue(raw json.RawMessage) bool {
	empty := []string{"", "null", `""`, "{}", "[]", "false", "0"}
	return slices.Contains(empty, string(raw))
}

// unquote returns the string in raw, or raw itself if it is not a string.
func unquote(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// Cut stands where a server's words were shortened.
const Cut = " … "

// shorten bounds what is kept of a server's words, which may be anything, for example a compressed page.
func shorten(s string) string {
	const longest = 300 // bytes
	clean := strings.ToValidUTF8(s, "�")
	if len(clean) <= longest {
		return clean
	}
	return fmt.Sprintf("%s%s(%d bytes)", strings.ToValidUTF8(clean[:longest], ""), Cut, len(s))
}
