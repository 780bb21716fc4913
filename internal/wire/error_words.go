package wire

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// This file has the keys, words and codes by which error.go finds and understands an error.

// field returns where the value of a key belongs; nil if it says nothing of an error.
func (f *errorFields) field(key string) *gjson.Result {
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
	case "message", "msg", "error_msg", "errormsg", "error_message", "errormessage", "errmsg", "err_msg",
		"status_msg", "faultstring":
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

// isProxyError reports whether a text is one with which a router or a proxy ends a stream.
func isProxyError(data []byte) bool {
	for _, prefix := range proxyErrorPrefixes {
		start := data[:min(len(data), len(prefix))]
		if strings.EqualFold(string(start), prefix) {
			return true
		}
	}
	return false
}

// proxyErrorPrefixes are the beginnings of plain texts with which routers and proxies end a stream. Any other text may
// be a part of an answer, which no error repeats. The list is only read.
var proxyErrorPrefixes = []string{
	"inference error", "error", "[error", "internal error", "internal server error", // llm-d's router; many others
	"upstream ", "no healthy upstream", "stream timeout", "stream idle timeout", // Envoy
	"bad gateway", "gateway timeout", "service unavailable", "too many requests",
}

// failureWords matches words that servers use for failures.
var failureWords = regexp.MustCompile(`(?i)\b(errors?|exceptions?|fail(s|ed|ure)?|invalid|must( not)? be|unable to` +
	`|(service|temporarily|currently) unavailable|unavailable|unauthori[sz]ed|forbidden|(access|permission) denied` +
	`|refused|rejected|exceed(s|ed)|rate limit\w*|quota|time(d )?-?out|overload(ed)?|crashed|aborted` +
	`|not (found|allowed|supported|available|ready)|upstream|try again|no (available|healthy)|server (is )?busy)\b`)

// botoThrottled matches the words of AWS's client, which gateways before Bedrock pass on with the code 500.
var botoThrottled = regexp.MustCompile(`An error occurred \((Throttl|TooManyRequests|ServiceQuota)\w*\)`)

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
	"Model is overloaded|Stream event serialization)")

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
