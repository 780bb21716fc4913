package probe

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/llm-prober/prober/internal/wire"
)

// The reasons of failures that neither the outcome nor the status tells: the error of a result wraps at most one of
// them, and its hint follows it.
var (
	ErrUnlimited  = errors.New("the server ignores the limit of an answer's length")
	ErrPieces     = errors.New("the server generates long answers in whole pieces")
	ErrTooLong    = errors.New("longer than the server takes")
	ErrNoTemplate = errors.New("the model has no chat template")
	ErrNoModel    = errors.New("the server serves no model")
	ErrModelGone  = errors.New("the server no longer serves the model")

	ErrWrongModel  = errors.New("the server does not serve the model that was asked for")
	ErrWantsHeader = errors.New("the server wants another header")
	ErrLongHeader  = errors.New("the header of the request is too long")
	ErrNoCredit    = errors.New("the account has no credit left")
	ErrNoBackend   = errors.New("the gateway has no server left to ask")
	ErrLoading     = errors.New("the server is still loading its model")
	ErrGateway     = errors.New("a gateway answered, not the model server")
	ErrSpeaksTLS   = errors.New("the port speaks TLS")
	ErrWantsCert   = errors.New("the server wants a client certificate")
	ErrListedModel = errors.New("the server lists a model that it does not serve")
	ErrNothing     = errors.New("stream ended without a token or anything else in it")
	ErrNoFinish    = errors.New("without a finish reason")
	ErrStuck       = errors.New("the HTTP request did not return at its limit")
	ErrEndedEarly  = errors.New("the server ended it early")

	ErrInvalidHTTP   = errors.New("the answer is not valid HTTP")
	ErrHTTPVersion   = errors.New("the server speaks another version of HTTP")
	ErrRefusedStream = errors.New("the server refuses the stream of HTTP/2")
	ErrProxy         = errors.New("a proxy on the way to the server is at fault")
	ErrProxyKey      = errors.New("a proxy on the way to the server wants credentials")
	ErrLogin         = errors.New("a login page answered")
	ErrCoding        = errors.New("the answer's content coding cannot be read")
	ErrNoAnswer      = errors.New("no answer began")
	ErrNoPlainAnswer = errors.New("no answer began to a request without TLS")

	ErrNoSuchName    = errors.New("no resolver knows the name")
	ErrSlowLookup    = errors.New("the name was not resolved in time")
	ErrSlowConnect   = errors.New("no connection was made in time")
	ErrSlowHandshake = errors.New("the TLS handshake did not end in time")
	ErrSlowRequest   = errors.New("the request was not sent in time")
)

// ErrElsewhere is a redirect to another host, which is mostly that of a login page.
var ErrElsewhere = fmt.Errorf("redirected to another host: %w", ErrLogin)

// A reasoned error has a text that may be fit for people where that of its cause is not, and the reason of that.
type reasoned struct {
	text   string
	reason error // one of the above; nil if it is not known
}

func (e reasoned) Error() string { return e.text }
func (e reasoned) Unwrap() error { return e.reason }

// withReason returns err for a reason. A nil reason says nothing.
func withReason(err, reason error) error {
	if reason == nil {
		return err
	}
	return reasoned{err.Error(), reason}
}

// withText returns err in other words, for the same reason.
func withText(err error, text string) error {
	i := slices.IndexFunc(reasons, func(r namedReason) bool { return errors.Is(err, r.reason) })
	if i < 0 {
		return errors.New(text)
	}
	return reasoned{text, reasons[i].reason}
}

// A namedReason is a reason with its name as a label value: words that an alert shows with blanks between them.
type namedReason struct {
	reason error
	name   string // empty: one of [causes]
}

// reasons are the reasons that an error can wrap; the first counts. The list is only read.
var reasons = []namedReason{
	{ErrUnlimited, "answer_beyond_limit"},
	{ErrPieces, "answer_in_pieces"},
	{ErrTooLong, "longer_than_context"},
	{ErrNoTemplate, "no_chat_template"},
	{ErrNoModel, "no_model_loaded"},
	{ErrModelGone, "model_gone"},
	{ErrWrongModel, "model_not_found"},
	{ErrWantsHeader, "header_missing"},
	{ErrLongHeader, "header_too_long"},
	{ErrNoCredit, "no_quota_or_credit_left"},
	{ErrNoBackend, "no_backend_left"},
	{ErrLoading, "model_still_loading"},
	{ErrGateway, ""},
	{ErrSpeaksTLS, "port_speaks_tls"},
	{ErrWantsCert, "client_certificate_missing"},
	{ErrListedModel, "listed_model_not_served"},
	{ErrNothing, "empty_stream"},
	{ErrNoFinish, "no_finish_reason"},
	{ErrStuck, "http_client_stuck"},
	{ErrEndedEarly, "answer_ended_early"},
	{ErrProxy, "proxy_failed"},
	{ErrProxyKey, "proxy_wants_credentials"},
	{ErrElsewhere, "redirected_to_another_host"}, // before what it wraps
	{ErrLogin, "redirected_to_login"},
	{ErrInvalidHTTP, "invalid_http"},
	{ErrHTTPVersion, "wrong_http_version"},
	{ErrRefusedStream, "stream_refused"},
	{ErrCoding, "unreadable_compression"},
	{ErrNoAnswer, "closed_before_answer"},
	{ErrNoPlainAnswer, "closed_before_answer"},
	{ErrNoSuchName, "host_name_not_found"},
	{ErrSlowLookup, "name_lookup_timeout"},
	{ErrSlowConnect, "connect_timeout"},
	{ErrSlowHandshake, "tls_handshake_timeout"},
	{ErrSlowRequest, "request_not_sent_in_time"},
}

// A cause is the reason of results of an outcome, and of those only where it fits; nil: all.
type cause struct {
	outcome Outcome
	fits    func(*Result) bool
	name    string
}

// causes tell the reason of failures whose errors wrap none of [reasons] with a name. Each outcome that is a failure
// has one for all its results; the first that fits counts. The list is only read.
var causes = []cause{
	{DNS, nil, "name_lookup_failed"},

	{Connect, failedFor(syscall.ECONNREFUSED), "connection_refused"},
	{Connect, failedFor(syscall.EHOSTUNREACH, syscall.ENETUNREACH), "host_unreachable"},
	{Connect, failedFor(syscall.ECONNRESET, syscall.EPIPE), "connection_reset"},
	{Connect, failedAs(net.Error.Timeout), "connect_timeout"},
	{Connect, nil, "connection_failed"},

	{TLS, failedAs(isEarly), "certificate_not_yet_valid"},
	{TLS, failedAs(hasExpired), "certificate_expired"},
	{TLS, failedAs[x509.UnknownAuthorityError](nil), "unknown_certificate_authority"},
	{TLS, failedAs[x509.HostnameError](nil), "certificate_for_another_name"},
	{TLS, failedAs[*tls.CertificateVerificationError](nil), "certificate_invalid"},
	{TLS, failedAs[tls.RecordHeaderError](nil), "port_without_tls"},
	{TLS, says(regexp.MustCompile(`tls: certificate required`)), "client_certificate_missing"},
	{TLS, nil, "tls_handshake_failed"},

	{Timeout, undiscovered(true), "no_answer_in_time"},
	{Timeout, func(r *Result) bool { return len(r.Timeline.Frames) > 0 }, "stream_too_slow"},
	{Timeout, func(r *Result) bool { return r.Status > 0 }, "no_token_in_time"},
	{Timeout, nil, "no_answer_in_time"},
	{Stalled, nil, "stream_stalled"},

	{Unauthorized, withStatus(http.StatusForbidden), "access_denied"},
	{Unauthorized, withCredentials(CredentialsNone), "key_missing"},
	{Unauthorized, nil, "key_rejected"},
	{RateLimited, failedFor(ErrGateway), "rate_limit_of_gateway"},
	{RateLimited, says(regexp.MustCompile(`(?i)quota|usage.?limit|\bper.?day\b|\bdaily\b`)), "quota_exhausted"},
	{RateLimited, nil, "rate_limit_reached"},
	{Filtered, nil, "content_filter"},

	{Overloaded, failedFor(ErrGateway), "answered_by_gateway"},
	{Overloaded, nil, "server_overloaded"},

	{Rejected, withStatus(http.StatusNotFound), "model_or_path_not_found"},
	{Rejected, withStatus(http.StatusMethodNotAllowed), "method_not_allowed"},
	{Rejected, withStatus(http.StatusRequestEntityTooLarge), "request_too_large"},
	{Rejected, func(r *Result) bool { return r.Status/100 == 3 }, "redirected"},
	{Rejected, undiscovered(false), "no_list_of_models"},
	{Rejected, nil, "request_rejected"},

	{ServerError, withStatus(http.StatusGatewayTimeout, 524), "gateway_timeout"},
	{ServerError, withStatus(525, 526), "gateway_got_no_tls"}, // Cloudflare's
	{ServerError, failedFor(ErrGateway), "gateway_got_no_answer"},
	{ServerError, withStatus(http.StatusBadGateway), "gateway_got_no_answer"},
	{ServerError, withStatus(http.StatusRequestTimeout), "server_gave_up_waiting"},
	{ServerError, func(r *Result) bool { return r.Status/100 == 2 }, "error_in_answer"},
	{ServerError, nil, "internal_error"},

	{Truncated, nil, "stream_broken_off"},
	{Malformed, nil, "unreadable_data"},
	{NotStreamed, nil, "not_a_stream"},
	{Empty, nil, "no_tokens"},
	{WrongLength, nil, "prompt_or_answer_cut"},
	{WrongAnswer, nil, "hidden_words_missing"},
}

// hasExpired reports whether a certificate is not valid at this time.
func hasExpired(err x509.CertificateInvalidError) bool { return err.Reason == x509.Expired }

// isEarly reports whether a certificate is not valid yet. Package x509 says that only in words.
func isEarly(err x509.CertificateInvalidError) bool {
	return hasExpired(err) && strings.Contains(err.Detail, " is before ")
}

// says fits results whose error has these words.
func says(words *regexp.Regexp) func(*Result) bool {
	return func(r *Result) bool { return r.Err != nil && words.MatchString(r.Err.Error()) }
}

// Reasons returns the names of all reasons that a failure may have.
func Reasons() (names []string) {
	for _, r := range reasons {
		names = append(names, r.name)
	}
	for _, c := range causes {
		names = append(names, c.name)
	}
	slices.Sort(names)
	isEmpty := func(name string) bool { return name == "" }
	return slices.DeleteFunc(slices.Compact(names), isEmpty)
}

// Reason returns the name of the reason of a failure, one of [Reasons]; empty for results that are ok or canceled.
func (r *Result) Reason() string {
	i := slices.IndexFunc(reasons, func(known namedReason) bool { return errors.Is(r.Err, known.reason) })
	if i >= 0 && reasons[i].name != "" {
		return reasons[i].name
	}
	i = slices.IndexFunc(causes, func(c cause) bool { return c.outcome == r.Outcome && (c.fits == nil || c.fits(r)) })
	if i < 0 {
		return ""
	}
	return causes[i].name
}

// reasonIn returns why a server failed or rejected a request, by its words; nil if they do not say. A server that is
// loading its model does not reject a request for what is in it.
func reasonIn(status int, reply []byte) error {
	isRejection := status >= 400 && status < 500 && status != http.StatusTooManyRequests
	_, long := wire.TooLong(reply)
	switch {
	case wire.NoBackend(reply), slices.Contains(cloudflareNoBackend, status):
		return ErrNoBackend
	case wire.BrokenBackend(reply), slices.Contains(cloudflareNoAnswer, status):
		return ErrGateway
	case !isRejection && wire.Loading(reply):
		return ErrLoading
	case status == http.StatusPaymentRequired, wire.NoCredit(reply):
		return ErrNoCredit
	case status == http.StatusRequestHeaderFieldsTooLarge:
		return ErrLongHeader
	case long:
		return ErrTooLong
	}
	for _, words := range []struct {
		are    func(reply []byte) bool
		reason error
	}{
		{wire.NoTemplate, ErrNoTemplate},
		{wire.WrongModel, ErrWrongModel},
		{wire.LongHeader, ErrLongHeader},
		{wire.WantsHeader, ErrWantsHeader},
		{wire.WantsTLS, ErrSpeaksTLS},
		{wire.WantsCertificate, ErrWantsCert},
	} {
		if words.are(reply) {
			return words.reason
		}
	}
	return nil
}

// The statuses that only Cloudflare has: for a server that it does not reach or find, and for one that it got no answer
// from. The lists are only read.
var (
	cloudflareNoBackend = []int{521, 522, 523, 530}
	cloudflareNoAnswer  = []int{520, 524, 525, 526, 527}
)

// explainNotFound adds to a 404 what was not found, where that is certain: a server that has answered before no longer
// serves the model, and one that lists no model serves none. Host, path and key are right then.
func (m *Member) explainNotFound(r *Result) {
	known := m.Knowledge()
	switch {
	case m.model == "" && errors.Is(r.Err, ErrWrongModel) && !known.Worked:
		r.Err = withReason(fmt.Errorf("model %s is the first that the server lists: %w", r.Model, r.Err), ErrListedModel)
	case r.Status != http.StatusNotFound || errors.Is(r.Err, ErrNoModel):
	case known.Worked && r.Model != "":
		r.Err = withReason(fmt.Errorf("the server no longer serves model %s: %w", r.Model, r.Err), ErrModelGone)
	case known.Worked:
		r.Err = withReason(fmt.Errorf("the server no longer serves its model: %w", r.Err), ErrModelGone)
	case known.NoModel:
		r.Err = withReason(fmt.Errorf("%w: %w", ErrNoModel, r.Err), ErrNoModel)
	}
}
