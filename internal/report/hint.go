// Package report tells results to people: one probe in a terminal, many as tables,
// comparisons and charts. It prints and never measures: every number in it comes
// from the results.
package report

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"syscall"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
)

// Failure is how a probe failed and what is known of it, in one line that is fit
// for a terminal: much of it is the server's own words.
func Failure(r *probe.Result) string {
	if r.Err == nil {
		return string(r.Outcome)
	}
	return string(r.Outcome) + ": " + format.Clean(r.Err.Error())
}

// Meaning says in a few words what an outcome is.
func Meaning(o probe.Outcome) string { return meanings[o] }

// meanings has every outcome.
var meanings = map[probe.Outcome]string{
	probe.OK:          "complete response",
	probe.DNS:         "the host name could not be resolved",
	probe.Connect:     "no connection to the server",
	probe.TLS:         "no secure connection to the server",
	probe.Timeout:     "the probe reached its limit",
	probe.Stalled:     "tokens stopped while the connection stayed open",
	probe.RateLimited: "the server rate-limits this client",
	probe.Overloaded:  "the server reports that it is overloaded",
	probe.Rejected:    "the server refused the request",
	probe.ServerError: "the server failed",
	probe.Filtered:    "the answer was filtered or refused",
	probe.Truncated:   "the answer was cut off",
	probe.Malformed:   "the answer could not be parsed",
	probe.NotStreamed: "the answer was not a stream",
	probe.Empty:       "the answer had no tokens",
	probe.WrongLength: "prompt or answer is not as long as asked",
	probe.WrongAnswer: "the answer is wrong",
	probe.Canceled:    "the prober shut down; not counted",
}

// Hint is what to do about a failed result, in one sentence without a final
// stop. It is empty for results that are ok or canceled.
func Hint(r *probe.Result) string {
	switch r.Outcome {
	case probe.Connect:
		return connectHint(r.Err)
	case probe.TLS:
		return tlsHint(r.Err)
	case probe.Timeout:
		return timeoutHint(r)
	case probe.Rejected:
		return rejectedHint(r)
	case probe.ServerError:
		return serverHint(r.Status)
	case probe.WrongLength:
		if errors.Is(r.Err, probe.ErrUnlimited) {
			return "the server ignores the field that limits the answer: set its type (PROBER_TARGETS_n_SERVER, --server) or another API (--api)"
		}
	}
	return hints[r.Outcome]
}

// hints has the outcomes about which there is one thing to say.
var hints = map[probe.Outcome]string{
	probe.DNS: "check the host name in the URL, and that the resolver of this machine or pod answers",
	probe.Stalled: "check the engine's log at that time (preemption, a crashed worker, no KV cache left); " +
		"if such pauses are normal here, raise PROBER_STALL_TIMEOUT (--stall-timeout)",
	probe.RateLimited: "lower PROBER_QPS (--qps) or raise the quota of this key",
	probe.Overloaded:  "other clients are rejected as well: check the server's queue and its number of replicas",
	probe.Filtered:    "a content filter stopped the answer, not the engine: exempt the probes, or choose another PROBER_PROMPT (--prompt)",
	probe.Truncated: "something closed the connection too early: check for a restart or crash of the server, " +
		"or a read or idle timeout in a proxy in front of it",
	probe.Malformed:   "check PROBER_TARGETS_n_API (--api): the server seems to speak another API, or a proxy rewrites the stream",
	probe.NotStreamed: "a proxy or login page answered, the path is wrong, or the server does not stream: check the URL",
	probe.Empty:       "the model ended at once, or a proxy dropped the frames: compare with a request that bypasses the proxy, and with another PROBER_TARGETS_n_API (--api)",
	probe.WrongLength: "the server cut the prompt or ended early: check the model's context length, and whether it honours min_tokens and ignore_eos",
	probe.WrongAnswer: "check the weights, quantization and sampling settings",
}

func connectHint(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there: check host and port in the URL, and that the server runs"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route to that address: check the URL and the network"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the other side closed the connection at once: check that the port is the server's, and the load balancer in front of it"
	case isTimeout(err):
		return "no answer from that address: check the URL, firewalls and network policies"
	}
	return "check host and port in the URL, and that the server runs"
}

func tlsHint(err error) string {
	var (
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		record   tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &unknown):
		return "the server's certificate is signed by an unknown authority: give the authority's certificate in PROBER_TARGETS_n_CA_FILE (--ca-file)"
	case errors.As(err, &hostname):
		return "the server's certificate is for other names: use one of them in the URL"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the server's certificate has expired or is not valid yet: renew it, or set this machine's clock"
	case errors.As(err, &record):
		return "the server does not speak TLS on that port: use http:// in the URL, or the port for HTTPS"
	}
	return "check that the port speaks TLS, the certificates to trust (PROBER_TARGETS_n_CA_FILE, --ca-file) " +
		"and, if the server wants one, the client's (PROBER_TARGETS_n_CERT_FILE, --cert-file)"
}

func timeoutHint(r *probe.Result) string {
	const raise = "if that is normal here, raise PROBER_TIMEOUT (--timeout)"
	asked, undiscovered := r.Undiscovered()
	switch {
	case undiscovered && asked:
		return "the server was asked for its models and did not answer, so no probe was sent: check its load and the proxies in front of it; " +
			"where API and model are given (--api, --model) it is probed anyway"
	case len(r.Tokens) > 0:
		return "tokens arrived too slowly: check the server's load; " + raise + " or lower PROBER_MAX_TOKENS (--max-tokens)"
	case r.Phases.Wrote == 0:
		return "the request was never sent: check the network and what accepts connections for the server"
	}
	return "the request was sent and no token arrived: check the server's queue and proxies that buffer answers; " + raise
}

func rejectedHint(r *probe.Result) string {
	switch r.Status {
	case http.StatusUnauthorized:
		return unauthorizedHint(r.Key)
	case http.StatusForbidden:
		if r.Key == probe.KeyNone {
			return "no API key is configured and none was sent: set one (PROBER_API_KEY, --api-key), or check what in front of the server rejects this client"
		}
		return "this API key (PROBER_API_KEY, --api-key) may not use the model, or something in front of the server rejects this client"
	case http.StatusNotFound:
		return "the server does not know the model or the path: compare PROBER_TARGETS_n_MODEL (--model) with GET /v1/models, and check the URL: " +
			"a path in the URL is used as it is, and often ends with /v1"
	case http.StatusMethodNotAllowed:
		return "the path does not accept such requests: check the URL and PROBER_TARGETS_n_API (--api)"
	case http.StatusRequestEntityTooLarge:
		return "the prompt is too long for the server or a proxy: raise the limit there, or lower PROBER_PROMPT_TOKENS (--prompt-tokens)"
	case http.StatusPaymentRequired:
		return "the account of this API key has run out of credit"
	}
	if r.Status >= 300 && r.Status < 400 {
		return "probes do not follow redirects: use the URL that the server redirects to"
	}
	if _, ok := r.Undiscovered(); ok {
		return "the server lists no models, so no probe was sent: check host, port and path in the URL and the API key; " +
			"where API and model are given (--api, --model) it is probed anyway"
	}
	return "see the server's message: often prompt and answer together are longer than the model's context " +
		"(PROBER_PROMPT_TOKENS, --prompt-tokens; PROBER_MAX_TOKENS, --max-tokens)"
}

// unauthorizedHint says what to do where a server does not accept who asks.
func unauthorizedHint(key probe.Key) string {
	switch key {
	case probe.KeyNone:
		return "no API key is configured and none was sent: set one (PROBER_API_KEY, --api-key, or PROBER_API_KEY_FILE, --api-key-file)"
	case probe.KeyPrefixed:
		return "the API key begins with Bearer: give the key alone (PROBER_API_KEY, --api-key), the prober adds the prefix"
	case probe.KeyInHeader:
		return "check the credentials among the configured headers (PROBER_TARGETS_n_HEADERS, --headers)"
	}
	return "check the API key (PROBER_API_KEY, --api-key)"
}

func serverHint(status int) string {
	switch {
	case status == http.StatusBadGateway || status == http.StatusGatewayTimeout:
		return "a proxy got no answer from the server behind it: check that server"
	case status == http.StatusRequestTimeout:
		return "the server gave up waiting for a free replica: check its queue and its number of replicas"
	case status >= 200 && status < 300:
		return "the server reported an error inside the stream: check its log at that time"
	}
	return "check the server's log at that time"
}

// isTimeout reports whether the network gave up waiting.
func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}
