package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// Failure returns how r failed and what is known of it, in one line that is fit for a terminal.
func Failure(r *probe.Result) string {
	if r.Err == nil {
		return string(r.Outcome)
	}
	return string(r.Outcome) + ": " + format.Clean(r.Err.Error())
}

// Hint returns what to do about a failed result, in one sentence that names settings as places do; empty for results
// that are ok or canceled, unless the prober itself failed.
func Hint(r *probe.Result, places Places) string {
	i := slices.IndexFunc(hints, func(h hint) bool { return h.fits(r) })
	if i < 0 {
		return ""
	}
	return askedToWait(r) + places.fill(hints[i].text)
}

// askedToWait returns that a server asked for a pause, before what to do about it; empty where it did not.
func askedToWait(r *probe.Result) string {
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

// Places say where the settings of a target are written, or would be, in the form that its user uses: "model in
// targets.yaml:21", "PROBER_TARGETS_0_MODEL" or "--model". The settings are named as in a targets file; api_key stands
// for the file of the key as well. A setting without a place is named as the documentation does.
type Places map[string]string

// documented are the names that the documentation gives the settings of hints and notes. The map is only read.
var documented = Places{
	"api":               "PROBER_TARGETS_n_API, --api",
	"api_key":           "PROBER_API_KEY_FILE, --api-key-file or PROBER_API_KEY",
	"body":              "PROBER_BODY, --body",
	"ca_file":           "PROBER_TARGETS_n_CA_FILE, --ca-file",
	"cert_file":         "PROBER_TARGETS_n_CERT_FILE, --cert-file",
	"headers":           "PROBER_TARGETS_n_HEADERS",
	"http_version":      "PROBER_HTTP_VERSION, --http-version",
	"max_in_flight":     "PROBER_MAX_IN_FLIGHT, --max-in-flight",
	"max_tokens":        "PROBER_MAX_TOKENS, --max-tokens",
	"model":             "PROBER_TARGETS_n_MODEL, --model",
	"oauth_client_auth": "PROBER_OAUTH_CLIENT_AUTH, --oauth-client-auth",
	"oauth_client_id":   "PROBER_OAUTH_CLIENT_ID, --oauth-client-id",
	"oauth_secret":      "PROBER_OAUTH_SECRET_FILE, --oauth-secret-file",
	"oauth_scopes":      "PROBER_OAUTH_SCOPES, --oauth-scopes",
	"oauth_token_url":   "PROBER_OAUTH_TOKEN_URL, --oauth-token-url",
	"path":              "PROBER_TARGETS_n_PATH, --path",
	"prompt":            "PROBER_PROMPT, --prompt",
	"prompt_tokens":     "PROBER_PROMPT_TOKENS, --prompt-tokens",
	"qps":               "PROBER_QPS, --qps",
	"server":            "PROBER_TARGETS_n_SERVER, --server",
	"stall_timeout":     "PROBER_STALL_TIMEOUT, --stall-timeout",
	"timeout":           "PROBER_TIMEOUT, --timeout",
	"tls_server_name":   "PROBER_TARGETS_n_TLS_SERVER_NAME, --tls-server-name",
}

// Of returns the place of a setting that hints or notes name.
func (p Places) Of(setting string) string { return cmp.Or(p[setting], documented[setting]) }

// fill returns a text with the place of each setting that stands in it in braces: "the model ({model})".
func (p Places) fill(text string) string {
	var pairs []string
	for setting := range documented {
		pairs = append(pairs, "{"+setting+"}", p.Of(setting))
	}
	return strings.NewReplacer(pairs...).Replace(text) // in one pass: a place may have braces of its own
}

// A hint is what to do about the results of an outcome.
type hint struct {
	outcome probe.Outcome
	reason  probe.Reason             // only those of this reason; empty: of any
	when    func(*probe.Result) bool // and only those; nil: all
	text    string                   // with the settings in braces
}

func (h hint) fits(r *probe.Result) bool {
	isOfReason := h.reason == "" || h.reason == r.Reason
	return h.outcome == r.Outcome && isOfReason && (h.when == nil || h.when(r))
}

// hints has a hint for each outcome that is a failure, and for the reasons of which more is known. The first that fits
// counts. The list is only read.
var hints = slices.Concat(connectionHints, refusalHints, requestHints, serverHints, answerHints)

var connectionHints = []hint{
	{probe.Canceled, "", func(r *probe.Result) bool { return r.Stack != nil },
		"the prober itself failed, which says nothing about the server: please report it, with what it was asked to do"},

	{probe.DNS, probe.ReasonToken, nil, tokenServerHint},
	{probe.Connect, probe.ReasonToken, nil, tokenServerHint},
	{probe.TLS, probe.ReasonToken, nil, tokenServerHint},
	{probe.Timeout, probe.ReasonToken, nil, tokenServerHint},
	{probe.DNS, "", nil,
		"check the host name in the URL, and that the resolver of this machine or pod answers"},

	{probe.Connect, probe.ReasonProxyWantsCredentials, nil,
		"give the proxy's user and password in that variable (http://user:password@host:port), or name the target's host " +
			"in NO_PROXY"},
	{probe.Connect, probe.ReasonProxyFailed, nil,
		"check that proxy, whether it may and can reach the target, or name the target's host in NO_PROXY to go without it"},
	{probe.Connect, probe.ReasonWrongHTTPVersion, nil,
		"set the HTTP version to 1.1 ({http_version}), or name the target's host in NO_PROXY"},
	{probe.Connect, probe.ReasonConnectionRefused, nil,
		"nothing listens there: check host and port in the URL, and that the server runs"},
	{probe.Connect, probe.ReasonHostUnreachable, nil,
		"there is no route to that address: check the URL and the network"},
	{probe.Connect, probe.ReasonConnectionReset, nil,
		"the other side closed the connection at once: check that the port is the server's, and the load " +
			"balancer in front of it"},
	{probe.Connect, probe.ReasonConnectTimeout, nil,
		"no answer from that address: check the URL, firewalls and network policies"},
	{probe.Connect, "", nil,
		"check host and port in the URL, and that the server runs"},

	{probe.TLS, probe.ReasonUnknownAuthority, nil,
		"the server's certificate is signed by an unknown authority: give the authority's certificate ({ca_file})"},
	{probe.TLS, probe.ReasonCertificateForAnotherName, nil,
		"the server's certificate is for other names: use one of them in the URL, or give it as the server's name " +
			"({tls_server_name})"},
	{probe.TLS, probe.ReasonCertificateExpired, nil, certificateTimeHint},
	{probe.TLS, probe.ReasonCertificateNotYetValid, nil, certificateTimeHint},
	{probe.TLS, probe.ReasonPortWithoutTLS, nil,
		"the server does not speak TLS on that port: use http:// in the URL, or the port for HTTPS"},
	{probe.TLS, probe.ReasonWrongHTTPVersion, nil, versionHint},
	{probe.TLS, "", nil,
		"check that the port speaks TLS, the certificates to trust ({ca_file}) and, if the server wants one, the client's " +
			"({cert_file})"},

	{probe.Timeout, probe.ReasonHTTPClientStuck, nil, stuckHint},
	{probe.Stalled, probe.ReasonHTTPClientStuck, nil, stuckHint},
	{probe.Timeout, probe.ReasonNameLookupTimeout, nil, unsentHint},
	{probe.Timeout, probe.ReasonConnectTimeout, nil, unsentHint},
	{probe.Timeout, probe.ReasonTLSHandshakeTimeout, nil, unsentHint},
	{probe.Timeout, probe.ReasonRequestNotSentInTime, nil, unsentHint},
	{probe.Timeout, probe.ReasonNoAnswerInTime, func(r *probe.Result) bool { return r.NotSent },
		"the server was asked for its models and did not answer, so no probe was sent: check its load and the " +
			"proxies in front of it; where API and model are given ({api}; {model}) it is probed anyway"},
	{probe.Timeout, probe.ReasonStreamTooSlow, nil,
		"tokens arrived too slowly: check the server's load; if that is normal here, raise the limit ({timeout}) or ask " +
			"for fewer tokens ({max_tokens})"},
	{probe.Timeout, "", nil,
		"the request was sent and no token arrived: check the server's queue and proxies that buffer answers; if that is " +
			"normal here, raise the limit ({timeout})"},
	{probe.Stalled, "", nil,
		"check the engine's log at that time (preemption, a crashed worker, no KV cache left); if such pauses " +
			"are normal here, raise the limit ({stall_timeout})"},
}

const (
	tokenServerHint = "the token server could not be used, and the target was not asked: check its URL " +
		"({oauth_token_url}), that it answers from here, and the authorities to trust ({ca_file})"

	certificateTimeHint = "the server's certificate has expired or is not valid yet: renew it, or set this machine's clock"

	unsentHint = "the request was never sent: check the network and what accepts connections for the server"

	stuckHint = "the server, or a proxy in front of it, breaks HTTP in a way that hangs the client: look at what " +
		"changed there, and try the other version of HTTP ({http_version})"

	versionHint = "the server does not speak this version of HTTP there: set the other one, 1.1 or 2 ({http_version})"

	creditHint = "the account of this API key has run out of credit, or has a limit of its own: check its balance " +
		"and billing; the length of prompts is not the matter"

	bodyHint = "the server does not take a field of the body ({body}), which its message names: take it out or correct " +
		"it; it is not left out by itself, because the answers would be other ones"
)

// refusalHints are for answers that say something about our key, quota and prompt.
var refusalHints = []hint{
	{probe.Unauthorized, probe.ReasonRedirectedToLogin, nil, loginHint},
	{probe.Unauthorized, probe.ReasonRedirectedToAnotherHost, nil, loginHint},
	{probe.Unauthorized, probe.ReasonToken, nil,
		"the token server refuses this client, and the target was not asked: check its id ({oauth_client_id}), its " +
			"secret ({oauth_secret}), its scopes ({oauth_scopes}), and how the two are sent ({oauth_client_auth})"},
	{probe.Unauthorized, "", func(r *probe.Result) bool { return r.Status == 403 && hasNoKey(r) },
		"no API key is configured and none was sent: set one ({api_key}), or check what in front of the server rejects " +
			"this client"},
	{probe.Unauthorized, "", func(r *probe.Result) bool { return r.Status == 403 },
		"this API key ({api_key}) may not use the model, or something in front of the server rejects this client"},
	{probe.Unauthorized, "", func(r *probe.Result) bool { return r.Credentials == probe.CredentialsToken },
		"the server does not accept the token: check its scopes ({oauth_scopes}), and which clients the server admits"},
	{probe.Unauthorized, "", hasNoKey,
		"no API key is configured and none was sent: set one ({api_key})"},
	{probe.Unauthorized, "", func(r *probe.Result) bool { return r.Credentials == probe.CredentialsPrefixed },
		"the API key begins with Bearer: give the key alone ({api_key}), the prober adds the prefix"},
	{probe.Unauthorized, "", func(r *probe.Result) bool { return r.Credentials == probe.CredentialsInHeader },
		"check the credentials among the configured headers ({headers})"},
	{probe.Unauthorized, "", nil,
		"check the API key ({api_key})"},

	{probe.RateLimited, probe.ReasonNoQuotaOrCreditLeft, nil, creditHint},
	{probe.RateLimited, probe.ReasonRateLimitOfGateway, nil,
		"a gateway in front of the server limits the rate: lower ours ({qps}) or exempt the probes there"},
	{probe.RateLimited, "", nil,
		"lower the rate of probes ({qps}) or raise the quota of this key"},
	{probe.Filtered, "", nil,
		"a content filter stopped the answer, not the engine: exempt the probes, or choose another prompt ({prompt})"},
}

const loginHint = "a login page in front of the server answered: give an API key ({api_key}) or headers ({headers}) " +
	"that it accepts, or a URL that leads around it; if the server has moved, its new URL"

func hasNoKey(r *probe.Result) bool { return r.Credentials == probe.CredentialsNone }

// requestHints are for requests that the server does not take as they are.
var requestHints = []hint{
	{probe.Rejected, probe.ReasonNoQuotaOrCreditLeft, nil, creditHint},
	{probe.Rejected, probe.ReasonHeaderTooLong, nil,
		"the request's header is too long for the server or a proxy: shorten the API key ({api_key}) or the headers " +
			"({headers}), or raise the limit there; the prompt is not the matter"},
	{probe.Rejected, probe.ReasonModelGone, nil,
		"it answered before: check that the engine's workers run and have loaded the model, and that nothing was " +
			"renamed or removed on the way to them"},
	{probe.Rejected, probe.ReasonNoModelLoaded, nil,
		"the server answers, but has no model: check that the engine's workers run, and that one of them has " +
			"loaded its model"},
	{probe.Rejected, probe.ReasonNoChatTemplate, nil,
		"the model has no chat template: ask it for completions ({api}: openai-completions, or the server's own API), or " +
			"give the server a template"},
	{probe.Rejected, probe.ReasonFieldOfBodyRejected, nil, bodyHint},
	{probe.Rejected, probe.ReasonLongerThanContext, nil,
		"prompt and answer together are longer than the model's context: lower the tokens of the prompt ({prompt_tokens}) " +
			"or of the answer ({max_tokens})"},
	{probe.Rejected, probe.ReasonWrongHTTPVersion, nil, versionHint},
	{probe.Rejected, probe.ReasonPortSpeaksTLS, nil,
		"the port speaks TLS: use https:// in the URL"},
	{probe.Rejected, probe.ReasonClientCertificateMissing, nil,
		"the server wants a client certificate: give one ({cert_file})"},
	{probe.Rejected, probe.ReasonListedModelNotServed, nil,
		"the server lists this model first, but does not serve it: name one that it serves ({model})"},
	{probe.Rejected, probe.ReasonModelNotFound, nil,
		"the server does not serve this model: compare its name ({model}) with what GET /v1/models lists, or leave it out " +
			"to take the first of these"},
	{probe.Rejected, probe.ReasonHeaderMissing, nil,
		"the gateway wants a header that the message names: set it ({headers})"},
	{probe.Rejected, probe.ReasonModelOrPathNotFound, nil,
		"the server does not know the model or the path: compare the model's name ({model}) with GET /v1/models, and check " +
			"the URL: a path in the URL is used as it is, and often ends with /v1"},
	{probe.Rejected, probe.ReasonWorkloadNotOfAPI, nil,
		"set the API to openai-chat if the server has it ({api}), or choose another workload ({prompt})"},
	{probe.Rejected, probe.ReasonMethodNotAllowed, nil,
		"the path does not accept such requests: check the URL and the API ({api})"},
	{probe.Rejected, probe.ReasonRequestTooLarge, nil,
		"the prompt is too long for the server or a proxy: raise the limit there, or lower the tokens of the prompt " +
			"({prompt_tokens})"},
	{probe.Rejected, probe.ReasonRedirected, nil,
		"probes do not follow redirects, not even on the same host: configure where the message says it leads, as the URL " +
			"and, where only the path differs, as the path ({path})"},
	{probe.Rejected, probe.ReasonNoListOfModels, nil,
		"the server lists no models, so no probe was sent: check host, port and path in the URL and the API key; " +
			"where API and model are given ({api}; {model}) it is probed anyway"},
	{probe.Rejected, "", nil,
		"see the server's message: often prompt and answer together are longer than the model's context " +
			"({prompt_tokens}; {max_tokens})"},
}

// serverHints are for servers, and gateways before them, that cannot answer.
var serverHints = []hint{
	{probe.Overloaded, probe.ReasonStreamRefused, nil,
		"the server, or a proxy in front of it, refuses more work for now: check its load, and its limits of streams and " +
			"requests of HTTP/2"},
	{probe.Overloaded, probe.ReasonAnsweredByGateway, nil,
		"a gateway answered, not the model server: its rate limit, maintenance, or no server left to ask; its log says " +
			"which"},
	{probe.Overloaded, "", nil,
		"other clients are rejected as well; check the server's queue and its number of replicas"},

	{probe.ServerError, probe.ReasonNoBackendLeft, nil,
		"the gateway has no server left to ask: check the model servers behind it, and how it finds them; HAProxy says the " +
			"same when its queue is full (maxconn, timeout queue)"},
	{probe.ServerError, probe.ReasonModelStillLoading, nil,
		"wait until the server has loaded its model; if that takes longer than usual, check its log, and whether it is " +
			"restarted again and again"},
	{probe.ServerError, probe.ReasonFieldOfBodyRejected, nil, bodyHint},
	{probe.ServerError, probe.ReasonGatewayTimeout, nil,
		"a proxy's own limit of time ended before the server answered (Envoy: 15 s by default, nginx: 60 s, Cloudflare: " +
			"100 s): check the server's load, or raise that limit (timeout of the route, proxy_read_timeout)"},
	{probe.ServerError, probe.ReasonGatewayGotNoTLS, nil,
		"Cloudflare got no TLS connection to the server behind it: check that server's certificate"},
	{probe.ServerError, probe.ReasonGatewayGotNoAnswer, nil,
		"a proxy got no answer from the server behind it: check that server"},
	{probe.ServerError, probe.ReasonServerGaveUpWaiting, nil,
		"the server gave up waiting for a free replica: check its queue and its number of replicas"},
	{probe.ServerError, probe.ReasonErrorInAnswer, nil,
		"the server reported an error in place of the answer or inside it: check its log at that time"},
	{probe.ServerError, "", nil,
		"check the server's log at that time"},
}

// answerHints are for answers that began, and were not what was asked for.
var answerHints = []hint{
	{probe.Truncated, probe.ReasonNoFinishReason, isOf("ollama"),
		"Ollama breaks off an answer in which one token is repeated about 30 times: look at what the model " +
			"answers, and try another one"},
	{probe.Truncated, probe.ReasonNoFinishReason, nil,
		"the stream ended without saying why: check the server's log for a restart or crash, and whether a proxy in " +
			"front of it drops the last frames or has a timeout; HTTP cannot always tell such an end from a good one"},
	{probe.Truncated, probe.ReasonClosedBeforeAnswer, func(r *probe.Result) bool { return r.CertExpiry.IsZero() },
		"something closed the connection before the answer: check for a restart or crash of the server, or a timeout " +
			"in a proxy in front of it; if the port speaks TLS, use https:// in the URL"},
	{probe.Truncated, "", nil,
		"something closed the connection too early: check for a restart or crash of the server, or a read or " +
			"idle timeout in a proxy in front of it"},
	{probe.Malformed, probe.ReasonWrongHTTPVersion, nil, versionHint},
	{probe.Malformed, probe.ReasonPortSpeaksTLS, nil,
		"the port speaks TLS: use https:// in the URL, or the port for HTTP"},
	{probe.Malformed, probe.ReasonUnreadableCompression, nil,
		"the server, or a proxy in front of it, compresses the answer, although the prober asks it not to: turn that off " +
			"for event streams"},
	{probe.Malformed, probe.ReasonInvalidHTTP, nil,
		"check that the port is the server's; if it is, a framework or a proxy breaks the rules of HTTP, for example " +
			"by setting a header that the other one sets as well (Transfer-Encoding, Content-Length)"},
	{probe.Malformed, "", nil,
		"the stream has data that are not of this API: something between server and prober writes into it, or the server " +
			"speaks another one ({api})"},
	{probe.NotStreamed, "", nil,
		"a proxy or login page answered, the path is wrong, or the server does not stream: check the URL"},
	{probe.Empty, probe.ReasonEmptyStream, isOf("llama-cpp-python"),
		"most likely the prompt is longer than the server's context, which it answers with an empty stream: " +
			"raise its --n_ctx, or lower the tokens of the prompt ({prompt_tokens})"},
	{probe.Empty, probe.ReasonEmptyStream, nil,
		"the server or a proxy gave up before the first frame: check the server's log; if a short prompt is " +
			"answered ({prompt_tokens}), this one is longer than the server's context"},
	{probe.Empty, "", nil,
		"the model ended at once, or a proxy dropped the frames: compare with a request that bypasses the proxy, " +
			"and with another API ({api})"},
	{probe.WrongLength, probe.ReasonAnswerInPieces, nil,
		"ask for at most one piece or for whole ones ({max_tokens}); each piece begins with a prefill of its own, which is " +
			"a long gap"},
	{probe.WrongLength, probe.ReasonAnswerBeyondLimit, nil,
		"the server ignores the field that limits the answer: set its type ({server}) or another API ({api})"},
	{probe.WrongLength, probe.ReasonAnswerEndedEarly, nil,
		"the finish reason says why: look at what the model answers if it repeated itself, and at the server's limit of " +
			"time if that ended it"},
	{probe.WrongLength, "", nil,
		"the server cut the prompt or ended early: check the model's context length, and whether it honours " +
			"min_tokens and ignore_eos"},
	{probe.WrongAnswer, probe.ReasonDegenerate, nil,
		"most likely the logits are NaN, as after a broken kernel, quantization or KV cache: take the replica out of " +
			"rotation, and restart it"},
	{probe.WrongAnswer, probe.ReasonNoToolCall, nil,
		"the server passed on text instead of a call: check that it has a tool parser for this model (vLLM: " +
			"--enable-auto-tool-choice and --tool-call-parser), and that its chat template knows tools"},
	{probe.WrongAnswer, probe.ReasonNotJSON, nil,
		"the server did not keep the answer to the schema, or broke it while streaming: check its back end for structured " +
			"output and its tool parser; if the limit cut the answer, see if a higher one helps ({max_tokens})"},
	{probe.WrongAnswer, probe.ReasonHiddenWordsMissing, foundSome,
		"the server lost a part of the prompt: look at the attention window, chunked prefill and the transfer of the KV " +
			"cache, and see if a shorter prompt is answered well ({prompt_tokens})"},
	{probe.WrongAnswer, "", nil,
		"check the weights, quantization and sampling settings"},
}

// foundSome fits results of a canary whose answer had the words of some depths.
func foundSome(r *probe.Result) bool {
	return slices.ContainsFunc(r.Depths, func(d probe.Depth) bool { return d.Found })
}

// isOf fits results whose server is of that type.
func isOf(server string) func(*probe.Result) bool {
	return func(r *probe.Result) bool { return r.Server == server }
}
