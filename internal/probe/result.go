package probe

import (
	"errors"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// A Result is everything one probe learned. It is made once and then only read.
type Result struct {
	Target, Group, Model, API, Prompt string

	Server string // its type, see [wire.Server]; empty if unknown

	Round uint64    // results of one group with equal Round answered the same prompt
	Due   time.Time // when the probe should have started, or when its turn in the group came

	// Blocked is how many slots were skipped as [SkipOverlap] while this probe was the oldest in flight. If it failed, no
	// answer would have come in them either.
	Blocked int

	Timeline
	Elapsed time.Duration // from Start to the end of the probe, whatever its outcome

	Outcome Outcome
	Err     error  // detail for humans; nil if and only if Outcome is OK
	Status  int    // HTTP status; 0 if no header was read
	Key     Key    // kind of credentials sent
	Finish  string // the server's finish reason; empty if none came

	Usage    wire.Usage // merged over all frames
	Source   Source     // where the tokens of a frame came from
	Reasoned bool       // some frame showed reasoning
	Hidden   bool       // generated tokens include reasoning that no frame showed: the first token seen is not the first

	Stamp   Stamping // source of the arrival timestamps; empty if there was no token frame
	Refused int      // kernel timestamps not used, because the wall clock had been set

	Cache      CacheState    // how much of the prompt the server's prefix cache had
	RetryAfter time.Duration // pause that the server asked for; 0 if it did not

	CertExpiry time.Time // earliest expiry in the server's certificate chain; zero without TLS
	TraceID    string    // 32 hex digits; also sent as traceparent
	SpanID     string    // 16 hex digits; the span that traceparent names
	Warnings   []error   // what is unreliable about the numbers

	// why the server rejected the request: the body of an answer that was no stream, or the error in one
	rejected []byte
	again    bool        // the server had been sent the prompt before, see [Member.again]
	gateway  wire.Server // that named itself in the answer's header; the zero value if none did
}

// An Outcome is why a probe ended. The set is closed: it is a metric label.
type Outcome string

// The outcomes of DESIGN §1.
const (
	OK           Outcome = "ok"
	DNS          Outcome = "dns"          // the name could not be resolved
	Connect      Outcome = "connect"      // no connection: refused, unreachable, reset before the request was out
	TLS          Outcome = "tls"          // the handshake or the certificate
	Timeout      Outcome = "timeout"      // the whole probe's limit
	Stalled      Outcome = "stalled"      // after the first token, no token frame for the stall limit
	Unauthorized Outcome = "unauthorized" // 401 and 403: our key, or what it may use
	RateLimited  Outcome = "rate_limited" // 429
	Overloaded   Outcome = "overloaded"   // 503, 529, or the protocol's equivalent
	Rejected     Outcome = "rejected"     // other 4xx, or a validation error inside the stream
	ServerError  Outcome = "server_error" // other 5xx, 408 and 424, or an error inside the stream
	Filtered     Outcome = "filtered"     // finish reason content_filter, or a refusal
	Truncated    Outcome = "truncated"    // the answer ended without its end
	Malformed    Outcome = "malformed"    // a frame that cannot be decoded
	NotStreamed  Outcome = "not_streamed" // JSON or a proxy's page instead of a stream
	Empty        Outcome = "empty"        // a clean end without a single token
	WrongLength  Outcome = "wrong_length" // prompt or answer is not as long as asked
	WrongAnswer  Outcome = "wrong_answer" // the canary failed
	Canceled     Outcome = "canceled"     // we shut down; never counted
)

// Outcomes returns every outcome that is counted, in the order of the design: all but [Canceled].
func Outcomes() []Outcome {
	return []Outcome{
		OK, DNS, Connect, TLS, Timeout, Stalled, Unauthorized, RateLimited, Overloaded, Rejected, ServerError,
		Filtered, Truncated, Malformed, NotStreamed, Empty, WrongLength, WrongAnswer,
	}
}

// Refusals returns the outcomes that say something about our key, our quota or our prompt, and not about how well the
// server serves others. They are no events of an objective, and have an alert of their own.
func Refusals() []Outcome { return []Outcome{Unauthorized, RateLimited, Filtered} }

// Refusal reports whether o is one of [Refusals].
func (o Outcome) Refusal() bool { return slices.Contains(Refusals(), o) }

// Available reports whether r shows a server that works: a token came, or only we were refused. A rejection may be our
// mistake until the target has worked once. After that it is an outage for its users too, and so is a server that
// serves no model.
func (r *Result) Available(hasWorked bool) bool {
	switch {
	case len(r.Tokens) > 0, r.Outcome.Refusal():
		return true
	case errors.Is(r.Err, ErrModelGone), errors.Is(r.Err, ErrNoModel):
		return false
	case r.Outcome == Rejected:
		return !hasWorked
	}
	return false
}

// A Key is the kind of credentials that a request carried, without the secret.
type Key string

// The keys.
const (
	KeyNone     Key = "none"     // none was configured
	KeyGiven    Key = "given"    // the API key
	KeyPrefixed Key = "prefixed" // the API key, which begins with "Bearer" of its own
	KeyInHeader Key = "header"   // credentials among the configured headers, which replace the API key
)

// A Source is where the number of tokens in a frame came from.
type Source string

// The sources, best first.
const (
	FromUsage   Source = "usage" // growth of the usage that each frame carries
	FromIDs     Source = "ids"   // token ids in the frame, or a type of server that sends a token a frame
	FromTotal   Source = "total" // one each: the count of all tokens equals the number of token frames
	FromNothing Source = "none"  // the tokens of a frame cannot be attributed
)

// A CacheState is how much of a prompt a server's prefix cache had. The set is closed: it is a metric label.
type CacheState string

// The states.
const (
	CacheCold         CacheState = "cold"         // nothing but what all prompts begin with
	CacheWarm         CacheState = "warm"         // some of it, as intended
	CacheContaminated CacheState = "contaminated" // some of it, although the prompt is meant to be cold
	CacheUnknown      CacheState = "unknown"      // the server does not tell, or counts none whatever its cache had
)

// CacheStates returns every state.
func CacheStates() []CacheState {
	return []CacheState{CacheCold, CacheWarm, CacheContaminated, CacheUnknown}
}

// cacheState judges a prompt's cached tokens. A chat template begins all prompts alike: up to its first fresh token is cold.
func cacheState(u wire.Usage, expect Expectation) CacheState {
	length := expect.Length
	if u.Prompt.Known {
		length = u.Prompt.N
	}
	switch {
	case !u.Cached.Known, u.Cached.N == 0 && !expect.CacheCounts:
		return CacheUnknown
	case u.Cached.N == 0:
		return CacheCold
	case expect.Fresh == 0:
		return CacheWarm
	case u.Cached.N > max(0, length-expect.Fresh):
		return CacheContaminated
	}
	return CacheCold
}

// ScheduleDelay is how late the probe started.
func (r *Result) ScheduleDelay() time.Duration { return max(0, r.Start.Sub(r.Due)) }

// TTFAT is the time to the first token of text, a tool call or a refusal, but not reasoning. ok is that of TTFT.
func (r *Result) TTFAT() (d time.Duration, ok bool) {
	d = r.Answer
	first := slices.IndexFunc(r.Tokens, func(a Arrival) bool { return a.At >= d })
	return d, !r.OtherLength && d > 0 && (first < 0 || r.sure(d, first))
}

// TTFTValid reports whether the first token seen is the first generated, and the cache had nothing of a cold prompt.
func (r *Result) TTFTValid() bool { return !r.Hidden && r.Cache != CacheContaminated }

// TPOT is the time per output token after the first chunk. ok is false as of [Timeline.TPOT], if the number of tokens is unknown,
// and with hidden reasoning, which would make it too small unless every frame tells its tokens.
func (r *Result) TPOT() (d time.Duration, ok bool) {
	n := r.Usage.Generated()
	if !n.Known || r.Hidden && r.Source != FromUsage {
		return 0, false
	}
	return r.Timeline.TPOT(n.N)
}

// E2EL is the last token frame, or the finish frame if that came later. ok is false if it is too uncertain, or the probe failed.
func (r *Result) E2EL() (d time.Duration, ok bool) {
	last := len(r.Tokens) - 1
	if last < 0 || r.Outcome != OK || r.OtherLength {
		return 0, false
	}
	d = max(r.Tokens[last].At, r.Timeline.Finish)
	return d, r.sure(d, last)
}
