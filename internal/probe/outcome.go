package probe

import "slices"

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
	WrongAnswer  Outcome = "wrong_answer" // the canary failed
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
