package probe

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
)

// Failure returns how r failed and what is known of it, in one line that is fit for a terminal.
func (r *Result) Failure() string {
	if r.Err == nil {
		return string(r.Outcome)
	}
	return string(r.Outcome) + ": " + format.Clean(r.Err.Error())
}

// Hint returns what to do about a failed result, in one sentence; empty for results that are ok or canceled, unless the
// prober itself failed.
func (r *Result) Hint() string {
	i := slices.IndexFunc(hints, func(h hint) bool { return h.outcome == r.Outcome && (h.fits == nil || h.fits(r)) })
	if i < 0 {
		return ""
	}
	return askedToWait(r) + hints[i].text
}

// askedToWait returns that a server asked for a pause, before what to do about it; empty where it did not.
func askedToWait(r *Result) string {
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
	outcome Outcome
	fits    func(*Result) bool
	text    string
}

// hints has at least one hint for each outcome that is a failure; the first that fits counts.
var hints = []hint{
	{Canceled, func(r *Result) bool { return r.Stack != nil },
		"the prober itself failed, which says nothing about the server: please report it, with what it was asked to do"},

	{DNS, nil,
		"check the host name in the URL, and that the resolver of this machine or pod answers"},

	{Connect, failedFor(ErrProxyKey),
		"give the proxy's user and password in that variable (http://user:password@host:port), or name the target's host " +
			"in NO_PROXY"},
	{Connect, failedFor(ErrProxy),
		"check that proxy, whether it may and can reach the target, or name the target's host in NO_PROXY to go without it"},
	{Connect, failedFor(syscall.ECONNREFUSED),
		"nothing listens there: check host and port in the URL, and that the server runs"},
	{Connect, failedFor(syscall.EHOSTUNREACH, syscall.ENETUNREACH),
		"there is no route to that address: check the URL and the network"},
	{Connect, failedFor(syscall.ECONNRESET, syscall.EPIPE),
		"the other side closed the connection at once: check that the port is the server's, and the load " +
			"balancer in front of it"},
	{Connect, failedAs(net.Error.Timeout),
		"no answer from that address: check the URL, firewalls and network policies"},
	{Connect, nil,
		"check host and port in the URL, and that the server runs"},

	{TLS, failedAs[x509.UnknownAuthorityError](nil),
		"the server's certificate is signed by an unknown authority: give the authority's certificate in " +
			"PROBER_TARGETS_n_CA_FILE (--ca-file)"},
	{TLS, failedAs[x509.HostnameError](nil),
		"the server's certificate is for other names: use one of them in the URL, or in PROBER_TARGETS_n_TLS_SERVER_NAME " +
			"(--tls-server-name)"},
	{TLS, failedAs(hasExpired),
		"the server's certificate has expired or is not valid yet: renew it, or set this machine's clock"},
	{TLS, failedAs[tls.RecordHeaderError](nil),
		"the server does not speak TLS on that port: use http:// in the URL, or the port for HTTPS"},
	{TLS, failedFor(ErrHTTPVersion), versionHint},
	{TLS, nil,
		"check that the port speaks TLS, the certificates to trust (PROBER_TARGETS_n_CA_FILE, --ca-file) and, if " +
			"the server wants one, the client's (PROBER_TARGETS_n_CERT_FILE, --cert-file)"},

	{Timeout, failedFor(ErrStuck), stuckHint},
	{Stalled, failedFor(ErrStuck), stuckHint},
	{Timeout, undiscovered(true),
		"the server was asked for its models and did not answer, so no probe was sent: check its load and the " +
			"proxies in front of it; where API and model are given (--api, --model) it is probed anyway"},
	{Timeout, func(r *Result) bool { return len(r.Timeline.Frames) > 0 },
		"tokens arrived too slowly: check the server's load; " + raise + " or lower PROBER_MAX_TOKENS " +
			"(--max-tokens)"},
	{Timeout, func(r *Result) bool { return r.Timeline.Phases.Wrote == 0 },
		"the request was never sent: check the network and what accepts connections for the server"},
	{Timeout, nil,
		"the request was sent and no token arrived: check the server's queue and proxies that buffer answers; " + raise},
	{Stalled, nil,
		"check the engine's log at that time (preemption, a crashed worker, no KV cache left); if such pauses " +
			"are normal here, raise PROBER_STALL_TIMEOUT (--stall-timeout)"},

	{Unauthorized, failedFor(ErrLogin),
		"a login page in front of the server answered: give an API key or headers that it accepts " +
			"(PROBER_API_KEY_FILE, PROBER_TARGETS_n_HEADERS), or a URL that leads around it; if the server has moved, its " +
			"new URL"},
	{Unauthorized, allOf(withStatus(403), withCredentials(CredentialsNone)),
		"no API key is configured and none was sent: set one (PROBER_API_KEY_FILE, --api-key-file or " +
			"PROBER_API_KEY), or check what in front of the server rejects this client"},
	{Unauthorized, withStatus(403),
		"this API key (PROBER_API_KEY_FILE or PROBER_API_KEY) may not use the model, or something in front of " +
			"the server rejects this client"},
	{Unauthorized, withCredentials(CredentialsNone),
		"no API key is configured and none was sent: set one (PROBER_API_KEY_FILE, --api-key-file or " +
			"PROBER_API_KEY)"},
	{Unauthorized, withCredentials(CredentialsPrefixed),
		"the API key begins with Bearer: give the key alone (PROBER_API_KEY_FILE or PROBER_API_KEY), the prober " +
			"adds the prefix"},
	{Unauthorized, withCredentials(CredentialsInHeader),
		"check the credentials among the configured headers (headers of the targets file, " +
			"PROBER_TARGETS_n_HEADERS)"},
	{Unauthorized, nil,
		"check the API key (PROBER_API_KEY_FILE, --api-key-file or PROBER_API_KEY)"},

	{RateLimited, failedFor(ErrNoCredit), creditHint},
	{RateLimited, failedFor(ErrGateway),
		"a gateway in front of the server limits the rate: lower PROBER_QPS (--qps) or exempt the probes there"},
	{RateLimited, nil,
		"lower PROBER_QPS (--qps) or raise the quota of this key"},
	{Overloaded, failedFor(ErrRefusedStream),
		"the server, or a proxy in front of it, refuses more work for now: check its load, and its limits of streams and " +
			"requests of HTTP/2"},
	{Overloaded, failedFor(ErrGateway),
		"a gateway answered, not the model server: its rate limit, maintenance, or no server left to ask; its log says " +
			"which"},
	{Overloaded, nil,
		"other clients are rejected as well; check the server's queue and its number of replicas"},

	{Rejected, failedFor(ErrNoCredit), creditHint},
	{Rejected, failedFor(ErrLongHeader),
		"the request's header is too long for the server or a proxy: shorten the API key or the headers " +
			"(PROBER_TARGETS_n_HEADERS), or raise the limit there; the prompt is not the matter"},
	{Rejected, failedFor(ErrModelGone),
		"it answered before: check that the engine's workers run and have loaded the model, and that nothing was " +
			"renamed or removed on the way to them"},
	{Rejected, failedFor(ErrNoModel),
		"the server answers, but has no model: check that the engine's workers run, and that one of them has " +
			"loaded its model"},
	{Rejected, failedFor(ErrNoTemplate),
		"the model has no chat template: ask it for completions (PROBER_TARGETS_n_API, --api: " +
			"openai-completions, or the server's own API), or give the server a template"},
	{Rejected, failedFor(ErrTooLong),
		"prompt and answer together are longer than the model's context: lower PROBER_PROMPT_TOKENS " +
			"(--prompt-tokens) or PROBER_MAX_TOKENS (--max-tokens)"},
	{Rejected, failedFor(ErrHTTPVersion), versionHint},
	{Rejected, failedFor(ErrSpeaksTLS),
		"the port speaks TLS: use https:// in the URL"},
	{Rejected, failedFor(ErrWantsCert),
		"the server wants a client certificate: give one in PROBER_TARGETS_n_CERT_FILE (--cert-file)"},
	{Rejected, failedFor(ErrListedModel),
		"the server lists this model first, but does not serve it: name one that it serves (PROBER_TARGETS_n_MODEL, " +
			"--model)"},
	{Rejected, failedFor(ErrWrongModel),
		"the server does not serve this model: compare PROBER_TARGETS_n_MODEL (--model) with what GET /v1/models " +
			"lists, or leave it out to take the first of these"},
	{Rejected, failedFor(ErrWantsHeader),
		"the gateway wants a header that the message names: set it in PROBER_TARGETS_n_HEADERS"},
	{Rejected, withStatus(404),
		"the server does not know the model or the path: compare PROBER_TARGETS_n_MODEL (--model) with GET " +
			"/v1/models, and check the URL: a path in the URL is used as it is, and often ends with /v1"},
	{Rejected, withStatus(405),
		"the path does not accept such requests: check the URL and PROBER_TARGETS_n_API (--api)"},
	{Rejected, withStatus(413),
		"the prompt is too long for the server or a proxy: raise the limit there, or lower PROBER_PROMPT_TOKENS " +
			"(--prompt-tokens)"},
	{Rejected, func(r *Result) bool { return r.Status >= 300 && r.Status < 400 },
		"probes do not follow redirects, not even on the same host: configure where the message says it leads, as the URL " +
			"and, where only the path differs, as PROBER_TARGETS_n_PATH"},
	{Rejected, undiscovered(false),
		"the server lists no models, so no probe was sent: check host, port and path in the URL and the API key; " +
			"where API and model are given (--api, --model) it is probed anyway"},
	{Rejected, nil,
		"see the server's message: often prompt and answer together are longer than the model's context " +
			"(PROBER_PROMPT_TOKENS, --prompt-tokens; PROBER_MAX_TOKENS, --max-tokens)"},

	{ServerError, failedFor(ErrNoBackend),
		"the gateway has no server left to ask: check the model servers behind it, and how it finds them; HAProxy says the " +
			"same when its queue is full (maxconn, timeout queue)"},
	{ServerError, failedFor(ErrLoading),
		"wait until the server has loaded its model; if that takes longer than usual, check its log, and whether it is " +
			"restarted again and again"},
	{ServerError, withStatus(504, 524),
		"a proxy's own limit of time ended before the server answered (Envoy: 15 s by default, nginx: 60 s, Cloudflare: " +
			"100 s): check the server's load, or raise that limit (timeout of the route, proxy_read_timeout)"},
	{ServerError, withStatus(525, 526),
		"Cloudflare got no TLS connection to the server behind it: check that server's certificate"},
	{ServerError, failedFor(ErrGateway),
		"a proxy got no answer from the server behind it: check that server"},
	{ServerError, withStatus(502),
		"a proxy got no answer from the server behind it: check that server"},
	{ServerError, withStatus(408),
		"the server gave up waiting for a free replica: check its queue and its number of replicas"},
	{ServerError, func(r *Result) bool { return r.Status >= 200 && r.Status < 300 },
		"the server reported an error in place of the answer or inside it: check its log at that time"},
	{ServerError, nil,
		"check the server's log at that time"},

	{Filtered, nil,
		"a content filter stopped the answer, not the engine: exempt the probes, or choose another PROBER_PROMPT " +
			"(--prompt)"},
	{Truncated, allOf(fromServer("ollama"), failedFor(ErrNoFinish)),
		"Ollama breaks off an answer in which one token is repeated about 30 times: look at what the model " +
			"answers, and try another one"},
	{Truncated, failedFor(ErrNoFinish),
		"the stream ended without saying why: check the server's log for a restart or crash, and whether a proxy in " +
			"front of it drops the last frames or has a timeout; HTTP cannot always tell such an end from a good one"},
	{Truncated, failedFor(ErrNoPlainAnswer),
		"something closed the connection before the answer: check for a restart or crash of the server, or a timeout " +
			"in a proxy in front of it; if the port speaks TLS, use https:// in the URL"},
	{Truncated, nil,
		"something closed the connection too early: check for a restart or crash of the server, or a read or " +
			"idle timeout in a proxy in front of it"},
	{Malformed, failedFor(ErrHTTPVersion), versionHint},
	{Malformed, failedFor(ErrSpeaksTLS),
		"the port speaks TLS: use https:// in the URL, or the port for HTTP"},
	{Malformed, failedFor(ErrCoding),
		"the server, or a proxy in front of it, compresses the answer, although the prober asks it not to: turn that off " +
			"for event streams"},
	{Malformed, failedFor(ErrInvalidHTTP),
		"check that the port is the server's; if it is, a framework or a proxy breaks the rules of HTTP, for example " +
			"by setting a header that the other one sets as well (Transfer-Encoding, Content-Length)"},
	{Malformed, nil,
		"the stream has data that are not of this API: something between server and prober writes into it, or the server " +
			"speaks another one (PROBER_TARGETS_n_API, --api)"},
	{NotStreamed, nil,
		"a proxy or login page answered, the path is wrong, or the server does not stream: check the URL"},
	{Empty, allOf(fromServer("llama-cpp-python"), failedFor(ErrNothing)),
		"most likely the prompt is longer than the server's context, which it answers with an empty stream: " +
			"raise its --n_ctx, or lower PROBER_PROMPT_TOKENS (--prompt-tokens)"},
	{Empty, failedFor(ErrNothing),
		"the server or a proxy gave up before the first frame: check the server's log; if a short prompt is " +
			"answered (--prompt-tokens 100), this one is longer than the server's context"},
	{Empty, nil,
		"the model ended at once, or a proxy dropped the frames: compare with a request that bypasses the proxy, " +
			"and with another PROBER_TARGETS_n_API (--api)"},
	{WrongLength, failedFor(ErrPieces),
		"ask for at most one piece or for whole ones (PROBER_MAX_TOKENS, --max-tokens); each piece begins with a " +
			"prefill of its own, which is a long gap"},
	{WrongLength, failedFor(ErrUnlimited),
		"the server ignores the field that limits the answer: set its type (PROBER_TARGETS_n_SERVER, --server) " +
			"or another API (--api)"},
	{WrongLength, failedFor(ErrEndedEarly),
		"the finish reason says why: look at what the model answers if it repeated itself, and at the server's limit of " +
			"time if that ended it"},
	{WrongLength, nil,
		"the server cut the prompt or ended early: check the model's context length, and whether it honours " +
			"min_tokens and ignore_eos"},
	{WrongAnswer, nil,
		"check the weights, quantization and sampling settings"},
}

const stuckHint = "the server, or a proxy in front of it, breaks HTTP in a way that hangs the client: look at what " +
	"changed there, and try the other PROBER_HTTP_VERSION (--http-version)"

const versionHint = "the server does not speak this version of HTTP there: set the other PROBER_HTTP_VERSION " +
	"(--http-version 1.1 or 2)"

const creditHint = "the account of this API key has run out of credit, or has a limit of its own: check its balance " +
	"and billing; the length of prompts is not the matter"

const raise = "if that is normal here, raise PROBER_TIMEOUT (--timeout)"

// failedFor fits results that failed for one of the causes.
func failedFor(causes ...error) func(*Result) bool {
	return func(r *Result) bool {
		return slices.ContainsFunc(causes, func(cause error) bool { return errors.Is(r.Err, cause) })
	}
}

// failedAs fits results that failed for an error of type E, and of those only where the error fits; nil: all.
func failedAs[E error](fits func(E) bool) func(*Result) bool {
	return func(r *Result) bool {
		err, ok := errors.AsType[E](r.Err)
		return ok && (fits == nil || fits(err))
	}
}

// withStatus fits results with one of the HTTP statuses.
func withStatus(codes ...int) func(*Result) bool {
	return func(r *Result) bool { return slices.Contains(codes, r.Status) }
}

// withCredentials fits results whose request carried that kind of credentials.
func withCredentials(kind Credentials) func(*Result) bool {
	return func(r *Result) bool { return r.Credentials == kind }
}

// fromServer fits results whose server is of that type.
func fromServer(server string) func(*Result) bool {
	return func(r *Result) bool { return r.Server == server }
}

// allOf fits results that both fit.
func allOf(one, other func(*Result) bool) func(*Result) bool {
	return func(r *Result) bool { return one(r) && other(r) }
}

// undiscovered fits results whose server was asked for its models in vain; unanswered: only those that got no answer.
func undiscovered(unanswered bool) func(*Result) bool {
	return func(r *Result) bool {
		sent, ok := r.Undiscovered()
		return ok && (sent || !unanswered)
	}
}
