package probe

import (
	"errors"
	"slices"
)

// An Outcome is why a probe ended. The set is closed: it is a metric label.
type Outcome string

// The outcomes, as docs/definitions.md has them.
const (
	OK           Outcome = "ok"
	DNS          Outcome = "dns"          // the name could not be resolved
	Connect      Outcome = "connect"      // no connection: refused or unreachable, or a kept one that had been closed
	TLS          Outcome = "tls"          // the handshake or the certificate
	Timeout      Outcome = "timeout"      // the whole probe's limit
	Stalled      Outcome = "stalled"      // after the first token, no token frame for the stall limit
	Unauthorized Outcome = "unauthorized" // 401 and 403: our key, or what it may use
	RateLimited  Outcome = "rate_limited" // 429
	Overloaded   Outcome = "overloaded"   // 503, 529, or the protocol's equivalent
	Rejected     Outcome = "rejected"     // other 4xx, or a validation error inside the stream
	ServerError  Outcome = "server_error" // other 5xx, 408 and 424, or an error inside the stream
	Filtered     Outcome = "filtered"     // finish reason content_filter, or a refusal
	Truncated    Outcome = "truncated"    // the connection or the answer ended without the answer's end
	Malformed    Outcome = "malformed"    // a frame that cannot be decoded
	NotStreamed  Outcome = "not_streamed" // JSON or a proxy's page instead of a stream
	Empty        Outcome = "empty"        // a clean end without a single token
	WrongLength  Outcome = "wrong_length" // prompt or answer is not as long as asked
	WrongAnswer  Outcome = "wrong_answer" // not what was asked for (canary, tool call, JSON), or degenerate
	Canceled     Outcome = "canceled"     // we shut down, or failed ourselves; never counted
)

// Outcomes returns every outcome that is counted, in the order of the design: all but [Canceled].
func Outcomes() []Outcome {
	return []Outcome{
		OK, DNS, Connect, TLS, Timeout, Stalled, Unauthorized, RateLimited, Overloaded, Rejected, ServerError,
		Filtered, Truncated, Malformed, NotStreamed, Empty, WrongLength, WrongAnswer,
	}
}

// Refusals returns the outcomes that say something about our key, our quota or our prompt, and not about how well the
// server serves others. They have an alert of their own, and are no events of an objective unless that says so: see
// [Objective.RefusalsAreBad].
func Refusals() []Outcome { return []Outcome{Unauthorized, RateLimited, Filtered} }

// AsIfEnded reports whether a server that ends, or has ended, may make a probe end like this.
func (o Outcome) AsIfEnded() bool {
	return slices.Contains([]Outcome{DNS, Connect, TLS, Timeout, Stalled, Overloaded, ServerError, Truncated, Empty}, o)
}

// Refusal reports whether o is one of [Refusals].
func (o Outcome) Refusal() bool { return slices.Contains(Refusals(), o) }

// A Reason is why a probe failed, in more detail than its [Outcome]. The set is closed: it is a metric label, and an
// alert shows it with blanks between the words.
type Reason string

// The reasons. Most belong to one outcome. Those that stand under several show in a status, in the server's words and
// in the handshake alike.
const (
	// The way to the server.
	ReasonHostNameNotFound      Reason = "host_name_not_found"
	ReasonNameLookupTimeout     Reason = "name_lookup_timeout"
	ReasonNameLookupFailed      Reason = "name_lookup_failed"
	ReasonConnectionRefused     Reason = "connection_refused"
	ReasonHostUnreachable       Reason = "host_unreachable"
	ReasonConnectionReset       Reason = "connection_reset"
	ReasonConnectTimeout        Reason = "connect_timeout"
	ReasonConnectionFailed      Reason = "connection_failed"
	ReasonProxyFailed           Reason = "proxy_failed"
	ReasonProxyWantsCredentials Reason = "proxy_wants_credentials"

	ReasonCertificateNotYetValid    Reason = "certificate_not_yet_valid"
	ReasonCertificateExpired        Reason = "certificate_expired"
	ReasonUnknownAuthority          Reason = "unknown_certificate_authority"
	ReasonCertificateForAnotherName Reason = "certificate_for_another_name"
	ReasonCertificateInvalid        Reason = "certificate_invalid"
	ReasonClientCertificateMissing  Reason = "client_certificate_missing"
	ReasonPortWithoutTLS            Reason = "port_without_tls"
	ReasonPortSpeaksTLS             Reason = "port_speaks_tls"
	ReasonTLSHandshakeTimeout       Reason = "tls_handshake_timeout"
	ReasonTLSHandshakeFailed        Reason = "tls_handshake_failed"
	ReasonWrongHTTPVersion          Reason = "wrong_http_version"
	ReasonInvalidHTTP               Reason = "invalid_http"
	ReasonStreamRefused             Reason = "stream_refused" // a stream of HTTP/2
	ReasonHTTPClientStuck           Reason = "http_client_stuck"
	ReasonRequestNotSentInTime      Reason = "request_not_sent_in_time"
	ReasonClosedBeforeAnswer        Reason = "closed_before_answer"
	ReasonRedirected                Reason = "redirected"
	ReasonRedirectedToLogin         Reason = "redirected_to_login"
	ReasonRedirectedToAnotherHost   Reason = "redirected_to_another_host" // mostly that of a login page
	ReasonAnsweredByGateway         Reason = "answered_by_gateway"
	ReasonGatewayGotNoAnswer        Reason = "gateway_got_no_answer"
	ReasonGatewayGotNoTLS           Reason = "gateway_got_no_tls"
	ReasonGatewayTimeout            Reason = "gateway_timeout"
	ReasonNoBackendLeft             Reason = "no_backend_left" // the gateway has no server to ask
	ReasonRateLimitOfGateway        Reason = "rate_limit_of_gateway"

	// What the server says of us and of itself.
	ReasonToken                Reason = "token" // the token server gave none, so that nothing was sent
	ReasonKeyMissing           Reason = "key_missing"
	ReasonKeyRejected          Reason = "key_rejected"
	ReasonAccessDenied         Reason = "access_denied"
	ReasonRateLimitReached     Reason = "rate_limit_reached"
	ReasonQuotaExhausted       Reason = "quota_exhausted"
	ReasonNoQuotaOrCreditLeft  Reason = "no_quota_or_credit_left"
	ReasonContentFilter        Reason = "content_filter"
	ReasonServerOverloaded     Reason = "server_overloaded"
	ReasonServerGaveUpWaiting  Reason = "server_gave_up_waiting"
	ReasonModelStillLoading    Reason = "model_still_loading"
	ReasonNoModelLoaded        Reason = "no_model_loaded"
	ReasonModelGone            Reason = "model_gone" // it answered before
	ReasonModelNotFound        Reason = "model_not_found"
	ReasonListedModelNotServed Reason = "listed_model_not_served"
	ReasonNoListOfModels       Reason = "no_list_of_models"
	ReasonModelOrPathNotFound  Reason = "model_or_path_not_found"
	ReasonMethodNotAllowed     Reason = "method_not_allowed"
	ReasonLongerThanContext    Reason = "longer_than_context"
	ReasonRequestTooLarge      Reason = "request_too_large"
	ReasonHeaderTooLong        Reason = "header_too_long"
	ReasonHeaderMissing        Reason = "header_missing"
	ReasonNoChatTemplate       Reason = "no_chat_template"
	ReasonFieldOfBodyRejected  Reason = "field_of_body_rejected" // one that the user has added to requests
	ReasonRequestRejected      Reason = "request_rejected"
	ReasonWorkloadNotOfAPI     Reason = "workload_not_of_api" // we cannot ask for tool calls or JSON by this API
	ReasonInternalError        Reason = "internal_error"
	ReasonErrorInAnswer        Reason = "error_in_answer"

	// The answer.
	ReasonNoAnswerInTime        Reason = "no_answer_in_time"
	ReasonNoTokenInTime         Reason = "no_token_in_time"
	ReasonStreamTooSlow         Reason = "stream_too_slow"
	ReasonStreamStalled         Reason = "stream_stalled"
	ReasonStreamBrokenOff       Reason = "stream_broken_off"
	ReasonNoFinishReason        Reason = "no_finish_reason"
	ReasonUnreadableData        Reason = "unreadable_data"
	ReasonUnreadableCompression Reason = "unreadable_compression"
	ReasonNotAStream            Reason = "not_a_stream"
	ReasonEmptyStream           Reason = "empty_stream" // neither a token nor anything else
	ReasonNoTokens              Reason = "no_tokens"
	ReasonPromptOrAnswerCut     Reason = "prompt_or_answer_cut"
	ReasonAnswerBeyondLimit     Reason = "answer_beyond_limit"
	ReasonAnswerInPieces        Reason = "answer_in_pieces" // the server generates long answers in whole pieces
	ReasonAnswerEndedEarly      Reason = "answer_ended_early"
	ReasonHiddenWordsMissing    Reason = "hidden_words_missing"
	ReasonDegenerate            Reason = "degenerate" // one token again and again, see [Wording]
	ReasonNoToolCall            Reason = "no_tool_call"
	ReasonOtherFunctionCalled   Reason = "other_function_called"
	ReasonNotJSON               Reason = "not_json" // the answer, or the arguments of its call
	ReasonWrongField            Reason = "wrong_field"
)

// Reasons returns every reason, sorted.
func Reasons() []Reason {
	return []Reason{
		ReasonAccessDenied, ReasonAnswerBeyondLimit, ReasonAnswerEndedEarly, ReasonAnswerInPieces,
		ReasonAnsweredByGateway, ReasonCertificateExpired, ReasonCertificateForAnotherName, ReasonCertificateInvalid,
		ReasonCertificateNotYetValid, ReasonClientCertificateMissing, ReasonClosedBeforeAnswer, ReasonConnectTimeout,
		ReasonConnectionFailed, ReasonConnectionRefused, ReasonConnectionReset, ReasonContentFilter, ReasonDegenerate,
		ReasonEmptyStream, ReasonErrorInAnswer, ReasonFieldOfBodyRejected, ReasonGatewayGotNoAnswer,
		ReasonGatewayGotNoTLS, ReasonGatewayTimeout, ReasonHeaderMissing, ReasonHeaderTooLong, ReasonHiddenWordsMissing,
		ReasonHostNameNotFound, ReasonHostUnreachable, ReasonHTTPClientStuck, ReasonInternalError, ReasonInvalidHTTP,
		ReasonKeyMissing, ReasonKeyRejected, ReasonListedModelNotServed, ReasonLongerThanContext,
		ReasonMethodNotAllowed, ReasonModelGone, ReasonModelNotFound, ReasonModelOrPathNotFound,
		ReasonModelStillLoading, ReasonNameLookupFailed, ReasonNameLookupTimeout, ReasonNoAnswerInTime,
		ReasonNoBackendLeft, ReasonNoChatTemplate, ReasonNoFinishReason, ReasonNoListOfModels, ReasonNoModelLoaded,
		ReasonNoQuotaOrCreditLeft, ReasonNoTokenInTime, ReasonNoTokens, ReasonNoToolCall, ReasonNotAStream,
		ReasonNotJSON, ReasonOtherFunctionCalled, ReasonPortSpeaksTLS, ReasonPortWithoutTLS, ReasonPromptOrAnswerCut,
		ReasonProxyFailed, ReasonProxyWantsCredentials, ReasonQuotaExhausted, ReasonRateLimitOfGateway,
		ReasonRateLimitReached, ReasonRedirected, ReasonRedirectedToAnotherHost, ReasonRedirectedToLogin,
		ReasonRequestNotSentInTime, ReasonRequestRejected, ReasonRequestTooLarge, ReasonServerGaveUpWaiting,
		ReasonServerOverloaded, ReasonStreamBrokenOff, ReasonStreamRefused, ReasonStreamStalled, ReasonStreamTooSlow,
		ReasonTLSHandshakeFailed, ReasonTLSHandshakeTimeout, ReasonToken, ReasonUnknownAuthority,
		ReasonUnreadableCompression, ReasonUnreadableData, ReasonWorkloadNotOfAPI, ReasonWrongField,
		ReasonWrongHTTPVersion,
	}
}

// ReasonOf returns why a request failed that was no probe; empty if err does not come of such a request.
func ReasonOf(err error) Reason {
	v, _ := errors.AsType[verdict](err)
	return v.reason
}

// isNoServerLeft reports whether no model server can answer, whatever the status says of load.
func (r Reason) isNoServerLeft() bool {
	return r == ReasonNoBackendLeft || r == ReasonModelStillLoading
}

// isLogin reports whether the answer sends the client to a page to log in.
func (r Reason) isLogin() bool {
	return r == ReasonRedirectedToLogin || r == ReasonRedirectedToAnotherHost
}

// isOfPort reports whether a request failed for how it reached the port, so that no other request can do better.
func (r Reason) isOfPort() bool {
	return r == ReasonPortSpeaksTLS || r == ReasonClientCertificateMissing || r == ReasonWrongHTTPVersion
}
