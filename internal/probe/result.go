package probe

import (
	"cmp"
	"time"

	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// A Result is everything one probe learned. It is made in its slot, and then only read.
type Result struct {
	// Who was asked what.
	Target, Group, Model, API, Prompt string

	Server      string      // its type, see [wire.Server]; empty if unknown
	Credentials Credentials // their kind, without the secret
	TraceID     string      // 32 hex digits; also sent as traceparent
	SpanID      string      // 16 hex digits; the span that traceparent names

	// Round is the number of the prompt: results of one group with equal Round answered the same one. A group that a
	// reload changes begins at 0 again, with other prompts.
	Round uint64

	// When.
	Due      time.Time // when the probe should have started, or when its turn in the group came
	Began    time.Time // when it did: before the server was asked what it is and which fields it takes; zero: at Start
	Start    time.Time // when the request was handed to the transport
	Timeline timing.Timeline
	Elapsed  time.Duration // from Start to the end of the answer, whatever its outcome

	Timestamps TimestampSource // source of the arrival timestamps; empty if there was no token frame
	// RejectedTimestamps is how many of the kernel's timestamps were not believed, because the wall clock had been set.
	RejectedTimestamps int

	// How it ended.
	Outcome    Outcome
	Reason     Reason        // empty if and only if Outcome is OK or Canceled
	Err        error         // the reason in words, with the server's own; wraps nothing; nil if and only if Outcome is OK
	Status     int           // HTTP status; 0 if no header was read
	NotSent    bool          // no probe was sent, because a request for the server's type or models failed
	RetryAfter time.Duration // pause that the server asked for; 0 if it did not
	CertExpiry time.Time     // of the server's certificates, see [chainExpiry], [refusedExpiry]; zero without TLS
	Stack      []byte        // where the prober itself failed, which says nothing about the server; nil if it did not

	// Blocked is how many slots were skipped as [SkipOverlap] while this probe was the oldest in flight. If it failed, no
	// answer would have come in them either.
	Blocked int

	// What the answer was.
	Finish string     // the server's finish reason; empty if none came
	Usage  wire.Usage // merged over all frames
	Source Source     // where the tokens of a frame came from
	Cache  CacheState // how much of the prompt the server's prefix cache had

	ReasoningShown  bool // some frame showed it
	ReasoningHidden bool // generated tokens include reasoning that no frame showed: the first token seen is not the first

	// OtherLength says that the server counts another length of the prompt than what was asked. Then no time is a sample:
	// the probe is not what its labels say.
	OtherLength bool

	Warnings []Warning // what is unreliable about the numbers

	// rejected is why the server rejected the request: the body of an answer without a stream, or the error in a stream.
	rejected     []byte
	closing      closing     // what became of the answer's body after its last frame
	mediaType    string      // the answer's type, if otherFraming is set
	otherFraming framing     // how the answer is framed, if its type does not say so; else notFramed
	coding       coding      // content coding of a streamed answer
	cacheApart   wire.Claim  // the server counts cached tokens apart from the others; empty: not shown
	sentBefore   bool        // the server had been sent the prompt before, see [Member.sentBefore]
	answeredBy   string      // the model that answered, as the answer names it; empty if it does not
	gateway      wire.Server // the type that the answer's header names; the zero value if it names none
}

// A closing is what became of an answer's body after its last frame. It says something about the connection, and
// nothing about the answer.
type closing int

const (
	closedInOrder closing = iota
	leftOpen              // it went on after the protocol's end of the answer
	cutAfterEnd           // the connection broke after that end
	endMissing            // neither that end nor the body's came in time after the finish reason
)

// Credentials are the kind of credentials that a request carried, without the secret.
type Credentials string

// The kinds of credentials.
const (
	CredentialsNone     Credentials = "none"     // none was configured
	CredentialsGiven    Credentials = "given"    // the API key
	CredentialsPrefixed Credentials = "prefixed" // the API key, which begins with "Bearer" of its own
	CredentialsInHeader Credentials = "header"   // credentials among the configured headers, which replace the API key
)

// A TimestampSource is the source of a probe's arrival timestamps.
type TimestampSource string

// The sources of timestamps.
const (
	ByKernel TimestampSource = "kernel" // the kernel, when it received the bytes
	ByUser   TimestampSource = "user"   // the prober, after it had read them
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

// end enters a verdict. Its error must have been scrubbed.
func (r *Result) end(v verdict) {
	r.Outcome, r.Reason, r.Err, r.RetryAfter = v.outcome, v.reason, v.err, v.retry
	if r.Reason == ReasonKeyRejected && r.Credentials == CredentialsNone {
		r.Reason = ReasonKeyMissing
	}
}

// Available reports whether r shows a server that works: a token came, or only we were refused. A rejection may be our
// mistake until the target has worked once. After that it is an outage for its users too, and so is a server that
// serves no model.
func (r *Result) Available(hasWorked bool) bool {
	switch {
	case len(r.Timeline.Frames) > 0, r.Outcome.Refusal():
		return true
	case r.Reason == ReasonModelGone, r.Reason == ReasonNoModelLoaded:
		return false
	case r.Outcome == Rejected:
		return !hasWorked
	}
	return false
}

// ScheduleDelay returns how late the prober began the probe. What servers make it wait for is not in it.
func (r *Result) ScheduleDelay() time.Duration { return max(0, cmp.Or(r.Began, r.Start).Sub(r.Due)) }
