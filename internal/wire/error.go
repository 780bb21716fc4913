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

// A ServerError is what a server said of a failure, in whatever shape: an object, words, a page or a header. The words
// by which errors are understood are in error_words.go.
type ServerError struct {
	Type    string // the server's class of error; may be empty
	Code    string // the server's code, often an HTTP status; may be empty
	Message string // text for humans, at most 300 bytes; may be empty

	vendor ErrorClass // what the code means to the one vendor that writes errors in this shape
}

// Error returns the server's own words.
func (e *ServerError) Error() string { return e.words("") }

// words returns the server's own words, for a text that has its HTTP status already.
func (e *ServerError) words(status string) string {
	isRepeated := func(s string) bool { return s == "" || s == status }
	parts := slices.DeleteFunc([]string{e.Type, e.Code, e.Message}, isRepeated)
	parts = slices.Compact(parts)
	if len(parts) == 0 {
		return "an error without a text"
	}
	return strings.Join(parts, ": ")
}

// An ErrorClass is what an error says of whose fault it is. The set is closed.
type ErrorClass int

// The classes of errors.
const (
	OtherError     ErrorClass = iota // the server's own fault, as far as is known
	InvalidRequest                   // the request's: had the stream not begun, the status would be 400, 404 or 422
	BadCredentials                   // the key, or what it may use
	RateLimit                        // the rate, the quota or the balance of the key
	ContentFilter                    // the prompt or the answer, by the judgement of a filter
	Overload                         // the server has too much to do
)

// Class returns whose fault an error within a stream is, or in a body with a status of success. The code 503 does not
// say overload: an engine may have died.
func (e *ServerError) Class() ErrorClass {
	byWords := e.ClassOfWords()
	byStatus := classOfStatus[e.Code]
	_, tooLong := TooLong([]byte(e.Message))
	switch {
	case byWords != OtherError:
		return byWords
	case modelOverloaded.MatchString(e.Message):
		return Overload
	case tooLong:
		return InvalidRequest
	case byStatus == InvalidRequest && tgiFailure.MatchString(e.Message):
		return OtherError
	case byStatus != OtherError:
		return byStatus
	case invalidType.MatchString(e.Type), invalidType.MatchString(e.Code):
		return InvalidRequest
	case len(e.Code) == 3 && e.Code[0] == '5' && isNumber(e.Code):
		return OtherError
	}
	return classIn(messagePatterns, e.Message)
}

// ClassOfWords returns whose fault an error is by the words of its type and code, which are right where a status is
// misleading; OtherError if they do not say.
func (e *ServerError) ClassOfWords() ErrorClass {
	switch {
	case e.vendor != OtherError:
		return e.vendor
	case botoThrottled.MatchString(e.Message):
		return RateLimit
	}
	code := e.Code
	if e.Type == "" && code == "" && !strings.Contains(e.Message, " ") {
		code = e.Message // a text of one word is a code: {"error":"over_capacity"}
	}
	return max(classIn(codePatterns, code), classIn(codePatterns, e.Type))
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
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) // a byte order mark
	data = errorPrefix.ReplaceAll(eventData(data), nil)
	data = bytes.TrimLeft(data, " ")
	value, isJSON := parseJSON(data)
	if !isJSON && bytes.HasPrefix(data, []byte("{")) { // something may be glued to its end
		var first json.RawMessage
		err := json.NewDecoder(bytes.NewReader(data)).Decode(&first)
		if err != nil {
			return nil
		}
		value, isJSON = parseJSON(first)
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

// ParseErrorEvent reads the data of an event that is called an error, whatever they are.
func ParseErrorEvent(data []byte) *ServerError {
	e := ParseError(data)
	switch {
	case e != nil:
		return e
	case MayBeAnswer(data):
		return &ServerError{Message: fmt.Sprintf("%d bytes", len(data))}
	}
	return &ServerError{Message: Describe(data, "")}
}

// ParseWords reads an error that is not a JSON text: a page, or plain words in place of an answer. It returns nil for
// words that may be a part of an answer.
func ParseWords(text []byte) *ServerError {
	text = bytes.TrimSpace(text)
	isPython := bytes.Contains(text, []byte("'error")) // as Python prints an object
	namesError := isPython || bytes.Contains(text, []byte(`"error`))
	isCutJSON := bytes.HasPrefix(text, []byte("{")) && namesError && !MayBeAnswer(text)
	isWords := len(text) > 0 && text[0] != '{' && text[0] != '[' && failureWords.Match(text)
	if isCutJSON || isWords || IsPage(text) || isProxyError(text) {
		return &ServerError{Message: Describe(text, "")}
	}
	return nil
}

// ParseBody reads the error in a body with a status of success that should have been a stream: an error object, or a
// short text that complains. It returns nil for anything else, such as a page.
func ParseBody(body []byte) *ServerError {
	const longestText = 300 // bytes; more may be an answer
	e := ParseError(body)
	if e == nil && len(body) <= longestText && !IsPage(body) {
		e = ParseWords(body)
	}
	return e
}

// HeaderError reads the error that a header with canonical keys names; nil if there is none. AWS puts the class of an
// error there, and servers of OAuth 2.0 (RFC 6750) all that they say.
func HeaderError(header map[string][]string) *ServerError {
	for _, kind := range header["X-Amzn-Errortype"] { // Kind:http://… or namespace#Kind
		kind, _, _ = strings.Cut(kind, ":")
		kind = kind[strings.LastIndexByte(kind, '#')+1:]
		if kind != "" {
			return &ServerError{Type: shorten(kind)}
		}
	}
	e := &ServerError{}
	challenges := strings.Join(header["Www-Authenticate"], ", ")
	for _, field := range bearerError.FindAllStringSubmatch(challenges, -1) {
		if field[1] == "" {
			e.Type = shorten(field[2])
		} else {
			e.Message = shorten(field[2])
		}
	}
	if *e == (ServerError{}) {
		return nil
	}
	return e
}

// bearerError matches a field of a challenge that says what is wrong.
var bearerError = regexp.MustCompile(`\berror(_description)?="([^"]*)"`)

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
	case !isEmptyValue(f.error):
		return f.nested(f.error, 0)
	case !isEmptyValue(f.choiceError): // OpenRouter
		return readError(f.choiceError, 0)
	case !isEmptyValue(f.errors):
		return f.nested(f.errors, 0)
	case !isEmptyValue(f.baseResp): // MiniMax; a status of success among other keys
		e := errorFieldsIn(f.baseResp).serverError()
		if !isFailureCode(e.Code) {
			return nil
		}
		e.vendor = minimaxCodes[e.Code]
		return e
	case !isEmptyValue(f.fault): // Apigee
		return f.nested(f.fault, 0)
	case f.exception != "": // Bedrock
		own = cmp.Or(readError(f.exceptionBody, 0), own)
		own.Type = shorten(f.exception)
		return own
	case f.saysFailure():
		return own.orText(value)
	case isFailureCode(f.anyCode()) && !isSuccess(own.Message), !isEmptyValue(f.awsType):
		return own
	case !isEmptyValue(f.detail):
		return f.nested(f.detail, 0)
	case own.Type == "" && failureWords.MatchString(own.Message): // a message alone
		return own
	}
	return nil
}

// messageAlone reads an object that has a message, and nothing else that says that it is an error; nil for others.
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

// errorFields are the values of an object that may be an error, or contain one. A value that is absent does not exist.
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
		field := f.field(name)
		if field == &f.message && value.IsObject() && strings.Contains(name, "err") { // Tencent
			field = &f.error
		}
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
	title := textIn(f.title)
	detail := textIn(f.detail)
	status := textIn(f.status)
	e := &ServerError{
		Type:    cmp.Or(textIn(f.kind), textIn(f.errorType), textIn(f.awsType)),
		Code:    f.anyCode(),
		Message: cmp.Or(textIn(f.message), textIn(f.description), title),
	}
	if e.Message == "" && !isEmptyValue(f.message) && !answerKeys.MatchString(f.message.Raw) { // Mistral
		e.Message = f.message.Raw
	}
	if title != "" && detail != "" { // RFC 9457
		e.Message = title + ": " + detail
	}
	if e.Type == "" && !isNumber(status) { // Google
		e.Type = status
	}
	if strings.HasPrefix(e.Type, "about:") || slices.Contains(failureStatuses, e.Type) {
		e.Type = ""
	}
	e.Type = e.Type[strings.LastIndexByte(e.Type, '#')+1:] // AWS: namespace#Type
	if isSuccess(e.Code) {
		e.Code = ""
	}
	if !isEmptyValue(f.errorCode) {
		e.vendor = baiduCodes[e.Code]
	}
	e.Type = shorten(e.Type)
	e.Code = shorten(e.Code)
	e.Message = shorten(e.Message)
	return e
}

// orText returns e, with the start of the object as its message if e has no words.
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

// saysFailure reports whether the object says of itself that it is an error.
func (f *errorFields) saysFailure() bool {
	status := textIn(f.status)
	isProblem := !isEmptyValue(f.title) && isNumber(status) && isFailureCode(status) // RFC 9457
	isFailed := slices.Contains(failureStatuses, strings.ToLower(status)) || f.success.Type == gjson.False
	hasMessage := !isEmptyValue(f.message)
	return f.kind.Str == "error" || f.object.Str == "error" || isFailureCode(textIn(f.errorCode)) ||
		isFailed && hasMessage || isProblem
}

// failureStatuses are words for a failure in a status or a type. The list is only read.
var failureStatuses = []string{"error", "fail", "failed", "failure"}

// nested returns the error in the value of a key, with what the object around it says; nil if the value says that there
// is none. depth is that of [readError].
func (f *errorFields) nested(value gjson.Result, depth int) *ServerError {
	outer := f.serverError()
	switch {
	case value.Type == gjson.True:
		return outer
	case isNumber(value.Raw) && outer.Message != "":
		outer.Code = cmp.Or(outer.Code, value.Raw)
		return outer
	}
	inner := readError(value, depth)
	if inner == nil {
		return nil
	}
	isWord := !strings.ContainsAny(inner.Message, " \n")
	switch {
	case value.Type != gjson.String || outer.Message == "":
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
		return f.nested(f.error, depth+1)
	}
	own := f.serverError()
	own.Code = cmp.Or(own.Code, textIn(member(f.detail, "errorcode")))            // Apigee
	own.Type = cmp.Or(own.Type, textIn(member(firstElement(f.errors), "reason"))) // Google, older
	hasSaid := !isEmptyValue(f.code) || !isEmptyValue(f.message)
	switch {
	case hasSaid && isSuccess(own.Code) && isSuccess(own.Message) && isSuccess(own.Type):
		return nil
	case own.Message == "" && !isEmptyValue(f.errors) && depth < deepestError:
		return f.nested(f.errors, depth+1)
	}
	raw := textIn(member(value, "metadata", "raw")) // OpenRouter: the provider's words
	if raw != "" {
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
