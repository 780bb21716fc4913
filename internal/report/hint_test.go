package report

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

	"github.com/llm-prober/prober/internal/probe"
)

func TestEveryFailureHasAHint(t *testing.T) {
	for _, o := range append(probe.Outcomes(), probe.Canceled) {
		hint := Hint(&probe.Result{Outcome: o})
		if needed := o != probe.OK && o != probe.Canceled; (hint != "") != needed {
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
	status := func(o probe.Outcome, code int) *probe.Result { return &probe.Result{Outcome: o, Status: code} }
	with := func(o probe.Outcome, err error) *probe.Result { return &probe.Result{Outcome: o, Err: err} }
	sent := probe.Timeline{Phases: probe.Phases{Wrote: ms}}
	slow := probe.Timeline{Phases: probe.Phases{Wrote: ms}, Tokens: []probe.Arrival{{At: ms}}}

	for _, test := range []struct {
		r    *probe.Result
		want string
	}{
		{with(probe.Connect, wrapped(os.NewSyscallError("connect", syscall.ECONNREFUSED))), "nothing listens there"},
		{with(probe.Connect, wrapped(syscall.EHOSTUNREACH)), "no route"},
		{with(probe.Connect, wrapped(syscall.ECONNRESET)), "closed the connection at once"},
		{with(probe.Connect, wrapped(context.DeadlineExceeded)), "no answer from"},
		{with(probe.Connect, errors.New("?")), "check host and port"},
		{with(probe.TLS, fmt.Errorf("TLS handshake: %w", x509.UnknownAuthorityError{})), "PROBER_TARGETS_n_CA_FILE"},
		{with(probe.TLS, x509.HostnameError{Certificate: &x509.Certificate{}}), "other names"},
		{with(probe.TLS, x509.CertificateInvalidError{Reason: x509.Expired}), "expired"},
		{with(probe.TLS, x509.CertificateInvalidError{Reason: x509.NotAuthorizedToSign}), "check that the port speaks TLS"},
		{with(probe.TLS, tls.RecordHeaderError{}), "does not speak TLS"},
		{with(probe.Timeout, nil), "never sent"},
		{&probe.Result{Outcome: probe.Timeout, Timeline: sent}, "no token arrived"},
		{&probe.Result{Outcome: probe.Timeout, Timeline: slow}, "too slowly"},
		{status(probe.Unauthorized, 401), "check the API key"},
		{&probe.Result{Outcome: probe.Unauthorized, Status: 401, Key: probe.KeyNone}, "none was sent"},
		{&probe.Result{Outcome: probe.Unauthorized, Status: 401, Key: probe.KeyPrefixed}, "the prober adds the prefix"},
		{&probe.Result{Outcome: probe.Unauthorized, Status: 401, Key: probe.KeyInHeader}, "PROBER_TARGETS_n_HEADERS"},
		{&probe.Result{Outcome: probe.Unauthorized, Status: 403, Key: probe.KeyNone}, "none was sent"},
		{status(probe.Rejected, 402), "credit"},
		{&probe.Result{Outcome: probe.Rejected, Status: 400, Err: probe.ErrWrongModel}, "does not serve this model"},
		{&probe.Result{Outcome: probe.Rejected, Status: 404, Err: probe.ErrWrongModel}, "does not serve this model"},
		{&probe.Result{Outcome: probe.Rejected, Status: 400, Err: probe.ErrWantsHeader}, "PROBER_TARGETS_n_HEADERS"},
		{&probe.Result{Outcome: probe.Unauthorized, Status: 400}, "check the API key"},
		{with(probe.Overloaded, probe.ErrNoBackend), "no server left"},
		{with(probe.Overloaded, nil), "other clients"},
		{with(probe.Truncated, probe.ErrNoFinish), "drops the last frames"},
		{&probe.Result{Outcome: probe.Truncated, Server: "ollama", Err: probe.ErrNoFinish}, "one token is repeated"},
		{&probe.Result{Outcome: probe.Truncated, Server: "ollama"}, "closed the connection too early"},
		{with(probe.Empty, probe.ErrNothing), "longer than the server's context"},
		{&probe.Result{Outcome: probe.Empty, Server: "llama-cpp-python", Err: probe.ErrNothing}, "--n_ctx"},
		{with(probe.Empty, nil), "the model ended at once"},
		{&probe.Result{Target: "a", Outcome: probe.RateLimited, Status: 429, RetryAfter: 30 * time.Second},
			"a answered 429 and asked to wait 30 s: lower PROBER_QPS"},
		{&probe.Result{Outcome: probe.Overloaded, Status: 529, RetryAfter: 40 * ms},
			"the server answered 529 and asked to wait 40.0 ms: other"},
		{status(probe.Unauthorized, 403), "may not use the model"},
		{status(probe.Rejected, 404), "GET /v1/models"},
		{status(probe.Rejected, 405), "--api"},
		{status(probe.Rejected, 413), "--prompt-tokens"},
		{status(probe.Rejected, 302), "do not follow redirects"},
		{&probe.Result{Outcome: probe.Rejected, Status: 400, Key: probe.KeyNone}, "context"},
		{with(probe.Rejected, probe.ErrTooLong), "longer than the model's context"},
		{&probe.Result{Outcome: probe.Rejected, Status: 422, Err: probe.ErrNoTemplate}, "openai-completions"},
		{&probe.Result{Outcome: probe.Rejected, Status: 404, Err: probe.ErrModelGone}, "it answered before"},
		{&probe.Result{Outcome: probe.Rejected, Status: 404, Err: probe.ErrNoModel}, "the server answers, but has no model"},
		{with(probe.WrongLength, probe.ErrPieces), "whole ones"},
		{&probe.Result{Outcome: probe.WrongLength, Err: probe.ErrUnlimited}, "--server"},
		{status(probe.ServerError, 502), "proxy"},
		{status(probe.ServerError, 408), "replica"},
		{status(probe.ServerError, 200), "inside the stream"},
		{status(probe.ServerError, 500), "server's log"},
	} {
		if got := Hint(test.r); !strings.Contains(got, test.want) {
			t.Errorf("%s (%d, %v): %q, want %q in it", test.r.Outcome, test.r.Status, test.r.Err, got, test.want)
		}
	}
}
