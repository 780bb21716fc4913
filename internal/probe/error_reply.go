package probe

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// badStatus returns the verdict on a response whose status is not a success, and on what its body says.
func (t *Transport) badStatus(resp *http.Response, body []byte) verdict {
	proxy, _ := t.route.proxyOf(resp.Request)
	v, ok := proxy.answered(resp)
	if ok {
		return v
	}
	status := resp.StatusCode
	detail := wire.Describe(body, strconv.Itoa(status))
	inHeader := wire.HeaderError(resp.Header)
	if inHeader != nil && (detail == "" || inHeader.Message == "") { // the words of OAuth are those of the body again
		detail = join(inHeader.Error(), detail)
	}
	inReply := reasonInReply(status, body)

	// A gateway may have answered in place of the server, because it has none left to ask or for a reason of its own.
	gateway := gatewayOf(resp, body)
	hasNoBackend := status == http.StatusServiceUnavailable && ownFailure.MatchString(gateway)
	dropped := resp.Header.Get("X-Llm-D-Request-Dropped-Reason") // llm-d's router
	if plainName.MatchString(dropped) {
		detail = join(detail, dropped)
		hasNoBackend = hasNoBackend || strings.HasSuffix(dropped, "no-endpoints")
	}
	switch {
	case inReply == "" && hasNoBackend:
		inReply = ReasonNoBackendLeft
	case inReply == "" && gateway != "":
		inReply = ReasonAnsweredByGateway
	}
	switch inReply {
	case ReasonNoBackendLeft, ReasonModelStillLoading:
		detail = join(noServerText(inReply), detail)
	case ReasonAnsweredByGateway:
		gateway = cmp.Or(gateway, "a gateway")
		detail = join(gateway+" answered, not the model server", detail)
	}

	why, leadsTo, isRedirection := redirection(resp)
	if isRedirection {
		inReply, detail = why, leadsTo
	}

	text := join(fmt.Sprintf("HTTP %d", status), detail)
	outcome := outcomeOf(status, body, inHeader, inReply)
	v = failure(outcome, statusReason(inReply, outcome, status, text), "%s", text)
	v.status = status
	asksForPause := status == http.StatusServiceUnavailable || outcome == RateLimited || outcome == Overloaded
	if asksForPause {
		v.retry = retryAfter(resp.Header)
	}
	return v
}

// errorVerdict returns the verdict on an error that a server wrote although its status is a success: within a stream,
// or in place of an answer; whole is all that the server wrote, if that may be longer than its words in e. Once a token
// came, the request was not at fault.
func errorVerdict(e *wire.ServerError, whole []byte, hasTokens bool) verdict {
	words := whole
	if words == nil {
		words = []byte(e.Error())
	}
	inReply := reasonInReply(http.StatusOK, words)
	class := e.Class()
	switch {
	case inReply == ReasonLongerThanContext && class == wire.OtherError:
		class = wire.InvalidRequest
	case inReply.isNoServerLeft():
		return failure(ServerError, inReply, "%s: %w", noServerText(inReply), e)
	case e.Code == strconv.Itoa(http.StatusPaymentRequired): // as with that status
		return failure(Rejected, ReasonNoQuotaOrCreditLeft, "%w", e)
	case wire.BadKey(words):
		class = wire.BadCredentials
	}
	outcome := ServerError
	switch {
	case class == wire.RateLimit:
		outcome = RateLimited
	case class == wire.BadCredentials:
		outcome = Unauthorized
	case class == wire.ContentFilter:
		outcome = Filtered
	case class == wire.Overload:
		outcome = Overloaded
	case class == wire.InvalidRequest && !hasTokens:
		outcome = Rejected
	}
	// The words tell why a request was rejected, and that no credit is left. Else they are about a failure that began
	// with a good answer.
	isRejection := outcome == Rejected && inReply != ReasonAnsweredByGateway
	hasNoCredit := outcome == RateLimited && inReply == ReasonNoQuotaOrCreditLeft
	if !isRejection && !hasNoCredit {
		inReply = ""
	}
	return failure(outcome, statusReason(inReply, outcome, http.StatusOK, e.Error()), "%w", e)
}

// withMissingModel says in a verdict on a 404 what was not found, where that is certain: a server that has answered
// before no longer serves the model, and one that lists no model serves none. Host, path and key are right then.
func (x *exchange) withMissingModel(v verdict) verdict {
	known, model := x.question.known, x.result.Model
	switch {
	case v.reason == ReasonModelNotFound && x.question.isListed && !known.Worked:
		v.reason = ReasonListedModelNotServed
		v.err = fmt.Errorf("model %s is the first that the server lists: %w", model, v.err)
	case x.result.Status != http.StatusNotFound || v.reason == ReasonNoModelLoaded:
	case known.Worked && model != "":
		v.reason = ReasonModelGone
		v.err = fmt.Errorf("the server no longer serves model %s: %w", model, v.err)
	case known.Worked:
		v.reason = ReasonModelGone
		v.err = fmt.Errorf("the server no longer serves its model: %w", v.err)
	case known.NoModel:
		v.reason = ReasonNoModelLoaded
		v.err = fmt.Errorf("the server serves no model: %w", v.err)
	}
	return v
}

// withRejectedField says in a verdict which field of the user's own a server rejects, if its words name one and nothing
// else is known of why it rejects the request. Python's servers fail with 500 if they do not know one.
func (x *exchange) withRejectedField(v verdict) verdict {
	mayBeField := v.reason == ReasonRequestRejected || wire.UnknownArgument(x.result.rejected)
	if !mayBeField {
		return v
	}
	field := x.question.Ask.Body.NamedField(x.result.rejected)
	if field != "" {
		v.reason = ReasonFieldOfBodyRejected
		v.err = fmt.Errorf("field %s of body: %w", field, v.err)
	}
	return v
}

// noServerText says that no model server can answer.
func noServerText(why Reason) string {
	if why == ReasonModelStillLoading {
		return "the server is still loading its model"
	}
	return "the gateway has no server left to ask"
}

// join returns two parts of a text; one alone if the other is empty.
func join(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + ": " + second
}

// The statuses that only Cloudflare has: for a server that it does not reach or find, and for one that it got no answer
// from. The lists are only read.
var (
	cloudflareNoBackend = []int{521, 522, 523, 530}
	cloudflareNoAnswer  = []int{520, 524, 525, 526, 527}
)

// reasonInReply returns why a server failed or rejected a request, by its words and by the statuses that say more than
// an outcome; empty if they do not say. [ReasonAnsweredByGateway] then depends on the outcome, see [statusReason]. A
// server that is loading its model does not reject a request for what is in it.
func reasonInReply(status int, reply []byte) Reason {
	isRejection := status >= 400 && status < 500 && status != http.StatusTooManyRequests
	_, isLong := wire.TooLong(reply)
	switch {
	case wire.NoBackend(reply), slices.Contains(cloudflareNoBackend, status):
		return ReasonNoBackendLeft
	case wire.BrokenBackend(reply), slices.Contains(cloudflareNoAnswer, status):
		return ReasonAnsweredByGateway
	case !isRejection && wire.Loading(reply):
		return ReasonModelStillLoading
	case status == http.StatusPaymentRequired, wire.NoCredit(reply):
		return ReasonNoQuotaOrCreditLeft
	case status == http.StatusRequestHeaderFieldsTooLarge:
		return ReasonHeaderTooLong
	case isLong:
		return ReasonLongerThanContext
	case wire.NoTemplate(reply):
		return ReasonNoChatTemplate
	case wire.WrongModel(reply):
		return ReasonModelNotFound
	case wire.LongHeader(reply):
		return ReasonHeaderTooLong
	case wire.WantsHeader(reply):
		return ReasonHeaderMissing
	case wire.WantsTLS(reply):
		return ReasonPortSpeaksTLS
	case wire.WantsCertificate(reply):
		return ReasonClientCertificateMissing
	}
	return ""
}

// outcomeOf returns what an answer without success means: by its status, except where its words or those in its header
// say that this is misleading.
func outcomeOf(status int, body []byte, inHeader *wire.ServerError, inReply Reason) Outcome {
	class := wire.OtherError
	e := wire.ParseError(body)
	if e == nil {
		e = inHeader
	}
	if e != nil && status != http.StatusPaymentRequired {
		class = e.ClassOfWords()
	}
	switch {
	case wire.BadKey(body), inReply.isLogin():
		return Unauthorized
	case inReply.isNoServerLeft(), wire.BrokenBackend(body):
		return ServerError
	case class == wire.ContentFilter:
		return Filtered
	case status == http.StatusServiceUnavailable, status == 529: // 529: Anthropic, overloaded
		return Overloaded
	case class == wire.RateLimit:
		return RateLimited
	case class == wire.BadCredentials, status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Unauthorized
	case class == wire.Overload: // Moonshot, with 429
		return Overloaded
	case status == http.StatusTooManyRequests:
		return RateLimited
	case status == http.StatusRequestTimeout, status == http.StatusFailedDependency, // Ray Serve; TGI
		status == 499, status >= 500:
		return ServerError
	}
	return Rejected
}

var quotaWords = regexp.MustCompile(`(?i)quota|usage.?limit|\bper.?day\b|\bdaily\b`)

// statusReason returns the reason of an answer that is an error, of an outcome: what its words say or, if that is
// nothing, what status and outcome say.
func statusReason(inReply Reason, outcome Outcome, status int, text string) Reason {
	isOfGateway := inReply == ReasonAnsweredByGateway
	if inReply != "" && !isOfGateway {
		return inReply
	}
	switch outcome {
	case Unauthorized:
		if status == http.StatusForbidden {
			return ReasonAccessDenied
		}
		return ReasonKeyRejected
	case RateLimited:
		switch {
		case isOfGateway:
			return ReasonRateLimitOfGateway
		case quotaWords.MatchString(text):
			return ReasonQuotaExhausted
		}
		return ReasonRateLimitReached
	case Filtered:
		return ReasonContentFilter
	case Overloaded:
		if isOfGateway {
			return ReasonAnsweredByGateway
		}
		return ReasonServerOverloaded
	case Rejected:
		return rejectedReason(status)
	}
	return serverErrorReason(status, isOfGateway)
}

// rejectedReason returns what a status says of a request that was rejected.
func rejectedReason(status int) Reason {
	switch {
	case status == http.StatusNotFound:
		return ReasonModelOrPathNotFound
	case status == http.StatusMethodNotAllowed:
		return ReasonMethodNotAllowed
	case status == http.StatusRequestEntityTooLarge:
		return ReasonRequestTooLarge
	case status/100 == 3:
		return ReasonRedirected
	}
	return ReasonRequestRejected
}

// serverErrorReason returns what a status says of a server that failed, or of a gateway that got no answer from it.
func serverErrorReason(status int, isOfGateway bool) Reason {
	switch {
	case status == http.StatusGatewayTimeout, status == 524: // Cloudflare's
		return ReasonGatewayTimeout
	case status == 525, status == 526: // Cloudflare's
		return ReasonGatewayGotNoTLS
	case isOfGateway, status == http.StatusBadGateway:
		return ReasonGatewayGotNoAnswer
	case status == http.StatusRequestTimeout:
		return ReasonServerGaveUpWaiting
	case status/100 == 2:
		return ReasonErrorInAnswer
	}
	return ReasonInternalError
}

// gatewayOf returns the name of the gateway that answered in place of the model server: with a page, or with a failure
// without a word. It is empty if the model server may have answered.
func gatewayOf(resp *http.Response, body []byte) string {
	server := resp.Header.Get("Server")
	_, isModelServer := wire.Recognize(wire.Evidence{Answer: true, Header: resp.Header})
	switch {
	case resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests:
		return "" // a login page, or a wrong path
	case wire.IsPage(body) && wire.PageServer(body) != "":
		return wire.PageServer(body)
	case isModelServer || frameworks.MatchString(server):
		return ""
	case wire.IsPage(body) && plainName.MatchString(server):
		return server
	case wire.IsPage(body):
		return "a gateway"
	case len(body) == 0 && gateways.MatchString(server) && plainName.MatchString(server):
		return server
	case len(body) == 0 && envoys.MatchString(server) && resp.Header.Get("X-Envoy-Upstream-Service-Time") == "":
		return server
	}
	return ""
}

var (
	// frameworks matches the servers that programs are written with, which may answer with pages as well.
	frameworks = regexp.MustCompile(`(?i)uvicorn|hypercorn|gunicorn|granian|werkzeug|aiohttp|python|tornado|cheroot|llama`)
	// gateways matches gateways that name themselves only in their own answers.
	gateways = regexp.MustCompile(`(?i)^(caddy|awselb|cloudflare|cloudfront)`)
	// envoys matches gateways that name themselves in all answers. Only in answers of the server do they also say how long
	// it took.
	envoys = regexp.MustCompile(`(?i)^(istio-)?envoy$`)
	// plainName matches a name in a header that may be shown as it is.
	plainName = regexp.MustCompile(`^[\w./() -]{1,60}$`)
	// ownFailure matches gateways whose own 503 means that they have no server left to ask.
	ownFailure = regexp.MustCompile(`(?i)^(caddy|awselb)`)
)

// redirection returns where an answer redirects to, and the reason in that; ok is false if it does not redirect, or not
// to a URL.
func redirection(resp *http.Response) (why Reason, text string, ok bool) {
	to, err := resp.Location()
	if resp.StatusCode/100 != 3 || err != nil {
		return "", "", false
	}
	switch {
	case loginPath.MatchString(to.Path) && !loginPath.MatchString(resp.Request.URL.Path):
		why = ReasonRedirectedToLogin
	case isElsewhere(to, resp.Request):
		why = ReasonRedirectedToAnotherHost
	}
	shown := url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path} // the rest may hold a secret
	return why, fmt.Sprintf("redirected to %s; probes do not follow redirects", shown.String()), true
}

// isElsewhere reports whether a URL leads to another host than a request asked, by URL or Host header: that is where
// gateways send a client that has to log in. A host and its www are the same.
func isElsewhere(to *url.URL, req *http.Request) bool {
	name := func(host string) string { return strings.TrimPrefix(strings.ToLower(host), "www.") }
	asked := url.URL{Host: req.Host}
	return name(to.Hostname()) != name(req.URL.Hostname()) && name(to.Hostname()) != name(asked.Hostname())
}

// loginPath matches a path that has a part of the name of a page to log in.
var loginPath = regexp.MustCompile(`(?i)(^|/)(log[_-]?in|sign[_-]?in|sso|saml2?|oidc|oauth2?|authorize|auth)(/|\.|$)`)

// retryAfter returns the pause that a server asks for; 0 if it does not: seconds, a date (RFC 9110, section 10.2.3) or
// milliseconds.
func retryAfter(header http.Header) time.Duration {
	const year = 365 * 24 * time.Hour
	for _, field := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		n, err := strconv.ParseFloat(strings.TrimSpace(header.Get(field.name)), 64)
		if err == nil && n >= 0 {
			return time.Duration(min(n, float64(year/field.unit)) * float64(field.unit))
		}
	}
	at, err := http.ParseTime(header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return max(0, time.Until(at))
}
