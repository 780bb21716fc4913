package probe

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/llm-prober/prober/internal/wire"
)

// The reasons of failures that are known for certain: the error of a result wraps at most one of them, and its hint
// follows it.
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
)

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

// A namedReason is a reason with its name as a label value.
type namedReason struct {
	reason error
	name   string
}

// reasons are all reasons. The list is only read.
var reasons = []namedReason{
	{ErrUnlimited, "unlimited"},
	{ErrPieces, "pieces"},
	{ErrTooLong, "too_long"},
	{ErrNoTemplate, "no_template"},
	{ErrNoModel, "no_model"},
	{ErrModelGone, "model_gone"},
	{ErrWrongModel, "wrong_model"},
	{ErrWantsHeader, "wants_header"},
	{ErrLongHeader, "long_header"},
	{ErrNoCredit, "no_credit"},
	{ErrNoBackend, "no_backend"},
	{ErrLoading, "loading"},
	{ErrGateway, "gateway"},
	{ErrSpeaksTLS, "speaks_tls"},
	{ErrWantsCert, "wants_cert"},
	{ErrListedModel, "listed_model"},
	{ErrNothing, "nothing"},
	{ErrNoFinish, "no_finish"},
	{ErrStuck, "stuck"},
	{ErrEndedEarly, "ended_early"},
	{ErrProxy, "proxy"},
	{ErrProxyKey, "proxy_key"},
	{ErrLogin, "login"},
	{ErrInvalidHTTP, "invalid_http"},
	{ErrHTTPVersion, "http_version"},
	{ErrRefusedStream, "refused_stream"},
	{ErrCoding, "coding"},
	{ErrNoAnswer, "no_answer"},
	{ErrNoPlainAnswer, "no_plain_answer"},
}

// Reasons returns the names of all reasons that a failure may have, without the empty one.
func Reasons() []string {
	var names []string
	for _, r := range reasons {
		names = append(names, r.name)
	}
	return names
}

// Reason returns the name of the reason of a failure, one of [Reasons]; empty if it is not known for certain.
func (r *Result) Reason() string {
	i := slices.IndexFunc(reasons, func(known namedReason) bool { return errors.Is(r.Err, known.reason) })
	if i < 0 {
		return ""
	}
	return reasons[i].name
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
	known := m.Capabilities()
	switch {
	case m.model == "" && errors.Is(r.Err, ErrWrongModel) && !m.worked.Load():
		r.Err = withReason(fmt.Errorf("model %s is the first that the server lists: %w", r.Model, r.Err), ErrListedModel)
	case r.Status != http.StatusNotFound || errors.Is(r.Err, ErrNoModel):
	case m.worked.Load() && r.Model != "":
		r.Err = withReason(fmt.Errorf("the server no longer serves model %s: %w", r.Model, r.Err), ErrModelGone)
	case m.worked.Load():
		r.Err = withReason(fmt.Errorf("the server no longer serves its model: %w", r.Err), ErrModelGone)
	case known.NoModel:
		r.Err = withReason(fmt.Errorf("%w: %w", ErrNoModel, r.Err), ErrNoModel)
	}
}
