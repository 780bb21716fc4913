package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

func TestEveryFailureHasAHint(t *testing.T) {
	for _, o := range append(Outcomes(), Canceled) {
		hint := (&Result{Outcome: o}).Hint()
		if needed := o != OK && o != Canceled; (hint != "") != needed {
			t.Errorf("hint of %s is %q", o, hint)
		}
		if strings.HasSuffix(hint, ".") {
			t.Errorf("hint of %s ends with a stop: %q", o, hint)
		}
	}
}

func TestHintsFitTheFailure(t *testing.T) {
	wrapped := func(err error) error {
		return fmt.Errorf("connect: %w", &net.OpError{Op: "dial", Net: "tcp", Err: err})
	}
	status := func(o Outcome, code int) *Result { return &Result{Outcome: o, Status: code} }
	with := func(o Outcome, err error) *Result { return &Result{Outcome: o, Err: err} }
	sent := timing.Timeline{Phases: timing.Phases{Wrote: ms}}
	slow := timing.Timeline{Phases: timing.Phases{Wrote: ms}, Frames: []timing.Frame{{At: ms}}}

	for _, test := range []struct {
		r    *Result
		want string
	}{
		{&Result{Outcome: Canceled, Stack: []byte("goroutine 1")}, "the prober itself failed"},
		{with(Connect, wrapped(os.NewSyscallError("connect", syscall.ECONNREFUSED))), "nothing listens there"},
		{with(Connect, wrapped(syscall.EHOSTUNREACH)), "no route"},
		{with(Connect, wrapped(syscall.ECONNRESET)), "closed the connection at once"},
		{with(Connect, wrapped(context.DeadlineExceeded)), "no answer from"},
		{with(Connect, errors.New("?")), "check host and port"},
		{with(TLS, fmt.Errorf("TLS handshake: %w", x509.UnknownAuthorityError{})), "PROBER_TARGETS_n_CA_FILE"},
		{with(TLS, x509.HostnameError{Certificate: &x509.Certificate{}}), "other names"},
		{with(TLS, x509.CertificateInvalidError{Reason: x509.Expired}), "expired"},
		{with(TLS, x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}), "check that the port speaks TLS"},
		{with(TLS, tls.RecordHeaderError{}), "does not speak TLS"},
		{with(Timeout, nil), "never sent"},
		{&Result{Outcome: Timeout, Timeline: sent}, "no token arrived"},
		{&Result{Outcome: Timeout, Timeline: slow}, "too slowly"},
		{status(Unauthorized, 401), "check the API key"},
		{&Result{Outcome: Unauthorized, Status: 401, Credentials: CredentialsNone}, "none was sent"},
		{&Result{Outcome: Unauthorized, Status: 401, Credentials: CredentialsPrefixed}, "the prober adds the prefix"},
		{&Result{Outcome: Unauthorized, Status: 401, Credentials: CredentialsInHeader}, "PROBER_TARGETS_n_HEADERS"},
		{&Result{Outcome: Unauthorized, Status: 403, Credentials: CredentialsNone}, "none was sent"},
		{&Result{Outcome: Rejected, Status: 402, Err: ErrNoCredit}, "billing"},
		{&Result{Outcome: Rejected, Status: 400, Err: ErrNoCredit}, "billing"},
		{&Result{Outcome: RateLimited, Status: 429, Err: ErrNoCredit}, "billing"},
		{&Result{Outcome: Rejected, Status: 431, Err: ErrLongHeader}, "PROBER_TARGETS_n_HEADERS"},
		{&Result{Outcome: Rejected, Status: 400, Err: ErrWrongModel}, "does not serve this model"},
		{&Result{Outcome: Rejected, Status: 404, Err: ErrWrongModel}, "does not serve this model"},
		{&Result{Outcome: Rejected, Status: 404, Err: ErrListedModel}, "name one that it serves"},
		{&Result{Outcome: Rejected, Status: 400, Err: ErrWantsHeader}, "PROBER_TARGETS_n_HEADERS"},
		{&Result{Outcome: Unauthorized, Status: 400}, "check the API key"},
		{with(ServerError, ErrNoBackend), "no server left"},
		{&Result{Outcome: ServerError, Status: 502, Err: ErrNoBackend}, "no server left"},
		{with(ServerError, ErrLoading), "loaded its model"},
		{with(Overloaded, ErrGateway), "rate limit, maintenance, or no server"},
		{with(RateLimited, ErrGateway), "exempt the probes there"},
		{with(Rejected, ErrSpeaksTLS), "use https://"},
		{with(Rejected, ErrWantsCert), "--cert-file"},
		{&Result{Outcome: Rejected, Status: 404, Err: ErrListedModel}, "lists this model first"},
		{with(Overloaded, nil), "other clients"},
		{with(Truncated, ErrNoFinish), "drops the last frames"},
		{&Result{Outcome: Truncated, Server: "ollama", Err: ErrNoFinish}, "one token is repeated"},
		{&Result{Outcome: Truncated, Server: "ollama"}, "closed the connection too early"},
		{with(Truncated, ErrNoPlainAnswer), "use https://"},
		{with(Truncated, ErrNoAnswer), "closed the connection too early"},
		{with(Malformed, ErrInvalidHTTP), "sets as well"},
		{with(Malformed, ErrHTTPVersion), "--http-version"},
		{with(TLS, ErrHTTPVersion), "--http-version"},
		{with(Rejected, ErrHTTPVersion), "--http-version"},
		{with(Overloaded, ErrRefusedStream), "limits of streams"},
		{with(Malformed, wire.ErrMalformed), "writes into it"},
		{with(Malformed, ErrSpeaksTLS), "use https://"},
		{with(Empty, ErrNothing), "longer than the server's context"},
		{&Result{Outcome: Empty, Server: "llama-cpp-python", Err: ErrNothing}, "--n_ctx"},
		{with(Empty, nil), "the model ended at once"},
		{&Result{Target: "a", Outcome: RateLimited, Status: 429, RetryAfter: 30 * time.Second},
			"a answered 429 and asked to wait 30 s: lower PROBER_QPS"},
		{&Result{Outcome: Overloaded, Status: 529, RetryAfter: 40 * ms},
			"the server answered 529 and asked to wait 40.0 ms: other"},
		{status(Unauthorized, 403), "may not use the model"},
		{status(Rejected, 404), "GET /v1/models"},
		{status(Rejected, 405), "--api"},
		{status(Rejected, 413), "--prompt-tokens"},
		{&Result{Outcome: Unauthorized, Status: 302, Err: ErrLogin}, "login page"},
		{status(Rejected, 302), "PROBER_TARGETS_n_PATH"},
		{&Result{Outcome: Rejected, Status: 400, Credentials: CredentialsNone}, "context"},
		{with(Rejected, ErrTooLong), "longer than the model's context"},
		{&Result{Outcome: Rejected, Status: 422, Err: ErrNoTemplate}, "openai-completions"},
		{&Result{Outcome: Rejected, Status: 404, Err: ErrModelGone}, "it answered before"},
		{&Result{Outcome: Rejected, Status: 404, Err: ErrNoModel}, "the server answers, but has no model"},
		{with(WrongLength, ErrPieces), "whole ones"},
		{&Result{Outcome: WrongLength, Err: ErrUnlimited}, "--server"},
		{&Result{Outcome: WrongLength, Err: ErrEndedEarly}, "the finish reason says why"},
		{status(ServerError, 502), "proxy"},
		{&Result{Outcome: ServerError, Status: 503, Err: ErrNoBackend}, "queue is full"},
		{&Result{Outcome: ServerError, Status: 504, Err: ErrGateway}, "limit of time"},
		{&Result{Outcome: ServerError, Status: 524, Err: ErrGateway}, "Cloudflare: 100 s"},
		{&Result{Outcome: ServerError, Status: 526, Err: ErrGateway}, "certificate"},
		{&Result{Outcome: ServerError, Status: 520, Err: ErrGateway}, "got no answer"},
		{status(ServerError, 408), "replica"},
		{status(ServerError, 200), "or inside it"},
		{status(ServerError, 500), "server's log"},
	} {
		if got := test.r.Hint(); !strings.Contains(got, test.want) {
			t.Errorf("%s (%d, %v): %q, want %q in it", test.r.Outcome, test.r.Status, test.r.Err, got, test.want)
		}
	}
}
