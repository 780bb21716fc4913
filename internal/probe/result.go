package probe

import (
	"cmp"
	"iter"
	"time"

	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// A Result is everything one probe learned. It is made in its slot, and then only read.
type Result struct {
	// Who was asked what.
	Target, Group, Model, API string
	Prompt                    string // name of the prompt, see [Questions.Prompt]

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

	// Blocked is how many slots of each prompt were skipped as [SkipOverlap] while this probe was the oldest in flight. If
	// it failed, no answer would have come in them either.
	Blocked map[string]int

	// How the server calls the exchange, in its own log too: its name of the answer, and that of the request in the
	// answer's header. Printable ASCII, at most 128 bytes; empty if it has none.
	ResponseID, RequestID string

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

	Wording Wording // how the answer repeats itself; the zero value if it is not whole

	// Depths are where the prompt of a canary hid words, and whether the answer had them. There are none of an answer that
	// was not judged: it failed for something else, or its limit cut the reasoning.
	Depths []Depth

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

// A Depth is where a prompt hid words: how much of its words stands before them, 0 to 1.
type Depth struct {
	At    float64
	Found bool // the answer has the words
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
	CredentialsToken    Credentials = "token"    // an access token of OAuth 2
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

// A CacheState is how much of a prompt a server's prefix cache had. The set is closed: it is a metric label.
type CacheState string

// The states.
const (
	CacheCold         CacheState = "cold"         // nothing but what all prompts begin with
	CacheWarm         CacheState = "warm"         // some of it, as intended
	CacheMissed       CacheState = "missed"       // less than half of what it had been sent before
	CacheContaminated CacheState = "contaminated" // some of it, although the prompt is meant to be cold
	CacheUnknown      CacheState = "unknown"      // the server does not say, or counts none whatever its cache had
)

// CacheStates returns every state.
func CacheStates() []CacheState {
	return []CacheState{CacheCold, CacheWarm, CacheMissed, CacheContaminated, CacheUnknown}
}

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

// These are the times of a probe that are samples, so that recorders may take them: times that its arrivals show well
// enough (see [timing.Timeline]) of a probe that is what its labels say.

// TTFT returns the arrival of the first token frame. See also [Result.TTFTValid].
func (r *Result) TTFT() (d time.Duration, ok bool) {
	d, ok = r.Timeline.TTFT()
	return d, ok && !r.OtherLength
}

// ServerTTFT returns the time from the last request byte to the first token frame. See also [Result.TTFTValid].
func (r *Result) ServerTTFT() (d time.Duration, ok bool) {
	d, ok = r.Timeline.ServerTTFT()
	return d, ok && !r.OtherLength
}

// TTFTValid reports whether TTFT may be used: no hidden reasoning came before the first token that was seen, and the
// cache had nothing of a prompt that is meant to be cold.
func (r *Result) TTFTValid() bool { return !r.ReasoningHidden && r.Cache != CacheContaminated }

// TTFAT returns the time to the first token of text, a tool call or a refusal, but not reasoning.
func (r *Result) TTFAT() (d time.Duration, ok bool) {
	d, ok = r.Timeline.TTFAT()
	return d, ok && !r.OtherLength
}

// TPOT returns the time per output token after the first chunk. ok is also false if the number of tokens is unknown,
// and with hidden reasoning, which would make it too small unless every frame reports its tokens.
func (r *Result) TPOT() (d time.Duration, ok bool) {
	n := r.Usage.Generated()
	if r.OtherLength || !n.Known || r.ReasoningHidden && r.Source != FromUsage {
		return 0, false
	}
	return r.Timeline.TPOT(n.N)
}

// ITL yields the time between two chunks divided by the tokens of the later one, once per token.
func (r *Result) ITL() iter.Seq[time.Duration] {
	if r.OtherLength {
		return noSamples
	}
	return r.Timeline.ITL()
}

// ChunkGaps yields the gaps between token frames.
func (r *Result) ChunkGaps() iter.Seq[time.Duration] {
	if r.OtherLength {
		return noSamples
	}
	return r.Timeline.ChunkGaps()
}

func noSamples(func(time.Duration) bool) {}

// MaxGap returns the longest gap between two token frames, the one still open when the probe died included.
func (r *Result) MaxGap() (d time.Duration, ok bool) {
	d, ok = r.Timeline.MaxGap()
	return d, ok && !r.OtherLength
}

// E2EL returns the arrival of the last token frame, or of the finish frame if that came later. ok is also false if the
// probe failed.
func (r *Result) E2EL() (d time.Duration, ok bool) {
	d, ok = r.Timeline.E2EL()
	return d, ok && r.Outcome == OK && !r.OtherLength
}

// OnePiece reports whether the answer arrived at once: all its tokens in one frame, or in frames closer together than
// any engine makes them. Then there is no TPOT, no ITL, no chunk gap and no max gap.
func (r *Result) OnePiece() bool {
	generated := r.Usage.Generated()
	oneFrame := len(r.Timeline.Frames) == 1 && generated.N > 1 && !r.ReasoningHidden
	return oneFrame || r.Timeline.OnePiece()
}
