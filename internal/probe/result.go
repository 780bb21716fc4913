package probe

import (
	"iter"
	"slices"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// A Result is everything one probe learned. It is made once and then only read.
type Result struct {
	Target, Group, Model, API, Prompt string

	Round uint64    // results of one group with equal Round answered the same prompt
	Due   time.Time // when the probe should have started, or when its turn in the group came

	Timeline Timeline
	Elapsed  time.Duration // from Start to the end of the probe, whatever the end was

	Outcome Outcome
	Err     error  // detail for humans; nil if and only if Outcome is OK
	Status  int    // HTTP status; 0 if no header was read
	Key     Key    // what the request carried to show who asks
	Finish  string // the server's finish reason; empty if none came

	Usage  wire.Usage // merged over all frames
	Source Source     // where the tokens of a frame came from

	// Hidden is true when the count of generated tokens holds reasoning that no
	// frame showed: the first token that was seen is not the first.
	Hidden bool

	Stamp   Stamping // who stamped the token frames; empty if there was none
	Taint   Taint    // why there is no ITL although the tokens of each frame are known; empty if there is
	Refused int      // kernel stamps that were not believed: the wall clock had been set

	Cache      CacheState    // what the server's prefix cache knew of the prompt
	RetryAfter time.Duration // how long the server asked not to be asked again; 0 if it did not

	CertExpiry time.Time // earliest expiry in the server's certificate chain; zero without TLS
	TraceID    string    // 32 hex digits; also sent as traceparent
	SpanID     string    // 16 hex digits; the span that traceparent names
	Warnings   []error   // doubts about the data, which travel with it

	rejected []byte      // body of an answer that was no stream
	gateway  wire.Server // that named itself in the answer's header; the zero value if none did
}

// A Key is what a request carried to show who asks. It says nothing of the secret.
type Key string

// The keys.
const (
	KeyNone     Key = "none"     // nothing was configured
	KeyGiven    Key = "given"    // the API key
	KeyPrefixed Key = "prefixed" // the API key, which begins with "Bearer" of its own
	KeyInHeader Key = "header"   // credentials among the configured headers, which replace the API key
)

// A Recorder takes finished results. Record is safe for concurrent use, does no
// I/O, and neither modifies nor retains r.
type Recorder interface{ Record(r *Result) }

// A Source is where the number of tokens in a frame came from.
type Source string

// The sources, best first.
const (
	FromUsage  Source = "usage" // growth of the usage that each frame carries
	FromIDs    Source = "ids"   // token ids in the frame
	FromTotal  Source = "total" // one each: the count of all tokens equals the number of token frames
	FromNobody Source = "none"  // the tokens of a frame cannot be attributed
)

// ScheduleDelay is how late the probe started.
func (r *Result) ScheduleDelay() time.Duration { return max(0, r.Timeline.Start.Sub(r.Due)) }

// TTFT is the time to the first token, or false if none was seen, or its arrival is in
// doubt by more than a twentieth of that.
func (r *Result) TTFT() (time.Duration, bool) {
	d, ok := r.Timeline.TTFT()
	return d, ok && r.Timeline.sure(d, 0)
}

// TTFAT is the time to the first token of the answer itself, after any reasoning,
// or false if none was seen, or its arrival is in doubt as that of TTFT may be.
func (r *Result) TTFAT() (time.Duration, bool) {
	d, ok := r.Timeline.TTFAT()
	first := slices.IndexFunc(r.Timeline.Tokens, func(a Arrival) bool { return a.At >= d })
	return d, ok && (first < 0 || r.Timeline.sure(d, first))
}

// Unspoilt reports whether the time to the first token is what was meant to be
// measured: that of a token that was seen, not of one after reasoning that no
// frame showed, and not of a prompt that was to be cold and was found in a cache.
func (r *Result) Unspoilt() bool { return !r.Hidden && r.Cache != CacheContaminated }

// ServerTTFT is TTFT without the connection and the upload.
func (r *Result) ServerTTFT() (time.Duration, bool) {
	d, ok := r.Timeline.ServerTTFT()
	return d, ok && r.Timeline.sure(d, 0)
}

// TPOT is the time per output token after the first frame. ok is false if the
// number of generated tokens is unknown or not above those of the first frame,
// or some of it is reasoning that no frame showed: TPOT would be too small by as
// much. Where every frame tells its tokens, the hidden ones are among them.
func (r *Result) TPOT() (d time.Duration, ok bool) {
	n := r.Usage.Generated()
	if !n.Known || r.Hidden && r.Source != FromUsage {
		return 0, false
	}
	return r.Timeline.TPOT(n.N)
}

// E2EL is the end-to-end latency. A failed probe has none, nor has one whose last token's
// arrival is in doubt by more than a twentieth of it.
func (r *Result) E2EL() (d time.Duration, ok bool) {
	if d, ok = r.Timeline.E2EL(); !ok || r.Outcome != OK {
		return 0, false
	}
	return d, r.Timeline.sure(d, len(r.Timeline.Tokens)-1)
}

// MaxGap is the longest silence between token frames. A probe that died
// mid-stream has one too. There is none if a longer one may be hidden: see [Timeline.MaxGap].
func (r *Result) MaxGap() (d time.Duration, ok bool) { return r.Timeline.MaxGap() }

// ChunkGaps are those of the Timeline.
func (r *Result) ChunkGaps() iter.Seq[time.Duration] { return r.Timeline.ChunkGaps() }

// ITL is that of the Timeline; a tainted probe has none.
func (r *Result) ITL() iter.Seq[time.Duration] {
	if r.Taint != "" {
		return func(func(time.Duration) bool) {}
	}
	return r.Timeline.ITL()
}
