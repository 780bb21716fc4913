package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// This file reads errors that are JSON objects, or stand in one.

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
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) // a byte order mark
	data = errorPrefix.ReplaceAll(eventData(data), nil)
	data = bytes.TrimLeft(data, " ")
	value, isJSON := parseJSON(data)
	if !isJSON && bytes.HasPrefix(data, []byte("{")) { // something may be glued to its end
		var object json.RawMessage
		_ = json.NewDecoder(bytes.NewReader(data)).Decode(&object) // leaves it empty if there is none
		value, isJSON = parseJSON(object)
	}
	if !isJSON {
		return nil
	}
	return findError(value)
}

// errorPrefix matches what some servers write before the JSON text of an error.
var errorPrefix = regexp.MustCompile(`(?i)^\[?error\]?[: ] *`)

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

// findError returns the error in a value that may be one, or contain one; nil if there is none.
func findError(value gjson.Result) *ServerError {
	if value.IsArray() {
		value = firstElement(value)
	}
	if !value.IsObject() || hasAnswer(value) {
		return nil
	}
	f := errorFieldsIn(value)
	own := f.serverError()
	switch {
	// An object that contains an error.
	case !isEmptyValue(f.error):
		return f.errorIn(f.error, 0)
	case !isEmptyValue(f.choiceError): // OpenRouter
		return readError(f.choiceError, 0)
	case !isEmptyValue(f.errors):
		return f.errorIn(f.errors, 0)
	case !isEmptyValue(f.baseResp): // MiniMax; a status of success among other keys
		e := errorFieldsIn(f.baseResp).serverError()
		if !isFailureCode(e.Code) {
			return nil
		}
		e.vendor = minimaxCodes[e.Code]
		return e
	case !isEmptyValue(f.fault): // Apigee
		return f.errorIn(f.fault, 0)
	case f.exception != "": // Bedrock
		own = cmp.Or(readError(f.exceptionBody, 0), own)
		own.Type = shorten(f.exception)
		return own

	// An object that is an error itself.
	case f.saysFailure():
		return own.orText(value)
	case isFailureCode(f.anyCode()) && !isSuccess(own.Message), !isEmptyValue(f.awsType):
		return own
	case !isEmptyValue(f.detail): // FastAPI, unless it is the detail of an error above (RFC 9457)
		return f.errorIn(f.detail, 0)
	case own.Type == "" && failureWords.MatchString(own.Message): // a message alone
		return own
	}
	return nil
}

// hasAnswer reports whether an object has the text of an answer: a choice with text that did not fail, or another API's
// output. An error beside it is none.
func hasAnswer(object gjson.Result) bool {
	for key, value := range fieldsOf(object) {
		switch key {
		case "choices":
			for choice := range elementsOf(value) {
				var d Delta
				d.addChoice(choice)
				d.addMessage(member(choice, "message"))
				if d.showsTokens() && EndingOf(d.Finish) != Failed {
					return true
				}
			}
		case "output", "content", "text_output", "generated_text", "completion":
			if !isEmptyValue(value) {
				return true
			}
		case "message": // Ollama
			if !isEmptyValue(member(value, "content")) {
				return true
			}
		}
	}
	return false
}

// messageAlone returns the message of an object that does not say whether it is an error; nil if it has none, or if it
// may be an answer.
func messageAlone(value gjson.Result) *ServerError {
	if !value.IsObject() || answerKeys.MatchString(value.Raw) {
		return nil
	}
	fields := errorFieldsIn(value)
	if fields.message.Str == "" {
		return nil
	}
	return fields.serverError()
}

// errorFields are the values of an object that may be an error, or contain one. [gjson.Result.Exists] says which of
// them the object has.
type errorFields struct {
	error, errors, fault, baseResp, detail gjson.Result // may contain one
	kind, errorType, awsType, object       gjson.Result // its type, or "error"
	code, errorCode, statusCode            gjson.Result
	message, description                   gjson.Result
	title, status, success                 gjson.Result

	exception     string // a key that is the name of an exception
	exceptionBody gjson.Result
	choiceError   gjson.Result // the error in a choice, or in its delta
}

// errorFieldsIn returns the values of an object. Of several names of one field, the last one that has content counts.
func errorFieldsIn(object gjson.Result) *errorFields {
	f := &errorFields{}
	for key, value := range fieldsOf(object) {
		name := strings.ToLower(key)
		field := f.field(name, value)
		switch {
		case field != nil && (!field.Exists() || !isEmptyValue(value)):
			*field = value
		case field == nil && strings.HasSuffix(key, "Exception") && value.IsObject():
			f.exception = key
			f.exceptionBody = value
		case name == "response" || name == "responsemetadata": // Tencent; Volcengine
			for inner, failure := range fieldsOf(value) {
				if strings.EqualFold(inner, "error") && !isEmptyValue(failure) {
					f.error = failure
				}
			}
		}
	}
	choice := firstElement(member(object, "choices"))
	f.choiceError = member(choice, "error")
	if isEmptyValue(f.choiceError) {
		f.choiceError = member(choice, "delta", "error")
	}
	return f
}

// field returns where the value of a key belongs; nil if it says nothing of an error. The key is in lower case.
func (f *errorFields) field(key string, value gjson.Result) *gjson.Result {
	switch key {
	case "error", "err", "exception", "error_info", "errorinfo":
		return &f.error
	case "errors":
		return &f.errors
	case "fault":
		return &f.fault
	case "base_resp":
		return &f.baseResp
	case "detail":
		return &f.detail
	case "type":
		return &f.kind
	case "error_type", "errortype":
		return &f.errorType
	case "__type":
		return &f.awsType
	case "object", "event":
		return &f.object
	case "code":
		return &f.code
	case "error_code", "errorcode", "errcode", "err_code":
		return &f.errorCode
	case "status_code", "statuscode", "http_status_code", "http_code":
		return &f.statusCode
	case "message", "msg", "status_msg", "faultstring":
		return &f.message
	case "error_msg", "errormsg", "error_message", "errormessage", "errmsg", "err_msg":
		if value.IsObject() { // Tencent
			return &f.error
		}
		return &f.message
	case "error_description", "reason", "description":
		return &f.description
	case "title":
		return &f.title
	case "status":
		return &f.status
	case "success", "ok":
		return &f.success
	}
	return nil
}

// anyCode returns the object's code, or that of its status.
func (f *errorFields) anyCode() string {
	status := textIn(f.status)
	if !isNumber(status) {
		status = ""
	}
	return cmp.Or(textIn(f.errorCode), textIn(f.code), textIn(f.statusCode), status)
}

// serverError returns the object itself as an error.
func (f *errorFields) serverError() *ServerError {
	e := &ServerError{}

	e.Type = cmp.Or(textIn(f.kind), textIn(f.errorType), textIn(f.awsType))
	status := textIn(f.status)
	if e.Type == "" && !isNumber(status) { // Google
		e.Type = status
	}
	saysNothing := strings.HasPrefix(e.Type, "about:") || slices.Contains(failureStatuses, e.Type)
	if saysNothing {
		e.Type = ""
	}
	e.Type = shorten(e.Type[strings.LastIndexByte(e.Type, '#')+1:]) // AWS: namespace#Type

	code := f.anyCode()
	if isFailureCode(code) {
		e.Code = shorten(code)
	}
	if !isEmptyValue(f.errorCode) {
		e.vendor = baiduCodes[code]
	}

	title := textIn(f.title)
	detail := textIn(f.detail)
	e.Message = cmp.Or(textIn(f.message), textIn(f.description), title)
	if e.Message == "" && !isEmptyValue(f.message) && !answerKeys.MatchString(f.message.Raw) { // Mistral
		e.Message = f.message.Raw
	}
	if title != "" && detail != "" { // RFC 9457
		e.Message = title + ": " + detail
	}
	e.Message = shorten(e.Message)
	return e
}

// saysFailure reports whether the object says of itself that it is an error.
func (f *errorFields) saysFailure() bool {
	status := textIn(f.status)
	hasFailed := slices.Contains(failureStatuses, strings.ToLower(status)) || f.success.Type == gjson.False
	switch {
	case f.kind.Str == "error", f.object.Str == "error", isFailureCode(textIn(f.errorCode)):
		return true
	case hasFailed && !isEmptyValue(f.message):
		return true
	case !isEmptyValue(f.title) && isNumber(status): // RFC 9457
		return isFailureCode(status)
	}
	return false
}

// failureStatuses are words for a failure in a status or a type. The list is only read.
var failureStatuses = []string{"error", "fail", "failed", "failure"}

// orText returns e. If e has no words, its message becomes the start of the object.
func (e *ServerError) orText(object gjson.Result) *ServerError {
	switch {
	case e.Type != "" || e.Code != "" || e.Message != "":
	case answerKeys.MatchString(object.Raw):
		e.Message = fmt.Sprintf("%d bytes", len(object.Raw))
	default:
		e.Message = shorten(object.Raw)
	}
	return e
}

// errorIn returns the error in the value of one of the object's keys, with what the object around it says; nil if the
// value says that there is none. depth is that of [readError].
func (f *errorFields) errorIn(value gjson.Result, depth int) *ServerError {
	outer := f.serverError()
	switch {
	case value.Type == gjson.True: // {"error":true,"message":"…"}
		return outer
	case isNumber(value.Raw) && outer.Message != "": // {"error":429,"message":"…"}
		outer.Code = cmp.Or(outer.Code, value.Raw)
		return outer
	}
	inner := readError(value, depth)
	if inner == nil {
		return nil
	}
	areTwoTexts := value.Type == gjson.String && outer.Message != ""
	isWord := !strings.ContainsAny(inner.Message, " \n")
	switch {
	case areTwoTexts && isWord: // {"error":"rate_limited","message":"…"}
		inner.Type = inner.Message
		inner.Message = outer.Message
	case areTwoTexts && strings.Contains(outer.Message, inner.Message):
		inner.Message = outer.Message
	case areTwoTexts && !strings.Contains(inner.Message, outer.Message): // Spring: {"error":"Internal Server Error",…}
		inner.Message = shorten(inner.Message + ": " + outer.Message)
	}
	inner.Type = cmp.Or(inner.Type, outer.Type)
	inner.Code = cmp.Or(inner.Code, outer.Code)
	inner.Message = cmp.Or(inner.Message, outer.Message)
	inner.vendor = cmp.Or(inner.vendor, outer.vendor)
	return inner
}

// deepestError is how many objects and lists may lie around an error.
const deepestError = 4

// readError reads the value of a key that holds an error: an object, a text, a list, or anything. It is nil if the
// value says that there is none. depth is how many objects and lists lie around the value, without the first.
func readError(value gjson.Result, depth int) *ServerError {
	switch {
	case !value.Exists():
		return nil
	case value.IsArray() && depth < deepestError:
		return readErrors(value, depth)
	case !value.IsObject():
		words := textIn(value)
		if isSuccess(words) {
			return nil
		}
		return &ServerError{Message: shorten(words)}
	}
	f := errorFieldsIn(value)
	if !isEmptyValue(f.error) && depth < deepestError { // an error within an error
		return f.errorIn(f.error, depth+1)
	}
	own := f.serverError()
	own.Code = cmp.Or(own.Code, textIn(member(f.detail, "errorcode")))            // Apigee
	own.Type = cmp.Or(own.Type, textIn(member(firstElement(f.errors), "reason"))) // Google, older
	hasWords := !isEmptyValue(f.code) || !isEmptyValue(f.message)
	switch {
	case hasWords && isSuccess(own.Code) && isSuccess(own.Message) && isSuccess(own.Type):
		return nil
	case own.Message == "" && !isEmptyValue(f.errors) && depth < deepestError:
		return f.errorIn(f.errors, depth+1)
	}
	raw := textIn(member(value, "metadata", "raw")) // OpenRouter: the provider's words
	switch {
	case own.Message == "":
		own.Message = shorten(raw)
	case raw != "":
		own.Message = shorten(own.Message + ": " + raw)
	}
	return own.orText(value)
}

// readErrors reads a list of errors: the first one, and of FastAPI's validation where each fault lies.
func readErrors(list gjson.Result, depth int) *ServerError {
	var faults []string
	for fault := range elementsOf(list) {
		var place []string
		for step := range elementsOf(member(fault, "loc")) {
			place = append(place, step.String())
		}
		message := textIn(member(fault, "msg"))
		if len(place) > 0 && message != "" {
			faults = append(faults, strings.Join(place, ".")+": "+message)
		}
	}
	if len(faults) > 0 {
		return &ServerError{Message: shorten(strings.Join(faults, "; "))}
	}
	return readError(firstElement(list), depth+1)
}

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
