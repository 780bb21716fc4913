package probe

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/llm-prober/prober/internal/wire"
)

// from makes a server say who it is.
func from(name string, server http.HandlerFunc) http.HandlerFunc {
	return withHeader("Server", name, server)
}

// withHeader makes a server send a header as well.
func withHeader(name, value string, server http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(name, value)
		server(w, r)
	}
}

// TestWordsInHeaders holds that what a header alone says is shown, once.
func TestWordsInHeaders(t *testing.T) {
	const challenge = `Bearer error="invalid_token", error_description="The token expired"`
	for name, test := range map[string]struct {
		server http.HandlerFunc
		want   Outcome
		text   string
	}{
		"OAuth without a body": {withHeader("WWW-Authenticate", challenge, answers(401, "", "")), Unauthorized,
			"HTTP 401: invalid_token: The token expired"},
		"OAuth with a body": {withHeader("WWW-Authenticate", challenge, reply(401, `{"error":"The token expired"}`)),
			Unauthorized, "HTTP 401: The token expired"},
		"AWS": {withHeader("X-Amzn-ErrorType", "ThrottlingException:http://a/", reply(400, `{"message":"slow down"}`)),
			RateLimited, "HTTP 400: ThrottlingException: slow down"},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, test.server)
			endsAs(t, target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 3}), test.want, test.text)
		})
	}
}

// redirects leads to another place.
func redirects(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}

// TestWordsGoBeforeTheStatus holds failures for which the status alone is wrong or says nothing: their outcome, and the
// reason that the hint follows.
func TestWordsGoBeforeTheStatus(t *testing.T) {
	unfinished := tokens(3, ms).stream
	for name, test := range map[string]struct {
		server http.HandlerFunc
		want   Outcome
		reason Reason
	}{
		"LiteLLM, another model": {reply(400, `{"error":{"message":"Invalid model name passed in model=nope",`+
			`"code":"400"}}`), Rejected, ReasonModelNotFound},
		"transformers, another model": {reply(400, `{"detail":"Server is pinned to 'a'; requested 'b'."}`),
			Rejected, ReasonModelNotFound},
		"Dynamo, another model": {reply(404, `{"message":"Model not found","type":"Not Found","code":404}`),
			Rejected, ReasonModelNotFound},
		"LiteLLM without a database": {reply(400,
			`{"error":{"message":"No connected db.","type":"no_db_connection","code":"400"}}`), Unauthorized, ReasonKeyRejected},
		"LiteLLM without a backend": {
			reply(429, `{"error":{"message":"No deployments available for selected model",`+
				`"type":"all_deployments_in_cooldown","code":"429"}}`),
			ServerError, ReasonNoBackendLeft,
		},
		"HAProxy without a server": {answers(503, "text/html", "<html><body><h1>503 Service Unavailable</h1>\n"+
			"No server is available to handle this request.\n</body></html>"), ServerError, ReasonNoBackendLeft},
		"Envoy without a server": {answers(503, "text/plain", "no healthy upstream"), ServerError, ReasonNoBackendLeft},
		"Envoy before a dead server": {answers(503, "text/plain", "upstream connect error or disconnect/reset before "+
			"headers. reset reason: remote connection failure, transport failure reason: delayed connect error: 111"),
			ServerError, ReasonNoBackendLeft},
		"Envoy with too much to do": {answers(503, "text/plain", "upstream connect error or disconnect/reset before "+
			"headers. reset reason: overflow"), Overloaded, ReasonServerOverloaded},
		"Envoy before a server that died": {answers(503, "text/plain", "upstream connect error or disconnect/reset before "+
			"headers. reset reason: connection termination"), ServerError, ReasonGatewayGotNoAnswer},
		"SGLang's router without a worker": {reply(503, `{"error":{"type":"Service Unavailable",`+
			`"code":"no_available_workers","message":"No available workers (all circuits open or unhealthy)"}}`),
			ServerError, ReasonNoBackendLeft},
		"llm-d's router without a pod": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Llm-D-Request-Dropped-Reason", "rejected-no-endpoints")
			answers(503, "text/plain", "inference error: ServiceUnavailable - none")(w, r)
		}, ServerError, ReasonNoBackendLeft},
		"llm-d's router that sheds": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Llm-D-Request-Dropped-Reason", "rejected-saturated")
			answers(429, "text/plain", "inference error: ResourceExhausted - full")(w, r)
		}, RateLimited, ReasonRateLimitReached},
		"Caddy without a server":  {from("Caddy", answers(503, "", "")), ServerError, ReasonNoBackendLeft},
		"Envoy without a cluster": {from("envoy", answers(503, "", "")), Overloaded, ReasonAnsweredByGateway},
		"a server behind Envoy": {from("envoy", withHeader("X-Envoy-Upstream-Service-Time", "3", answers(503, "", ""))),
			Overloaded, ReasonServerOverloaded},
		"Cloudflare before a dead server": {answers(521, "text/plain", "error code: 521"), ServerError, ReasonNoBackendLeft},
		"Cloudflare without a word":       {answers(522, "", ""), ServerError, ReasonNoBackendLeft},
		"Cloudflare without a tunnel": {answers(530, "text/plain", "error code: 1033"),
			ServerError, ReasonNoBackendLeft},
		"Cloudflare before a slow server": {answers(524, "text/plain", "error code: 524"),
			ServerError, ReasonGatewayTimeout},
		"Cloudflare before another server": {answers(526, "", ""), ServerError, ReasonGatewayGotNoTLS},
		"a load balancer of AWS without a target": {from("awselb/2.0", answers(503, "text/html",
			"<html><head><title>503 Service Temporarily Unavailable</title></head></html>")), ServerError, ReasonNoBackendLeft},
		"nginx's limit": {from("nginx", answers(503, "text/html", "<html><title>503 Service Temporarily Unavailable</title>"+
			"<hr><center>nginx/1.22.1</center></html>")), Overloaded, ReasonAnsweredByGateway},
		"a page of the model server": {from("BaseHTTP/0.6 Python/3.11.7", answers(503, "text/html", "<html>no</html>")),
			Overloaded, ReasonServerOverloaded},
		"llama-server that loads": {reply(503,
			`{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`),
			ServerError, ReasonModelStillLoading},
		"KServe that loads": {reply(503, `{"error":"Model with name m is not ready."}`),
			ServerError, ReasonModelStillLoading},
		"a model that cannot be loaded": {reply(500, `{"error":"error loading model: out of memory"}`),
			ServerError, ReasonInternalError},
		"nginx that speaks TLS": {answers(400, "text/html",
			"<html><center>The plain HTTP request was sent to HTTPS port</center></html>"), Rejected, ReasonPortSpeaksTLS},
		"Go that speaks TLS": {answers(400, "text/plain", "Client sent an HTTP request to an HTTPS server.\n"),
			Rejected, ReasonPortSpeaksTLS},
		"nginx that wants a certificate": {answers(400, "text/html",
			"<title>400 No required SSL certificate was sent</title>"), Rejected, ReasonClientCertificateMissing},
		"a login": {redirects("https://login.example.com/authorize?state=1"),
			Unauthorized, ReasonRedirectedToLogin},
		"a redirect within": {redirects("/v2/chat/completions"), Rejected, ReasonRedirected},
		"Azure's filter": {reply(400, `{"error":{"message":"The response was filtered","code":"content_filter",`+
			`"status":400}}`), Filtered, ReasonContentFilter},
		"Bedrock's quota": {reply(400, `{"__type":"com.amazon#ServiceQuotaExceededException","message":"slow"}`),
			RateLimited, ReasonQuotaExhausted},
		"Bedrock's validation, in the header": {withHeader("X-Amzn-Errortype", "ValidationException",
			reply(400, `{"message":"Malformed input request"}`)), Rejected, ReasonRequestRejected},
		"Bedrock's rate, in a gateway's words": {reply(500, `{"detail":"An error occurred (ThrottlingException) when calling `+
			`the ConverseStream operation: Too many requests"}`), RateLimited, ReasonRateLimitReached},
		"a filter, as an event": {answers(400, "text/event-stream", "event: error\ndata: "+
			`{"error":{"message":"no","code":"content_filter"}}`+"\n\ndata: [DONE]\n\n"), Filtered, ReasonContentFilter},
		"Google's quota": {reply(403, `{"error":{"code":403,"message":"m","status":"RESOURCE_EXHAUSTED"}}`),
			RateLimited, ReasonRateLimitReached},
		"Moonshot's engine": {reply(429, `{"error":{"message":"m","type":"engine_overloaded_error"}}`),
			Overloaded, ReasonServerOverloaded},
		"no balance": {reply(402, `{"error":{"message":"m","type":"insufficient_balance"}}`),
			Rejected, ReasonNoQuotaOrCreditLeft},
		"402 alone": {answers(402, "", ""), Rejected, ReasonNoQuotaOrCreditLeft},
		"OpenRouter's": {reply(402, `{"error":{"message":"This request requires more credits","code":402}}`),
			Rejected, ReasonNoQuotaOrCreditLeft},
		"Anthropic's balance": {reply(400, `{"type":"error","error":{"type":"invalid_request_error","message":`+
			`"Your credit balance is too low to access the Anthropic API."}}`), Rejected, ReasonNoQuotaOrCreditLeft},
		"OpenAI's balance": {reply(429, `{"error":{"message":"You exceeded your current quota, please check your `+
			`plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`),
			RateLimited, ReasonNoQuotaOrCreditLeft},
		"a balance within a stream": {after(ms, role, `{"error":{"message":"m","type":"insufficient_quota"}}`).stream,
			RateLimited, ReasonNoQuotaOrCreditLeft},
		"402 after tokens": {tokens(2, ms).then(ms, `{"error":{"message":"Insufficient credits","code":402}}`).stream,
			Rejected, ReasonNoQuotaOrCreditLeft},
		"nginx and a long header": {answers(400, "text/html", "<title>400 Request Header Or Cookie Too Large</title>"+
			"<center><h1>400 Bad Request</h1></center><center>Request Header Or Cookie Too Large</center>"),
			Rejected, ReasonHeaderTooLong},
		"Apache and a long header": {answers(400, "text/html", "<title>400 Bad Request</title>"+
			"<p>Size of a request header field exceeds server limit.</p>"), Rejected, ReasonHeaderTooLong},
		"a long header": {answers(431, "", ""), Rejected, ReasonHeaderTooLong},
		"Portkey without its header": {reply(400,
			`{"status":"failure","message":"Either x-portkey-config or x-portkey-provider header is required"}`),
			Rejected, ReasonHeaderMissing},
		"a prompt that is too long": {reply(400, `{"error":{"message":"This model's maximum context length is 4096 tokens"}}`),
			Rejected, ReasonLongerThanContext},
		"TGI without a template": {reply(400,
			`{"error":"Template error: template not found","error_type":"template_error"}`), Rejected, ReasonNoChatTemplate},
		"vLLM without a template": {reply(400,
			`{"message":"you must provide a chat template if the tokenizer does not define"}`), Rejected, ReasonNoChatTemplate},
		"a wrong parameter": {reply(400, `{"error":{"message":"max_tokens must be at least 1"}}`),
			Rejected, ReasonRequestRejected},
		"an empty stream":           {answers(200, "text/event-stream", ""), Empty, ReasonEmptyStream},
		"a stream without a reason": {unfinished, Truncated, ReasonNoFinishReason},
		"a quota": {reply(429, `{"error":{"message":"Rate limit reached for model a","code":"429"}}`),
			RateLimited, ReasonRateLimitReached},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, test.server)
			target.Key = "Invalid model" // what hides it keeps the reason
			r := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 3})
			endsAs(t, r, test.want, "")
			if r.Reason != test.reason {
				t.Errorf("%v: the reason is %q, want %q", r.Err, r.Reason, test.reason)
			}
		})
	}
}

// TestErrorsOfTheModelList holds that an error in place of the list of models says whose fault it is as well.
func TestErrorsOfTheModelList(t *testing.T) {
	for name, test := range map[string]struct {
		list   http.HandlerFunc
		want   Outcome
		says   string
		reason Reason
	}{
		"a key, with 200": {reply(200, `{"error":"Unauthorized"}`), Unauthorized, "Unauthorized", ReasonKeyMissing},
		"a quota, with 200": {reply(200, `{"code":429,"message":"slow down"}`),
			RateLimited, "429: slow down", ReasonRateLimitReached},
		"a typed 401": {answers(401, "text/event-stream", `{"error":"no key"}`), Unauthorized,
			"HTTP 401: no key", ReasonKeyMissing},
		"no server, with 503": {answers(503, "text/plain", "no healthy upstream"), ServerError,
			"no server left", ReasonNoBackendLeft},
		"a page": {answers(200, "text/html", "<title>Sign in</title><style>b{}</style>"), NotStreamed,
			"instead of a stream: Sign in", ReasonNotAStream},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, test.list)
			target.Dialect = nil
			r := NewMember(target, "", 1).Probe(t.Context(), question(2))
			endsAs(t, r, test.want, test.says)
			if r.Reason != test.reason {
				t.Errorf("%v, want the reason %v", r.Err, test.reason)
			}
		})
	}
}

// TestAPortThatEveryRequestFindsWrong holds that no probe is sent once a reply has said so: a server that does not read
// it may reset the connection before its own words arrive.
func TestAPortThatEveryRequestFindsWrong(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		reason Reason
	}{
		"TLS": {400, "Client sent an HTTP request to an HTTPS server.\n", ReasonPortSpeaksTLS},
		"a certificate": {400,
			"<html><title>400 No required SSL certificate was sent</title></html>", ReasonClientCertificateMissing},
	} {
		for _, model := range []string{"", "m"} {
			for _, dialect := range []*wire.Dialect{nil, assumedDialect} {
				inBubble(t, fmt.Sprintf("%s, model %q, API %t", name, model, dialect != nil), func(t *testing.T) {
					probes := 0
					target := serve(t, func(w http.ResponseWriter, r *http.Request) {
						if r.Method == http.MethodPost {
							probes++
						}
						answers(test.status, "text/html", test.body)(w, r)
					})
					target.Dialect = dialect
					m := NewMember(target, model, 1)
					_, err := m.Identify(t.Context(), AnyAge)
					if ReasonOf(err) != test.reason || MayAnswer(err) {
						t.Errorf("introduced: %v, want %v", err, test.reason)
					}
					if dialect != nil && model != "" {
						return // and not asked before a probe
					}
					r := m.Probe(t.Context(), question(2))
					endsAs(t, r, Rejected, "/v1/models")
					if probes > 0 || r.Reason != test.reason || !r.NotSent {
						t.Errorf("%d probes; %v: %s, not sent: %t", probes, r.Err, r.Reason, r.NotSent)
					}
				})
			}
		}
	}
}

// TestAnEndWithoutAFinishReason holds that the text says whether the protocol's end came.
func TestAnEndWithoutAFinishReason(t *testing.T) {
	const says = "after 2 token frames without a finish reason"
	for want, server := range map[string]script{
		says: tokens(2, ms),
		says + ", although its end ([DONE] or the like) came": tokens(2, ms).then(ms, done),
	} {
		inBubble(t, want, func(t *testing.T) {
			r := serve(t, server.stream).Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 3})
			endsAs(t, r, Truncated, want)
			equal(t, "text", "stream ended "+want, r.Err.Error())
		})
	}
}

// TestAListedModelThatIsNotServed holds that nobody is told to take the model of the list if that was done.
func TestAListedModelThatIsNotServed(t *testing.T) {
	for _, model := range []string{"", "unknown"} {
		inBubble(t, "configured: "+model, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v1/models" {
					reply(200, `{"data":[{"id":"unknown","object":"model"}]}`)(w, r)
					return
				}
				reply(404, "{\"error\":{\"message\":\"The model `unknown` does not exist.\",\"code\":404}}")(w, r)
			})
			r := NewMember(target, model, 1).Probe(t.Context(), question(2))
			endsAs(t, r, Rejected, "does not exist")
			isListed := r.Reason == ReasonListedModelNotServed
			if isListed != (model == "") {
				t.Errorf("%v: %s", r.Err, r.Reason)
			}
		})
	}
}
