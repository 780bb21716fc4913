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

	vendor ErrorClass // what the code means to the one vendor that writes errors in this shape
}

// Error returns the server's own words.
func (e *ServerError) Error() string { return e.Beside("") }

// Beside returns the server's own words for a text that has its HTTP status already.
func (e *ServerError) Beside(status string) string {
	isRepeated := func(s string) bool { return s == "" || s == status }
	parts := slices.DeleteFunc([]string{e.Type, e.Code, e.Message}, isRepeated)
	parts = slices.Compact(parts)
	if len(parts) == 0 {
		return "an error without a text"
	}
	return strings.Join(parts, ": ")
}

// ParseError reads the error object of a frame or of a body; nil if there is none. It is the one place that knows the
// shapes of errors:
//
//	{"error":{…}}  {"error":"text"}  {"error":[…]}  {"error":true,"message":…}  {"errors":…}  [{"error":…}]
//	{"object":"error",…}  {"type":"error",…}  {"status":"error",…}  {"success":false,…}
//	{"code":…,"message":…}  {"code":…,"msg":…}  {"error_code":…,"error_msg":…}  {"errcode":…,"errmsg":…}
//	{"detail":…}  {"title":…,"status":…}  {"base_resp":{…}}  {"fault":{…}}  {"__type":…}  {"…Exception":{…}}
//
// A code of success, a value without content and an error object beside the text of an answer are none.
func ParseError(data []byte) *ServerError {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	data = firstValue(bytes.TrimLeft(errorPrefix.ReplaceAll(eventData(data), nil), " "))
	if len(data) == 0 {
		return nil
	}
	return parseError(data, 0)
}

// errorPrefix matches what some servers write before the JSON text of an error.
var errorPrefix = regexp.MustCompile(`(?i)^\[?error\]?[: ] *`)

// firstValue returns the JSON text with which data begin, whatever is glued to its end; nil if there is none.
func firstValue(data []byte) []byte {
	if json.Valid(data) {
		return data
	}
	if len(data) == 0 || data[0] != '{' {
		return nil
	}
	var first json.RawMessage
	err := json.NewDecoder(bytes.NewReader(data)).Decode(&first)
	if err != nil {
		return nil
	}
	return first
}

// eventData returns the data of a whole event, which some servers send with an error's status; anything else as it is.
func eventData(body []byte) []byte {
	for line := range bytes.Lines(body) {
		value, isData := bytes.CutPrefix(line, []byte("data:"))
		switch {
		case isData:
			return bytes.TrimSpace(value)
		case !bytes.HasPrefix(line, []byte("event:")):
			return body
		}
	}
	return body
}

// deepestError is how many objects and lists may lie around an error.
const deepestError = 4

// parseError reads the error object in valid JSON. depth is how many objects lie around it.
func parseError(data []byte, depth int) *ServerError {
	if len(data) > 0 && data[0] == '[' {
		data = firstElement(data)
	}
	if depth == deepestError || len(data) == 0 || data[0] != '{' || hasAnswer(data) {
		return nil
	}
	f := errorFieldsIn(data)
	own := f.serverError()
	switch {
	case !isEmptyValue(f.Error):
		return f.nested(f.Error, depth)
	case len(f.choiceError) > 0: // OpenRouter
		return readError(f.choiceError, depth)
	case !isEmptyValue(f.Errors):
		return f.nested(f.Errors, depth)
	case !isEmptyValue(f.BaseResp): // MiniMax; a status of success among other keys
		return minimaxError(f.BaseResp)
	case !isEmptyValue(f.Fault): // Apigee
		return f.nested(f.Fault, depth)
	case f.exception != "": // Bedrock
		e := readError(f.exceptionBody, depth)
		e.Type = f.exception
		return e
	case f.saysFailure():
		return own.orText(data)
	case isFailureCode(f.code()) && !isSuccess(own.Message), !isEmptyValue(f.AWSType), f.isProblem():
		return own
	case !isEmptyValue(f.Detail):
		return f.nested(f.Detail, depth)
	case own.Type == "" && failureWords.MatchString(own.Message): // a message alone
		return own
	}
	return nil
}

// errorFields are the keys of an object that may be an error, or contain one.
type errorFields struct {
	Error, Errors, Fault, BaseResp, Detail json.RawMessage // may contain one
	Type, ErrorType, AWSType, Object       json.RawMessage
	Code, ErrorCode, StatusCode            json.RawMessage
	Message, Description                   json.RawMessage
	Title, Status, Success                 json.RawMessage

	exception     string // a key that is the name of an exception
	exceptionBody []byte
	choiceError   []byte // the error in a choice
}

// errorFieldsIn returns the keys of an object.
func errorFieldsIn(object []byte) *errorFields {
	f := &errorFields{}
	eachField(object, func(key, value []byte) {
		name := strings.ToLower(string(key))
		field := f.field(name)
		if field == &f.Message && value[0] == '{' && strings.Contains(name, "err") { // Tencent
			field = &f.Error
		}
		switch {
		case field != nil && (len(*field) == 0 || !isEmptyValue(value)):
			*field = value
		case field == nil && bytes.HasSuffix(key, []byte("Exception")) && value[0] == '{':
			f.exception = string(key)
			f.exceptionBody = value
		case (name == "response" || name == "responsemetadata") && value[0] == '{': // Tencent; Volcengine
			nested := errorFieldsIn(value)
			if !isEmptyValue(nested.Error) {
				f.Error = nested.Error
			}
		case name == "choices":
			f.choiceError = choiceError(firstElement(value))
		}
	})
	return f
}

// choiceError returns the error in a choice, or in its delta; nil if there is none.
func choiceError(choice []byte) []byte {
	inChoice := memberOf(choice, "error")
	if !isEmptyValue(inChoice) {
		return inChoice
	}
	inDelta := memberOf(memberOf(choice, "delta"), "error")
	if !isEmptyValue(inDelta) {
		return inDelta
	}
	return nil
}

// field returns where the value of a key belongs; nil if it says nothing of an error.
func (f *errorFields) field(key string) *json.RawMessage {
	switch key {
	case "error", "err", "exception", "error_info", "errorinfo":
		return &f.Error
	case "errors":
		return &f.Errors
	case "fault":
		return &f.Fault
	case "base_resp":
		return &f.BaseResp
	case "detail":
		return &f.Detail
	case "type":
		return &f.Type
	case "error_type", "errortype":
		return &f.ErrorType
	case "__type":
		return &f.AWSType
	case "object", "event":
		return &f.Object
	case "code":
		return &f.Code
	case "error_code", "errorcode", "errcode", "err_code":
		return &f.ErrorCode
	case "status_code", "statuscode", "http_status_code", "http_code":
		return &f.StatusCode
	case "message", "msg", "error_msg", "errormsg", "error_message", "errormessage", "errmsg", "err_msg",
		"status_msg", "faultstring":
		return &f.Message
	case "error_description", "reason", "description":
		return &f.Description
	case "title":
		return &f.Title
	case "status":
		return &f.Status
	case "success", "ok":
		return &f.Success
	}
	return nil
}

// code returns the object's code, or that of its status.
func (f *errorFields) code() string {
	status := textOf(f.Status)
	if !isNumber(status) {
		status = ""
	}
	return cmp.Or(textOf(f.ErrorCode), textOf(f.Code), textOf(f.StatusCode), status)
}

// serverError returns the object itself as an error.
func (f *errorFields) serverError() *ServerError {
	e := &ServerError{
		Type:    cmp.Or(textOf(f.Type), textOf(f.ErrorType), textOf(f.AWSType)),
		Code:    f.code(),
		Message: cmp.Or(textOf(f.Message), textOf(f.Description), textOf(f.Title)),
	}
	if e.Message == "" && !isEmptyValue(f.Message) && !MayBeAnswer(f.Message) { // Mistral
		e.Message = string(f.Message)
	}
	if textOf(f.Title) != "" && textOf(f.Detail) != "" { // RFC 9457
		e.Message = textOf(f.Title) + ": " + textOf(f.Detail)
	}
	if e.Type == "" && !isNumber(textOf(f.Status)) { // Google
		e.Type = textOf(f.Status)
	}
	if strings.HasPrefix(e.Type, "about:") || slices.Contains([]string{"error", "fail", "failed", "failure"}, e.Type) {
		e.Type = ""
	}
	_, e.Type = cutLast(e.Type, "#") // AWS
	if isSuccess(e.Code) {
		e.Code = ""
	}
	if !isEmptyValue(f.ErrorCode) {
		e.vendor = baiduCodes[e.Code]
	}
	e.Type, e.Code, e.Message = shorten(e.Type), shorten(e.Code), shorten(e.Message)
	return e
}

// cutLast cuts s at the last separator. Without one, all of it is after.
func cutLast(s, separator string) (before, after string) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return "", s
	}
	return s[:i], s[i+len(separator):]
}

// orText returns e, with the start of the object as its message if e has no words.
func (e *ServerError) orText(object []byte) *ServerError {
	switch {
	case e.Type != "" || e.Code != "" || e.Message != "":
	case MayBeAnswer(object):
		e.Message = fmt.Sprintf("%d bytes", len(object))
	default:
		e.Message = shorten(string(object))
	}
	return e
}

// nested returns the error in the value of a key, with what the object around it says; nil if it says that there is
// none.
func (f *errorFields) nested(value json.RawMessage, depth int) *ServerError {
	outer := f.serverError()
	switch {
	case string(value) == "true":
		return outer
	case isNumber(string(value)) && outer.Message != "":
		outer.Code = cmp.Or(outer.Code, string(value))
		return outer
	}
	inner := readError(value, depth)
	if inner == nil {
		return nil
	}
	isWord := !strings.ContainsAny(inner.Message, " \n")
	switch {
	case value[0] != '"' || outer.Message == "":
	case isWord: // {"error":"rate_limited","message":"…"}
		inner.Type = inner.Message
		inner.Message = outer.Message
	case strings.Contains(outer.Message, inner.Message):
		inner.Message = outer.Message
	case !strings.Contains(inner.Message, outer.Message): // Spring: {"error":"Internal Server Error","message":"…"}
		inner.Message = shorten(inner.Message + ": " + outer.Message)
	}
	inner.Type = cmp.Or(inner.Type, outer.Type)
	inner.Code = cmp.Or(inner.Code, outer.Code)
	inner.Message = cmp.Or(inner.Message, outer.Message)
	inner.vendor = max(inner.vendor, outer.vendor)
	return inner
}

// readError reads the value of a key that holds an error: an object, a text, a list, or anything. It is nil if the
// value says that there is none.
func readError(value json.RawMessage, depth int) *ServerError {
	switch {
	case len(value) == 0:
		return nil
	case value[0] == '[' && depth < deepestError:
		return readList(value, depth)
	case value[0] != '{':
		words := textOf(value)
		if isSuccess(words) {
			return nil
		}
		return &ServerError{Message: shorten(words)}
	}
	f := errorFieldsIn(value)
	if !isEmptyValue(f.Error) && depth < deepestError { // an error within an error
		return f.nested(f.Error, depth+1)
	}
	own := f.serverError()
	own.Code = cmp.Or(own.Code, textOf(memberOf(f.Detail, "errorcode")))            // Apigee
	own.Type = cmp.Or(own.Type, textOf(memberOf(firstElement(f.Errors), "reason"))) // Google, older
	saysSuccess := !isEmptyValue(f.Code) || !isEmptyValue(f.Message)
	switch {
	case isSuccess(own.Code) && isSuccess(own.Message) && isSuccess(own.Type) && saysSuccess:
		return nil
	case own.Message == "" && !isEmptyValue(f.Errors) && depth < deepestError:
		return f.nested(f.Errors, depth+1)
	}
	raw := textOf(memberOf(memberOf(value, "metadata"), "raw")) // OpenRouter: the provider's words
	if raw != "" {
		own.Message = shorten(own.Message + ": " + raw)
	}
	return own.orText(value)
}

// readList reads a list of errors: the first one, and of FastAPI's validation where each fault lies.
func readList(list json.RawMessage, depth int) *ServerError {
	var faults []string
	eachElement(list, func(fault []byte) {
		var place []string
		eachElement(memberOf(fault, "loc"), func(step []byte) { place = append(place, unquote(step)) })
		message := textOf(memberOf(fault, "msg"))
		if len(place) > 0 && message != "" {
			faults = append(faults, strings.Join(place, ".")+": "+message)
		}
	})
	if len(faults) > 0 {
		return &ServerError{Message: shorten(strings.Join(faults, "; "))}
	}
	return readError(firstElement(list), depth+1)
}

// minimaxError reads MiniMax's status object; nil if it says success.
func minimaxError(status []byte) *ServerError {
	e := errorFieldsIn(status).serverError()
	if !isFailureCode(e.Code) {
		return nil
	}
	e.vendor = minimaxCodes[e.Code]
	return e
}

// saysFailure reports whether the object says of itself that it is an error.
func (f *errorFields) saysFailure() bool {
	failures := []string{"error", "fail", "failed", "failure"}
	isFailure := slices.Contains(failures, strings.ToLower(textOf(f.Status))) && !isEmptyValue(f.Message)
	return textOf(f.Type) == "error" || textOf(f.Object) == "error" || isFailure ||
		string(f.Success) == "false" && !isEmptyValue(f.Message) ||
		isFailureCode(textOf(f.ErrorCode))
}

// isProblem reports whether the object is a problem of RFC 9457.
func (f *errorFields) isProblem() bool {
	return !isEmptyValue(f.Title) && isFailureCode(textOf(f.Status)) && isNumber(textOf(f.Status))
}

// isFailureCode reports whether a code is there and says something else than success.
func isFailureCode(code string) bool { return code != "" && !isSuccess(code) }

// isSuccess reports whether a code or a message says that nothing is wrong. An empty one does as well.
func isSuccess(s string) bool {
	isHTTP := len(s) == 3 && s[0] == '2' && isNumber(s)
	if isHTTP || strings.Trim(s, "0") == "" {
		return true
	}
	return successWords.MatchString(s)
}

// successWords matches the words of a status that says that nothing is wrong.
var successWords = regexp.MustCompile(`(?i)^((the )?(request|operation|call|query) (is |was )?)?` +
	`(ok|success(ful(ly)?)?|succeeded)[.!]*$|^(none|null|no error|normal)$`)

// isNumber reports whether s has digits only.
func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// hasAnswer reports whether an object has the text of an answer, so that an error beside it is none: a choice with text
// that did not fail, or another API's output.
func hasAnswer(object []byte) bool {
	found := false
	eachField(object, func(key, value []byte) {
		switch string(key) {
		case "choices":
			eachElement(value, func(choice []byte) { found = found || isAnswer(choice) })
		case "output", "content", "text_output", "generated_text", "completion":
			found = found || !isEmptyValue(value)
		case "message": // Ollama
			found = found || !isEmptyValue(memberOf(value, "content"))
		}
	})
	return found
}

// isAnswer reports whether a choice has text, and is not the end of an answer that failed.
func isAnswer(choice []byte) bool {
	var d Delta
	d.addChoice(choice)
	d.addMessage(memberOf(choice, "message"))
	return d.hasText() && EndingOf(d.Finish) != Failed
}

// hasText reports whether a frame shows generated tokens.
func (d *Delta) hasText() bool { return len(d.Text)+len(d.Reasoning) > 0 || d.Tokens > 0 }

// isSet reports whether a key is there and not null.
func isSet(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null"
}

// isEmptyValue reports whether a key is not there, or has a value without content, as far as its values are nested.
func isEmptyValue(raw json.RawMessage) bool { return isEmptyWithin(raw, 0) }

func isEmptyWithin(raw []byte, depth int) bool {
	empty := []string{"", "null", `""`, "false", "0"}
	if slices.Contains(empty, string(raw)) {
		return true
	}
	isEmpty := depth < deepestError && (raw[0] == '{' || raw[0] == '[')
	if isEmpty {
		eachField(raw, func(_, value []byte) { isEmpty = isEmpty && isEmptyWithin(value, depth+1) })
		eachElement(raw, func(value []byte) { isEmpty = isEmpty && isEmptyWithin(value, depth+1) })
	}
	return isEmpty
}

// textOf returns a string or a number as text; empty for anything else, and for names of nothing: LiteLLM writes the
// type "None".
func textOf(raw json.RawMessage) string {
	if !isSet(raw) || raw[0] == '{' || raw[0] == '[' || string(raw) == "false" || string(raw) == "true" {
		return ""
	}
	text := unquote(raw)
	if text == "None" || text == "null" {
		return ""
	}
	return text
}

// unquote returns the string in raw, or raw itself if it is not a string.
func unquote(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
