// Package report tells results to people: one probe in a terminal, many as tables, comparisons and charts. It prints
// and never measures: every number in it comes from the results.
package report

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// Failure is how a probe failed and what is known of it, in one line that is fit for a terminal.
func Failure(r *probe.Result) string {
	if r.Err == nil {
		return string(r.Outcome)
	}
	return string(r.Outcome) + ": " + format.Clean(r.Err.Error())
}

// Hint is what to do about a failed result, in one sentence; empty for results that are ok or canceled.
func Hint(r *probe.Result) string {
	i := slices.IndexFunc(hints, func(h hint) bool { return h.outcome == r.Outcome && (h.fits == nil || h.fits(r)) })
	if i < 0 {
		return ""
	}
	return asked(r) + hints[i].text
}

// asked says that a server asked for a pause, before what to do about it; empty where it did not.
func asked(r *probe.Result) string {
	if r.RetryAfter <= 0 {
		return ""
	}
	pause := format.Short(r.RetryAfter.Round(time.Second).Seconds())
	if r.RetryAfter < time.Second {
		pause = format.Duration(r.RetryAfter)
	}
	return fmt.Sprintf("%s answered %d and asked to wait %s: ",
		cmp.Or(format.Clean(r.Target), "the server"), r.Status, pause)
}

// A hint is for results of an outcome, and of those only where it fits; nil: all.
type hint struct {
	outcome probe.Outcome
	fits    func(*probe.Result) bool
	text    string
}

// hints has at least one hint for each outcome that is a failure; the first that fits counts.
var hints = []hint{
	{probe.DNS, nil, "check the host name in the URL, and that the resolver of this machine or pod answers"},

	{probe.Connect, because(syscall.ECONNREFUSED), "nothing listens there: check host and port in the URL, and that the server runs"},
	{probe.Connect, because(syscall.EHOSTUNREACH, syscall.ENETUNREACH), "there is no route to that address: check the URL and the network"},
	{probe.Connect, because(syscall.ECONNRESET, syscall.EPIPE), "the other side closed the connection at once: check that the " +
		"port is the server's, and the load balancer in front of it"},
	{probe.Connect, as(net.Error.Timeout), "no answer from that address: check the URL, firewalls and network policies"},
	{probe.Connect, nil, "check host and port in the URL, and that the server runs"},

	{probe.TLS, as[x509.UnknownAuthorityError](nil), "the server's certificate is signed by an unknown authority: give the " +
		"authority's certificate in PROBER_TARGETS_n_CA_FILE (--ca-file)"},
	{probe.TLS, as[x509.HostnameError](nil), "the server's certificate is for other names: use one of them in the URL"},
	{probe.TLS, as(func(err x509.CertificateInvalidError) bool { return err.Reason == x509.Expired }), "the server's certificate has " +
		"expired or is not valid yet: renew it, or set this machine's clock"},
	{probe.TLS, as[tls.RecordHeaderError](nil), "the server does not speak TLS on that port: use http:// in the URL, or the port for HTTPS"},
	{probe.TLS, nil, "check that the port speaks TLS, the certificates to trust (PROBER_TARGETS_n_CA_FILE, --ca-file) " +
		"and, if the server wants one, the client's (PROBER_TARGETS_n_CERT_FILE, --cert-file)"},

	{probe.Timeout, undiscovered(true), "the server was asked for its models and did not answer, so no probe was sent: " +
		"check its load and the proxies in front of it; where API and model are given (--api, --model) it is probed anyway"},
	{probe.Timeout, func(r *probe.Result) bool { return len(r.Tokens) > 0 }, "tokens arrived too slowly: check the server's " +
		"load; " + raise + " or lower PROBER_MAX_TOKENS (--max-tokens)"},
	{probe.Timeout, func(r *probe.Result) bool { return r.Phases.Wrote == 0 }, "the request was never sent: check the network " +
		"and what accepts connections for the server"},
	{probe.Timeout, nil, "the request was sent and no token arrived: check the server's queue and proxies that buffer answers; " + raise},
	{probe.Stalled, nil, "check the engine's log at that time (preemption, a crashed worker, no KV cache left); " +
		"if such pauses are normal here, raise PROBER_STALL_TIMEOUT (--stall-timeout)"},

	{probe.Unauthorized, both(status(403), sent(probe.KeyNone)), "no API key is configured and none was sent: set one " +
		"(PROBER_API_KEY_FILE, --api-key-file or PROBER_API_KEY), or check what in front of the server rejects this client"},
	{probe.Unauthorized, status(403), "this API key (PROBER_API_KEY_FILE or PROBER_API_KEY) may not use the model, or " +
		"something in front of the server rejects this client"},
	{probe.Unauthorized, sent(probe.KeyNone), "no API key is configured and none was sent: set one " +
		"(PROBER_API_KEY_FILE, --api-key-file or PROBER_API_KEY)"},
	{probe.Unauthorized, sent(probe.KeyPrefixed),
		"the API key begins with Bearer: give the key alone (PROBER_API_KEY_FILE or " +
			"PROBER_API_KEY), the prober adds the prefix"},
	{probe.Unauthorized, sent(probe.KeyInHeader),
		"check the credentials among the configured headers (headers of the targets file, PROBER_TARGETS_n_HEADERS)"},
	{probe.Unauthorized, nil, "check the API key (PROBER_API_KEY_FILE, --api-key-file or PROBER_API_KEY)"},

	{probe.RateLimited, nil, "lower PROBER_QPS (--qps) or raise the quota of this key"},
	{probe.Overloaded, because(probe.ErrNoBackend),
		"this is a gateway that has no server left to ask, since all of them failed: check these"},
	{probe.Overloaded, nil, "other clients are rejected as well; check the server's queue and its number of replicas"},

	{probe.Rejected, status(402), "the account of this API key has run out of credit"},
	{probe.Rejected, because(probe.ErrModelGone),
		"it answered before: check that the engine's workers run and have loaded the model, and that " +
			"nothing was renamed or removed on the way to them"},
	{probe.Rejected, because(probe.ErrNoModel), "the server answers, but has no model: check that the engine's workers " +
		"run, and that one of them has loaded its model"},
	{probe.Rejected, because(probe.ErrNoTemplate), "the model has no chat template: ask it for completions " +
		"(PROBER_TARGETS_n_API, --api: openai-completions, or the server's own API), or give the server a template"},
	{probe.Rejected, because(probe.ErrTooLong), "prompt and answer together are longer than the model's context: lower " +
		"PROBER_PROMPT_TOKENS (--prompt-tokens) or PROBER_MAX_TOKENS (--max-tokens)"},
	{probe.Rejected, because(probe.ErrWrongModel),
		"the server does not serve this model: compare PROBER_TARGETS_n_MODEL (--model) with what " +
			"GET /v1/models lists, or leave it out to take the first of these"},
	{probe.Rejected, because(probe.ErrWantsHeader),
		"the gateway wants a header that the message names: set it in PROBER_TARGETS_n_HEADERS"},
	{probe.Rejected, status(404), "the server does not know the model or the path: compare PROBER_TARGETS_n_MODEL (--model) with GET /v1/models, " +
		"and check the URL: a path in the URL is used as it is, and often ends with /v1"},
	{probe.Rejected, status(405), "the path does not accept such requests: check the URL and PROBER_TARGETS_n_API (--api)"},
	{probe.Rejected, status(413), "the prompt is too long for the server or a proxy: raise the limit there, or lower " +
		"PROBER_PROMPT_TOKENS (--prompt-tokens)"},
	{probe.Rejected, func(r *probe.Result) bool { return r.Status >= 300 && r.Status < 400 }, "probes do not follow redirects: " +
		"use the URL that the server redirects to"},
	{probe.Rejected, undiscovered(false), "the server lists no models, so no probe was sent: check host, port and path in the URL and the API key; " +
		"where API and model are given (--api, --model) it is probed anyway"},
	{probe.Rejected, nil, "see the server's message: often prompt and answer together are longer than the model's context " +
		"(PROBER_PROMPT_TOKENS, --prompt-tokens; PROBER_MAX_TOKENS, --max-tokens)"},

	{probe.ServerError, status(502, 504), "a proxy got no answer from the server behind it: check that server"},
	{probe.ServerError, status(408), "the server gave up waiting for a free replica: check its queue and its number of replicas"},
	{probe.ServerError, func(r *probe.Result) bool { return r.Status >= 200 && r.Status < 300 }, "the server reported an error " +
		"inside the stream: check its log at that time"},
	{probe.ServerError, nil, "check the server's log at that time"},

	{probe.Filtered, nil, "a content filter stopped the answer, not the engine: exempt the probes, or choose another PROBER_PROMPT (--prompt)"},
	{probe.Truncated, both(by("ollama"), because(probe.ErrNoFinish)),
		"Ollama breaks off an answer in which one token is repeated about 30 times: " +
			"look at what the model answers, and try another one"},
	{probe.Truncated, because(probe.ErrNoFinish),
		"the stream ended in good order, but without saying why: check the server's log, and whether " +
			"a proxy in front of it drops the last frames"},
	{probe.Truncated, nil, "something closed the connection too early: check for a restart or crash of the server, " +
		"or a read or idle timeout in a proxy in front of it"},
	{probe.Malformed, nil, "check PROBER_TARGETS_n_API (--api): the server seems to speak another API, or a proxy rewrites the stream"},
	{probe.NotStreamed, nil, "a proxy or login page answered, the path is wrong, or the server does not stream: check the URL"},
	{probe.Empty, both(by("llama-cpp-python"), because(probe.ErrNothing)),
		"most likely the prompt is longer than the server's context, which it answers " +
			"with an empty stream: raise its --n_ctx, or lower PROBER_PROMPT_TOKENS (--prompt-tokens)"},
	{probe.Empty, because(probe.ErrNothing), "the server or a proxy gave up before the first frame: check the server's " +
		"log; if a short prompt is answered (--prompt-tokens 100), this one is longer than the server's context"},
	{probe.Empty, nil, "the model ended at once, or a proxy dropped the frames: compare with a request that bypasses the proxy, " +
		"and with another PROBER_TARGETS_n_API (--api)"},
	{probe.WrongLength, because(probe.ErrPieces),
		"ask for at most one piece or for whole ones (PROBER_MAX_TOKENS, --max-tokens); " +
			"each piece begins with a prefill of its own, which is a long gap"},
	{probe.WrongLength, because(probe.ErrUnlimited), "the server ignores the field that limits the answer: set its type " +
		"(PROBER_TARGETS_n_SERVER, --server) or another API (--api)"},
	{probe.WrongLength, nil, "the server cut the prompt or ended early: check the model's context length, and whether it " +
		"honours min_tokens and ignore_eos"},
	{probe.WrongAnswer, nil, "check the weights, quantization and sampling settings"},
}

const raise = "if that is normal here, raise PROBER_TIMEOUT (--timeout)"

func because(causes ...error) func(*probe.Result) bool {
	return func(r *probe.Result) bool {
		return slices.ContainsFunc(causes, func(cause error) bool { return errors.Is(r.Err, cause) })
	}
}

// as is of results that failed for an error of type E, and of those only where it fits; nil: all.
func as[E error](fits func(E) bool) func(*probe.Result) bool {
	return func(r *probe.Result) bool {
		err, ok := errors.AsType[E](r.Err)
		return ok && (fits == nil || fits(err))
	}
}

func status(codes ...int) func(*probe.Result) bool {
	return func(r *probe.Result) bool { return slices.Contains(codes, r.Status) }
}

// sent is of results whose request carried that kind of credentials.
func sent(key probe.Key) func(*probe.Result) bool {
	return func(r *probe.Result) bool { return r.Key == key }
}

// by is of results whose server is of that type.
func by(server string) func(*probe.Result) bool {
	return func(r *probe.Result) bool { return r.Server == server }
}

func both(one, other func(*probe.Result) bool) func(*probe.Result) bool {
	return func(r *probe.Result) bool { return one(r) && other(r) }
}

// undiscovered is of results whose server was asked for its models in vain; unanswered: only of those that got no answer.
func undiscovered(unanswered bool) func(*probe.Result) bool {
	return func(r *probe.Result) bool {
		sent, ok := r.Undiscovered()
		return ok && (sent || !unanswered)
	}
}
