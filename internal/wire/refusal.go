package wire

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file reads why a server refused a request, where its status and the class of its error do not say. Each question
// is asked of the words of the whole reply, and is a function with its pattern. It does not matter who refused and with
// which status, unless a function says so.

// start returns the part of a reply in which words are looked for. What a server sends may be megabytes, and to match a
// pattern takes about a millisecond for each KiB at worst.
func start(reply []byte) []byte {
	const longest = 16 << 10 // bytes
	return reply[:min(len(reply), longest)]
}

// Limits are how many tokens a server takes at most; 0 where it does not say.
type Limits struct {
	Context int // of prompt and answer together
	Input   int // of the prompt alone
}

// Or returns l, with the limits of other where l has none.
func (l Limits) Or(other Limits) Limits {
	return Limits{Context: cmp.Or(l.Context, other.Context), Input: cmp.Or(l.Input, other.Input)}
}

// MinContext is the shortest context of any known server, in tokens. A smaller limit that a server reports is the limit
// of something else.
const MinContext = 512

// TooLong reports whether prompt and answer are too long for the server. It returns the limits that the reply names.
func TooLong(reply []byte) (limits Limits, ok bool) {
	reply = start(reply)
	contexts := tooLong.FindAllSubmatch(reply, -1)
	inputs := tooLongInput.FindAllSubmatch(reply, -1)
	limits = Limits{Context: largestNumber(contexts), Input: largestNumber(inputs)}
	return limits, len(contexts)+len(inputs) > 0
}

// tooLong matches what servers say if prompt and answer do not fit their context. The number that follows is the
// context.
var tooLong = regexp.MustCompile("(?i)(?:context[ _]length|max_model_len|maximum model length|context[ _]?window|" +
	"context[ _]size|n_ctx|prompt is too long[^>]*>|`inputs` tokens \\+ `max_new_tokens` must be <)" +
	`[ :="'\\(isof]*(\d{1,3}(?:,\d{3})+\b|\d+)?|prompt is too long`)

// tooLongInput matches what TGI says of a prompt that is too long by itself. It takes a prompt of exactly that number
// of tokens, in spite of its words.
var tooLongInput = regexp.MustCompile("`inputs` must have less than (\\d+) tokens")

// largestNumber returns the largest number in the first groups of some matches; 0 if there is none.
func largestNumber(matches [][][]byte) int {
	largest := 0
	for _, match := range matches {
		digits := strings.ReplaceAll(string(match[1]), ",", "")
		n, err := strconv.Atoi(digits)
		if err == nil && n <= maxCount {
			largest = max(largest, n)
		}
	}
	return largest
}

// NoTemplate reports whether the model's tokenizer has no chat template, so that it can only be asked for completions.
func NoTemplate(reply []byte) bool { return noTemplate.Match(start(reply)) }

// noTemplate matches the words of TGI, vLLM, SGLang and transformers.
var noTemplate = regexp.MustCompile(`(?i)template not found|must provide a chat template|chat_template is not set`)

// WrongModel reports whether the server does not serve the model that was asked for.
func WrongModel(reply []byte) bool { return wrongModel.Match(start(reply)) }

var wrongModel = regexp.MustCompile(`(?i)invalid model name|server is pinned to|model[ _]not[ _]found` +
	`|not a valid model|unknown model|no such model|\bmodel\b.{0,200}(does not exist|not found)`)

// WantsHeader reports whether the request lacks a header.
func WantsHeader(reply []byte) bool { return wantsHeader.Match(start(reply)) }

var wantsHeader = regexp.MustCompile(`(?i)\bheader is required`) // Portkey

// LongHeader reports whether the header of the request is too long, and not its body.
func LongHeader(reply []byte) bool { return longHeader.Match(start(reply)) }

var longHeader = regexp.MustCompile(`(?i)request header( field)?s?( or cookie)?( fields?)? (is |are )?too ` +
	`(large|long)|size of a request header field exceeds`) // Apache

// NoCredit reports whether the account of the key has nothing left to pay with.
func NoCredit(reply []byte) bool { return noCredit.Match(start(reply)) }

var noCredit = regexp.MustCompile(`(?i)credit balance is too low` + // Anthropic
	`|exceeded your current quota, please check your plan|billing_?(hard_limit|not_active)` + // OpenAI
	`|insufficient[_ ](quota|balance|funds|credits?)|\bmore credits\b|(run )?out of credits?\b` + // OpenRouter
	`|\barrearage\b|requires? payment|payment required`)

// BadKey reports whether the server does not accept the key. Without a database, LiteLLM knows only its master key, and
// answers 400 to all others because it cannot look them up. Gemini answers 400 to a wrong key.
func BadKey(reply []byte) bool { return badKey.Match(start(reply)) }

var badKey = regexp.MustCompile(`no_db_connection|(?i)no connected db` + // LiteLLM
	`|API key not valid|incorrect API key provided`) // Gemini; xAI

// NoBackend reports whether a gateway has no server left to ask. LiteLLM answers 429 once all of them failed, whatever
// the key. An overloaded server does not count, although its words are similar: Envoy says "upstream connect error"
// even for an overflow.
func NoBackend(reply []byte) bool { return noBackend.Match(start(reply)) }

var noBackend = regexp.MustCompile(`(?i)all_deployments_in_cooldown|no deployments? available for` + // LiteLLM
	`|litellm\.\w+:.{0,120}(cannot connect to host|connection error)` +
	`|no server is available to handle this request` + // HAProxy
	`|no healthy (upstream|backend|endpoint|server|worker|replica|instance)s?` + // Envoy; many
	`|no healthy (host|target|provider|deployment)s?` +
	`|upstream connect error.{0,120}(connection failure|connection timeout|connection refused)` + // Envoy
	`|no[ _]available[ _](server|worker|backend|upstream|endpoint|replica|instance|channel|provider|node)s?` + // Traefik
	`|no (server|worker|backend|upstream|endpoint|replica|instance|model|channel|deployment|pod)s? (is |are )?available` +
	`|no (ready|running|live|active|registered) ` +
	`(server|worker|backend|upstream|endpoint|replica|instance|pod|deployment)s?` +
	`|failed to find candidate (pod|endpoint)s?|rejected-no-endpoints` + // the Gateway API's inference extension
	`|has no available endpoints|no upstreams available|there are no (workers|replicas|instances)` +
	`|failure to get a peer from the ring-balancer` + // Kong
	`|\bERR_(CONNECT_FAIL|CANNOT_FORWARD)\b` + // Squid
	`|error(?: code:?)? 52[123]\b|web server is down|origin is unreachable` + // Cloudflare
	`|无可用渠道`) // One API

// BrokenBackend reports whether a gateway's server broke the connection before it answered. Envoy says so with a status
// of overload.
func BrokenBackend(reply []byte) bool { return brokenBackend.Match(start(reply)) }

var brokenBackend = regexp.MustCompile(`upstream connect error.{0,120}reset reason: ` +
	`(connection termination|remote reset|local reset|protocol error)`)

// Loading reports whether the server is still loading its model, and not unable to load it.
func Loading(reply []byte) bool {
	return loading.Match(start(reply)) && !failedLoading.Match(start(reply))
}

var loading = regexp.MustCompile(`(?i)\bloading (the )?model\b` +
	`|\bmodels? .{0,80}\b(is|are) (still |currently |being )*` +
	`(loading|loaded now|launching|initializing|starting|warming up)\b|\bis currently (being )?load(ing|ed)\b` +
	`|\b(still|currently) (being )?load(ing|ed)\b|\bmodel.{0,80} (is )?not (yet )?(ready|loaded)\b|model_?not_?ready` +
	`|\b(server|service|engine) is (still )?(starting( up)?|initializing|warming up|not (yet )?ready)\b`)

var failedLoading = regexp.MustCompile(`(?i)\b(error|errors|failed|failure|unable|cannot|could not|crashed|timed out)` +
	`( to| while| when| in| during| after)? load|\bload(ing)?\b[^",]{0,80}\b(failed|error|crashed)\b`)

// WantsTLS reports whether the port speaks TLS, and was asked without.
func WantsTLS(reply []byte) bool { return wantsTLS.Match(start(reply)) }

var wantsTLS = regexp.MustCompile(`(?i)plain HTTP request was sent to (the )?HTTPS port` + // nginx
	`|sent an HTTP request to an HTTPS server` + // Go
	`|speaking plain HTTP to an SSL-enabled server port` + // Apache
	`|combination of host and port requires TLS`) // Tomcat

// WantsCertificate reports whether the client has to show a certificate.
func WantsCertificate(reply []byte) bool { return wantsCertificate.Match(start(reply)) }

var wantsCertificate = regexp.MustCompile(`(?i)no required SSL certificate was sent` + // nginx
	`|the SSL certificate error` + // nginx
	`|client certificate (is )?(required|missing|not (provided|presented))|certificate required`)

// UnknownArgument reports whether a function of the server does not know an argument. LiteLLM and others hand the
// fields of a request to a function, and answer 500 to a field that it does not know.
func UnknownArgument(reply []byte) bool { return unknownArgument.Match(start(reply)) }

// unknownArgument matches Python's TypeError, and pydantic's words for the same.
var unknownArgument = regexp.MustCompile(`(?i)unexpected keyword argument`)

// Rejected returns the fields of a request that a reply of 400 or 422 names, without those in omitted. The server does
// not know them, and may answer a request without them.
func Rejected(d *Dialect, reply []byte, omitted []Field) []Field {
	complaint := trailingList.Split(string(reply), 2)[0]
	words := wordPattern.FindAllString(complaint, -1)
	isNamed := func(f Field) bool { return slices.Contains(words, string(f)) || slices.Contains(words, aliases[f]) }
	isSent := func(f Field) bool { return slices.Contains(d.Fields, f) && !slices.Contains(omitted, f) }
	if isSent(FieldMaxCompletionTokens) && duplicateField.MatchString(complaint) {
		return []Field{FieldMaxCompletionTokens}
	}

	// Chat has two names for the limit of an answer. OpenAI wants the second instead of the first, and says it of both.
	// Other complaints that name the first one are about its value.
	areBothNamed := isNamed(FieldMaxTokens) && isNamed(FieldMaxCompletionTokens)
	wantsSecondLimit := areBothNamed && strings.Contains(complaint, "nsupported")

	var rejected []Field
	for _, f := range d.Fields {
		isRejected := isNamed(f)
		switch f { // the three that a complaint may name without rejecting them
		case FieldMaxTokens:
			isRejected = wantsSecondLimit
		case FieldMaxCompletionTokens:
			isRejected = isNamed(f) && !wantsSecondLimit && !strings.Contains(complaint, "too large")
		case FieldStreamOptions: // a complaint about the field within it names both
			isAboutInner := isNamed(FieldContinuousUsage) && isSent(FieldContinuousUsage)
			isRejected = isNamed(f) && !isAboutInner
		}
		if isRejected && isSent(f) {
			rejected = append(rejected, f)
		}
	}
	return rejected
}

var wordPattern = regexp.MustCompile(`\w+`)

// trailingList matches what may follow a complaint: a list of all fields that the server knows (serde), or the request
// (pydantic).
var trailingList = regexp.MustCompile(`expected one of|"input":|'input':|\\"input\\":`)

// duplicateField matches the complaint of a server to which both names of an answer's limit are one field (serde, TGI).
var duplicateField = regexp.MustCompile("duplicate field `(max_tokens|max_completion_tokens)`")

// aliases are the names that some servers know a field by. The table is only read.
var aliases = map[Field]string{
	FieldMinTokens: "min_new_tokens", // SGLang, LMDeploy
	FieldCacheSalt: "extra_key",      // SGLang
}
