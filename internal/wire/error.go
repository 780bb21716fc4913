package wire

import (
	"regexp"
	"slices"
	"strings"
)

// A ServerError is what a server said of a failure, in whatever shape. error_object.go reads it from a JSON object,
// error_text.go from words, a page or a header. This file decides whose fault it is.
type ServerError struct {
	Type    string // the server's class of error; may be empty
	Code    string // the server's code, often an HTTP status; may be empty
	Message string // text for humans, at most 300 bytes; may be empty

	vendor ErrorClass // what Code means to the one vendor that writes errors in this shape; OtherError: nothing
}

// Error returns the server's own words.
func (e *ServerError) Error() string { return e.words("") }

// words returns the server's own words, for a text that has its HTTP status already: the status and what was just said
// are not said again.
func (e *ServerError) words(status string) string {
	var parts []string
	for _, part := range []string{e.Type, e.Code, e.Message} {
		if part != "" && part != status {
			parts = append(parts, part)
		}
	}
	parts = slices.Compact(parts)
	if len(parts) == 0 {
		return "an error without a text"
	}
	return strings.Join(parts, ": ")
}

// An ErrorClass is what an error says of whose fault it is. The set is closed.
type ErrorClass int

// The classes of errors. If the type and the code of an error say different things, the later class in the list counts.
const (
	OtherError     ErrorClass = iota // the server's own fault, as far as is known
	InvalidRequest                   // the request's: had the stream not begun, the status would be 400, 404 or 422
	BadCredentials                   // the key, or what it may use
	RateLimit                        // the rate, the quota or the balance of the key
	ContentFilter                    // the prompt or the answer, by the judgement of a filter
	Overload                         // the server has too much to do
)

// Class returns whose fault an error is that came within a stream, or in a body with a status of success. What is most
// certain is asked first: the words of its type and code, then its message where the code is known to mislead, then the
// code, and last what the message may mean. The code 503 does not say overload: an engine may have died.
func (e *ServerError) Class() ErrorClass {
	byWords := e.ClassOfWords()
	byStatus := classOfStatus[e.Code]
	isServerStatus := len(e.Code) == 3 && e.Code[0] == '5' && isNumber(e.Code)
	_, isTooLong := TooLong([]byte(e.Message))
	switch {
	case byWords != OtherError:
		return byWords
	case modelOverloaded.MatchString(e.Message):
		return Overload
	case isTooLong:
		return InvalidRequest
	case byStatus == InvalidRequest && tgiFailure.MatchString(e.Message):
		return OtherError
	case byStatus != OtherError:
		return byStatus
	case invalidType.MatchString(e.Type), invalidType.MatchString(e.Code):
		return InvalidRequest
	case isServerStatus:
		return OtherError
	}
	return classIn(messagePatterns, e.Message)
}

// ClassOfWords returns whose fault an error is by the words of its type and code, which are right where an HTTP status
// is misleading; [OtherError] if they do not say.
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
	return max(classIn(codePatterns, code), classIn(codePatterns, e.Type)) // of two, the later one in the list of classes
}

// A classPattern matches the words of a class.
type classPattern struct {
	class ErrorClass
	words *regexp.Regexp
}

// classIn returns the class of the first pattern that a text matches; [OtherError] if there is none.
func classIn(patterns []classPattern, text string) ErrorClass {
	for _, p := range patterns {
		if p.words.MatchString(text) {
			return p.class
		}
	}
	return OtherError
}

// codePatterns are words in types and codes of errors: of OpenAI, Azure, Anthropic, Google, AWS and gateways. The list
// is only read.
var codePatterns = []classPattern{
	{ContentFilter, regexp.MustCompile(`(?i)content_?(filter|policy|moderation|blocked)|responsible_?ai|moderation` +
		`|data_?inspection_?failed|prohibited_?content|sensitive|safety|guardrail|prompt_?(blocked|shield)|^1301$`)},
	{RateLimit, regexp.MustCompile(`(?i)rate_?-?limit|too_?-? ?many_?-? ?requests|quota|throttl|resource.{0,20}exhausted` +
		`|request_?limit_?exceeded|insufficient_?(balance|funds|credits?)|^limit_(requests|burst)|usage_?limit|arrearage` +
		`|billing|^(1113|1302|1303|1305|1308)$`)}, // the numbers are Zhipu's
	{BadCredentials, regexp.MustCompile(`(?i)unauthori[sz]ed|unauthenticated|authentication|authorization_?error` +
		`|(invalid|incorrect|missing|expired)_?-?(x-)?(api)?_?-?(key|token)\b|api_?key_?(invalid|expired|missing)` +
		`|permission_?(denied|error)|access_?denied|auth_?failure|forbidden|unrecognized_?client|invalid_?signature`)},
	{Overload, regexp.MustCompile(`(?i)overloaded|overload_?error|server_?busy|over_?capacity|capacity_?exceeded` +
		`|^unavailable$`)},
}

// messagePatterns are words in messages, for errors whose type and code say nothing. The list is only read.
var messagePatterns = []classPattern{
	{ContentFilter, regexp.MustCompile(`(?i)content (filter|management policy|policy violation)|content_filter`)},
	{RateLimit, regexp.MustCompile(`(?i)rate.?limit(ed|s)?\b.{0,30}(exceeded|reached|hit)|exceeded.{0,30}rate.?limit` +
		`|^rate.?limit|too many requests|quota.{0,30}(exceeded|exhausted|reached)|exceeded.{0,40}quota` +
		`|insufficient (quota|balance|credits?)`)},
	{BadCredentials, regexp.MustCompile(`(?i)(invalid|incorrect|missing|wrong|expired|no) (api|access|auth\w*)[ _-]?` +
		`(key|token)|api[ _-]?key.{0,20}(invalid|expired|missing|not valid|incorrect)|^unauthorized\b` +
		`|authentication (failed|fails|required)`)},
	{Overload, regexp.MustCompile(`(?i)(model|server|engine|service) is (currently |temporarily )?overloaded` +
		`|^overloaded\b`)},
}

// botoThrottled matches the words of AWS's client, which gateways before Bedrock pass on with the code 500.
var botoThrottled = regexp.MustCompile(`An error occurred \((Throttl|TooManyRequests|ServiceQuota)\w*\)`)

// modelOverloaded matches what TGI says, with the code 422, Google, and Groq, with the code 503.
var modelOverloaded = regexp.MustCompile(`(?i)^(the )?model is (currently )?overloaded` +
	`|^over_capacity\b|\bis (currently |temporarily )?over capacity`)

// invalidType matches the types and codes of errors that are the request's fault: of OpenAI and Anthropic, of vLLM and
// SGLang, of TGI, of AWS and Google.
var invalidType = regexp.MustCompile(`^(validation|template_error|missing_template_variable|tool_error)$` +
	`|(?i)^bad_?request(error)?$|^invalid_?request|^invalid_?argument$|^not_?found(_?error)?$|^validationexception$` +
	`|^invalid_?param|context_?length|exceed_context|string_above_max|^model_not_found$|unsupported_(value|parameter)`)

// tgiFailure matches the messages of TGI's own failures. On its OpenAI APIs it gives them the code 422, as all others.
var tgiFailure = regexp.MustCompile("^(Request failed during generation|Incomplete generation|" +
	"Stream event serialization)")

// classOfStatus says what a code means that is an HTTP status. The table is only read.
var classOfStatus = map[string]ErrorClass{
	"400": InvalidRequest, "402": InvalidRequest, "404": InvalidRequest, "413": InvalidRequest, "422": InvalidRequest,
	"401": BadCredentials, "403": BadCredentials,
	"429": RateLimit,
	"529": Overload, // Anthropic
}

// minimaxCodes are MiniMax's own codes. The table is only read.
var minimaxCodes = map[string]ErrorClass{
	"1002": RateLimit, "1039": RateLimit, "1041": RateLimit, "2045": RateLimit, "2056": RateLimit,
	"1008": RateLimit, // the balance
	"1004": BadCredentials, "2049": BadCredentials,
	"1026": ContentFilter, "1027": ContentFilter,
	"2013": InvalidRequest,
}

// baiduCodes are Baidu's own codes, under error_code. The table is only read.
var baiduCodes = map[string]ErrorClass{
	"4": RateLimit, "17": RateLimit, "18": RateLimit, "19": RateLimit, "336501": RateLimit, "336502": RateLimit,
	"6": BadCredentials, "13": BadCredentials, "14": BadCredentials, "100": BadCredentials,
	"110": BadCredentials, "111": BadCredentials,
	"336104": InvalidRequest, "336003": InvalidRequest,
}
