package probe

import (
	"errors"
	"time"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// A fold gathers what the frames of one answer say, one after another.
type fold struct {
	start time.Time

	tokens    []Arrival
	usage     wire.Usage
	counted   int  // generated tokens by the usage so far
	running   bool // a frame with a choice carried usage, so that growth is news
	still     bool // a frame with text carried usage that did not grow: it is none of the frames'
	byUsage   int  // token frames whose tokens are growth of usage
	byIDs     int  // token frames whose tokens are token ids
	ids       int  // tokens told by ids since usage last grew
	told      int  // tokens told in all frames
	reasoning bool // some frame showed reasoning
	whole     int  // bytes of the answer so far, where frames repeat all of it

	answered time.Duration // frame that first showed some of the answer; 0 if none did
	expects  bool          // the answer's text is kept, to be judged
	said     []byte        // that text, reasoning included, up to maxSaid

	finish   string
	finishAt time.Duration
	refusal  bool
	err      *wire.ServerError // the first
	errAt    time.Duration
}

// maxExpected bounds the token frames for which room is made beforehand.
const maxExpected = 4096

// newFold expects the answer to a request that began at start. It makes room for its token
// frames, so that none of them waits for memory.
func newFold(start time.Time, maxTokens int, keepsText bool) *fold {
	return &fold{
		start: start, expects: keepsText,
		tokens: make([]Arrival, 0, max(0, min(maxTokens, maxExpected))),
	}
}

// maxSaid bounds what is kept of an answer that is judged, in bytes.
const maxSaid = 64 << 10

// add takes what one frame said, and reports whether it is a token frame: one
// that shows evidence of a generated token.
func (f *fold) add(at stream.Stamp, d wire.Delta) bool {
	since := at.At.Sub(f.start)
	grown := f.grow(d)
	if d.Err != nil && f.err == nil {
		f.err, f.errAt = d.Err, since
	}
	if d.Finish != "" {
		if f.finish == "" {
			f.finishAt = since
		}
		f.finish = d.Finish
	}
	text := f.news(d)
	f.refusal = f.refusal || d.Refusal
	f.reasoning = f.reasoning || len(d.Reasoning) > 0
	if grown == 0 && d.Tokens == 0 && len(text) == 0 && len(d.Reasoning) == 0 {
		if n := len(f.tokens); n > 0 && f.tokens[n-1].Read == uint32(at.Read) {
			f.tokens[n-1].Behind = true
		}
		return false
	}
	if len(text) > 0 && f.answered == 0 {
		f.answered = since
	}
	f.keep(d.Reasoning, text)
	f.tokens = append(f.tokens, Arrival{
		At: since, Read: uint32(at.Read), N: f.attribute(grown, d.Tokens), Kernel: at.Kernel, Delay: at.Delay,
	})
	return true
}

// ErrUnlimited is wrapped by the error of a result whose server generated more than it
// was asked for, and came to no end.
var ErrUnlimited = errors.New("the server ignores the limit of an answer's length")

// atLeast is how many tokens were generated so far: each token frame holds one or more.
func (f *fold) atLeast() int { return max(len(f.tokens), f.told, f.counted) }

// overrun is how many tokens more than asked an answer may have: llama-server finishes a
// character that several tokens make.
const overrun = 3

// endless reports whether more tokens than asked have arrived, and no end.
func (f *fold) endless(ask wire.Ask) bool {
	return ask.MaxTokens > 0 && f.finish == "" && f.atLeast() > ask.MaxTokens+overrun
}

// news is the visible text that the frame adds to the answer.
func (f *fold) news(d wire.Delta) []byte {
	if !d.Whole {
		return d.Text
	}
	before := min(f.whole, len(d.Text))
	f.whole = max(f.whole, len(d.Text))
	return d.Text[before:]
}

// keep keeps texts that are to be judged.
func (f *fold) keep(texts ...[]byte) {
	for _, text := range texts {
		if f.expects && len(f.said)+len(text) <= maxSaid {
			f.said = append(f.said, text...)
		}
	}
}

// grow merges the frame's usage and returns by how many generated tokens it grew,
// where that is evidence of tokens in this frame. Usage in a frame without a
// choice is none: it tells the sum at the end. Nor is the first usage of the
// answer when it comes with or after the finish reason: that is the sum as well.
func (f *fold) grow(d wire.Delta) int {
	f.usage = f.usage.Merge(d.Usage)
	total := d.Usage.Generated()
	if !total.Known {
		return 0
	}
	if d.Role { // whatever it counts: see DESIGN §1
		return 0
	}
	growth := max(0, total.N-f.counted-f.ids)
	f.counted, f.ids = max(f.counted, total.N), 0
	f.still = f.still || d.Choice && growth == 0 && len(d.Text)+len(d.Reasoning) > 0
	if !d.Choice || (!f.running || f.still) && (d.Finish != "" || f.finish != "") {
		return 0
	}
	f.running = true
	return growth
}

// attribute is the number of tokens in a token frame, best source first; 0 if
// the frame does not say.
func (f *fold) attribute(grown, ids int) int {
	f.told += max(grown, ids)
	switch {
	case f.told > wire.MaxGenerated:
		return 0
	case grown > 0:
		f.byUsage++
		return grown
	case ids > 0:
		f.byIDs++
		f.ids += ids
		return ids
	}
	return 0
}

// source is where the tokens of every frame came from.
func (f *fold) source() Source {
	frames, total := len(f.tokens), f.usage.Generated()
	switch {
	case frames == 0:
		return FromNobody
	case f.byUsage == frames:
		return FromUsage
	case f.byUsage+f.byIDs == frames:
		return FromIDs
	case total.Known && (total.N == frames || total.N == frames+1 && wire.EndingOf(f.finish) != wire.AtLimit):
		return FromTotal
	}
	return FromNobody
}

// hidden reports whether some generated tokens are reasoning that no frame
// showed.
func (f *fold) hidden() bool {
	output, generated := f.usage.Output, f.usage.Generated()
	return !f.reasoning && (f.usage.Reasoning.N > 0 || output.Known && generated.N > output.N)
}

// open is the silence that was running when the answer broke off, at the latest
// after elapsed. An answer that finished has none.
func (f *fold) open(elapsed time.Duration) time.Duration {
	if len(f.tokens) == 0 || f.finish != "" && f.err == nil {
		return 0
	}
	if f.err != nil {
		elapsed = f.errAt
	}
	return max(0, elapsed-f.tokens[len(f.tokens)-1].At)
}

// generated is the usage of the whole answer. Where the server never counted
// its tokens, but told those of each frame, it is their sum.
func (f *fold) generated() wire.Usage {
	u := f.usage
	if !u.Generated().Known && len(f.tokens) > 0 && f.byIDs == len(f.tokens) {
		u.Output = wire.Tokens(f.told)
	}
	return u
}

// into writes what was gathered to r.
func (f *fold) into(r *Result) {
	f.usage = f.generated()
	r.Timeline.Answer = f.answered
	r.Timeline.Tokens, r.Timeline.Burst = f.tokens, burst(f.tokens)
	r.Timeline.Finish = f.finishAt
	r.Finish, r.Usage, r.Source, r.Hidden = f.finish, f.usage, f.source(), f.hidden()
	r.Timeline.Alone = r.Source == FromTotal
}
