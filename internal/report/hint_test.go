package report

import (
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
)

func TestEveryFailureHasAHint(t *testing.T) {
	for _, o := range append(probe.Outcomes(), probe.Canceled) {
		hint := Hint(&probe.Result{Outcome: o}, nil)
		if needed := o != probe.OK && o != probe.Canceled; (hint != "") != needed {
			t.Errorf("hint of %s is %q", o, hint)
		}
		if strings.HasSuffix(hint, ".") {
			t.Errorf("hint of %s ends with a stop: %q", o, hint)
		}
	}
}

// TestHintsNameSettings holds that all names in braces are settings, which have the names of the documentation where no
// other place is known.
func TestHintsNameSettings(t *testing.T) {
	for _, h := range hints {
		text := Places{}.fill(h.text)
		if strings.ContainsAny(text, "{}") {
			t.Errorf("%s %s: %s", h.outcome, h.reason, text)
		}
	}
	for setting, names := range documented {
		var key config.Key
		for _, k := range config.Reference() {
			if strings.HasSuffix(k.Variable, "_"+strings.ToUpper(setting)) && !strings.Contains(k.Variable, "OBJECTIVES") {
				key = k
				break
			}
		}
		if key.Variable == "" || !strings.Contains(names, key.Variable) || !strings.Contains(names, key.Flag) {
			t.Errorf("%s is called %s, but is %s, --%s", setting, names, key.Variable, key.Flag)
		}
	}
}

// TestHintsFollowPlaces holds that a hint names a setting where its user writes it.
func TestHintsFollowPlaces(t *testing.T) {
	lost := &probe.Result{Outcome: probe.Rejected, Reason: probe.ReasonModelNotFound}
	const want = "the server does not serve this model: compare its name (model in targets.yaml:21) with what GET " +
		"/v1/models lists, or leave it out to take the first of these"
	if got := Hint(lost, Places{"model": "model in targets.yaml:21"}); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	braced := Places{"timeout": "timeout in {qps}.yaml:3", "qps": "qps in {timeout}.yaml:4"}
	if got := braced.fill("{timeout}, {qps}"); got != "timeout in {qps}.yaml:3, qps in {timeout}.yaml:4" {
		t.Errorf("in files with braces: %s", got)
	}
}

func TestHintsFitTheFailure(t *testing.T) {
	with := func(o probe.Outcome, why probe.Reason) *probe.Result { return &probe.Result{Outcome: o, Reason: why} }
	of := func(server string, r *probe.Result) *probe.Result { r.Server = server; return r }
	overTLS := func(r *probe.Result) *probe.Result { r.CertExpiry = time.Unix(1, 0); return r }
	withCredentials := func(kind probe.Credentials, status int) *probe.Result {
		return &probe.Result{Outcome: probe.Unauthorized, Status: status, Credentials: kind}
	}
	for _, test := range []struct {
		r    *probe.Result
		want string
	}{
		{&probe.Result{Outcome: probe.Canceled, Stack: []byte("goroutine 1")}, "the prober itself failed"},
		{with(probe.Connect, probe.ReasonConnectionRefused), "nothing listens there"},
		{with(probe.Connect, probe.ReasonHostUnreachable), "no route"},
		{with(probe.Connect, probe.ReasonConnectionReset), "closed the connection at once"},
		{with(probe.Connect, probe.ReasonConnectTimeout), "no answer from"},
		{with(probe.Connect, probe.ReasonConnectionFailed), "check host and port"},
		{with(probe.TLS, probe.ReasonUnknownAuthority), "PROBER_TARGETS_n_CA_FILE"},
		{with(probe.TLS, probe.ReasonCertificateForAnotherName), "other names"},
		{with(probe.TLS, probe.ReasonCertificateExpired), "expired"},
		{with(probe.TLS, probe.ReasonCertificateNotYetValid), "expired"},
		{with(probe.TLS, probe.ReasonCertificateInvalid), "check that the port speaks TLS"},
		{with(probe.TLS, probe.ReasonPortWithoutTLS), "does not speak TLS"},
		{with(probe.Timeout, probe.ReasonConnectTimeout), "never sent"},
		{with(probe.Timeout, probe.ReasonNoAnswerInTime), "no token arrived"},
		{&probe.Result{Outcome: probe.Timeout, Reason: probe.ReasonNoAnswerInTime, NotSent: true}, "asked for its models"},
		{with(probe.Timeout, probe.ReasonStreamTooSlow), "too slowly"},
		{with(probe.Timeout, probe.ReasonHTTPClientStuck), "hangs the client"},
		{with(probe.Stalled, probe.ReasonHTTPClientStuck), "hangs the client"},
		{with(probe.Stalled, probe.ReasonStreamStalled), "the engine's log"},
		{withCredentials(probe.CredentialsGiven, 401), "check the API key"},
		{withCredentials(probe.CredentialsGiven, 400), "check the API key"},
		{withCredentials(probe.CredentialsGiven, 403), "may not use the model"},
		{withCredentials(probe.CredentialsNone, 401), "none was sent"},
		{withCredentials(probe.CredentialsNone, 403), "what in front of the server rejects"},
		{withCredentials(probe.CredentialsPrefixed, 401), "the prober adds the prefix"},
		{withCredentials(probe.CredentialsInHeader, 401), "PROBER_TARGETS_n_HEADERS"},
		{with(probe.Unauthorized, probe.ReasonRedirectedToLogin), "login page"},
		{with(probe.Unauthorized, probe.ReasonRedirectedToAnotherHost), "login page"},
		{with(probe.Rejected, probe.ReasonNoQuotaOrCreditLeft), "billing"},
		{with(probe.RateLimited, probe.ReasonNoQuotaOrCreditLeft), "billing"},
		{with(probe.RateLimited, probe.ReasonRateLimitOfGateway), "exempt the probes there"},
		{with(probe.Rejected, probe.ReasonHeaderTooLong), "PROBER_TARGETS_n_HEADERS"},
		{with(probe.Rejected, probe.ReasonModelNotFound), "does not serve this model"},
		{with(probe.Rejected, probe.ReasonListedModelNotServed), "lists this model first"},
		{with(probe.Rejected, probe.ReasonHeaderMissing), "PROBER_TARGETS_n_HEADERS"},
		{with(probe.Rejected, probe.ReasonPortSpeaksTLS), "use https://"},
		{with(probe.Rejected, probe.ReasonClientCertificateMissing), "--cert-file"},
		{with(probe.Rejected, probe.ReasonWrongHTTPVersion), "--http-version"},
		{with(probe.Connect, probe.ReasonWrongHTTPVersion), "NO_PROXY"},
		{with(probe.Rejected, probe.ReasonModelOrPathNotFound), "model or the path"},
		{with(probe.Rejected, probe.ReasonMethodNotAllowed), "--api"},
		{with(probe.Rejected, probe.ReasonRequestTooLarge), "--prompt-tokens"},
		{with(probe.Rejected, probe.ReasonRedirected), "do not follow redirects"},
		{with(probe.Rejected, probe.ReasonNoListOfModels), "lists no models"},
		{with(probe.Rejected, probe.ReasonLongerThanContext), "longer than the model's context"},
		{with(probe.Rejected, probe.ReasonNoChatTemplate), "openai-completions"},
		{with(probe.Rejected, probe.ReasonModelGone), "it answered before"},
		{with(probe.Rejected, probe.ReasonNoModelLoaded), "the server answers, but has no model"},
		{with(probe.Rejected, probe.ReasonRequestRejected), "see the server's message"},
		{with(probe.Rejected, probe.ReasonFieldOfBodyRejected), "PROBER_BODY, --body"},
		{with(probe.ServerError, probe.ReasonFieldOfBodyRejected), "PROBER_BODY, --body"},
		{with(probe.ServerError, probe.ReasonNoBackendLeft), "queue is full"},
		{with(probe.ServerError, probe.ReasonModelStillLoading), "loaded its model"},
		{with(probe.ServerError, probe.ReasonGatewayTimeout), "Cloudflare: 100 s"},
		{with(probe.ServerError, probe.ReasonGatewayGotNoTLS), "certificate"},
		{with(probe.ServerError, probe.ReasonGatewayGotNoAnswer), "got no answer"},
		{with(probe.ServerError, probe.ReasonServerGaveUpWaiting), "free replica"},
		{with(probe.ServerError, probe.ReasonErrorInAnswer), "in place of the answer or inside it"},
		{with(probe.ServerError, probe.ReasonInternalError), "check the server's log"},
		{with(probe.Overloaded, probe.ReasonAnsweredByGateway), "rate limit, maintenance, or no server"},
		{with(probe.Overloaded, probe.ReasonStreamRefused), "limits of streams"},
		{with(probe.Truncated, probe.ReasonNoFinishReason), "drops the last frames"},
		{of("ollama", with(probe.Truncated, probe.ReasonNoFinishReason)), "one token is repeated"},
		{with(probe.Truncated, probe.ReasonClosedBeforeAnswer), "use https://"},
		{overTLS(with(probe.Truncated, probe.ReasonClosedBeforeAnswer)), "closed the connection too early"},
		{with(probe.Truncated, probe.ReasonStreamBrokenOff), "closed the connection too early"},
		{with(probe.Malformed, probe.ReasonInvalidHTTP), "sets as well"},
		{with(probe.Malformed, probe.ReasonWrongHTTPVersion), "--http-version"},
		{with(probe.TLS, probe.ReasonWrongHTTPVersion), "--http-version"},
		{with(probe.Malformed, probe.ReasonPortSpeaksTLS), "use https://"},
		{with(probe.Malformed, probe.ReasonUnreadableCompression), "compresses the answer"},
		{with(probe.Malformed, probe.ReasonUnreadableData), "--api"},
		{with(probe.Empty, probe.ReasonEmptyStream), "longer than the server's context"},
		{of("llama-cpp-python", with(probe.Empty, probe.ReasonEmptyStream)), "--n_ctx"},
		{with(probe.Empty, probe.ReasonNoTokens), "bypasses the proxy"},
		{with(probe.WrongLength, probe.ReasonAnswerInPieces), "whole ones"},
		{with(probe.WrongLength, probe.ReasonAnswerBeyondLimit), "--server"},
		{with(probe.WrongLength, probe.ReasonAnswerEndedEarly), "the finish reason says why"},
		{with(probe.WrongLength, probe.ReasonPromptOrAnswerCut), "min_tokens"},
		{with(probe.WrongAnswer, probe.ReasonHiddenWordsMissing), "quantization"},
		{with(probe.WrongAnswer, probe.ReasonWrongField), "quantization"},
		{with(probe.WrongAnswer, probe.ReasonNoToolCall), "--tool-call-parser"},
		{with(probe.WrongAnswer, probe.ReasonNotJSON), "structured output"},
		{with(probe.Rejected, probe.ReasonWorkloadNotOfAPI), "openai-chat"},
		{&probe.Result{
			Outcome: probe.WrongAnswer, Reason: probe.ReasonHiddenWordsMissing,
			Depths: []probe.Depth{{At: 0.1}, {At: 0.9, Found: true}},
		}, "attention window"},
		{&probe.Result{Target: "a", Outcome: probe.RateLimited, Status: 429, RetryAfter: 30 * time.Second},
			"a answered 429 and asked to wait 30 s: lower the rate of probes (PROBER_QPS"},
		{&probe.Result{Outcome: probe.Overloaded, Status: 529, RetryAfter: 40 * time.Millisecond},
			"the server answered 529 and asked to wait 40.0 ms: other"},
		{with(probe.Overloaded, probe.ReasonServerOverloaded), "other clients"},
	} {
		if got := Hint(test.r, nil); !strings.Contains(got, test.want) {
			t.Errorf("%s %s: %q, want %q in it", test.r.Outcome, test.r.Reason, got, test.want)
		}
	}
}
