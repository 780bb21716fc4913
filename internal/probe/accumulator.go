package probe

import (
	"time"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

// The bounds of what is kept of an answer.
const (
	maxTokenFrames = 1 << 20  // arrivals
	maxExpected    = 4096     // arrivals with memory allocated beforehand
	maxText        = 64 << 10 // bytes of text, of an answer that is judged
)

// An accumulator gathers what the frames of one answer say, one after another.
type accumulator struct {
	start time.Time

	tokens    []Arrival
	usage     wire.Usage
	counted   int  // generated tokens by the usage so far
	running   bool // a frame with a choice carried usage, so that its growth counts
	still     bool // a frame with text carried usage that did not grow: usage is not per frame
	byUsage   int  // token frames whose tokens are growth of usage
	byIDs     int  // token frames whose tokens are token ids
	ids       int  // tokens told by ids since usage last grew
	told      int  // tokens told in all frames
	reasoning bool // some frame showed reasoning
	whole     int  // bytes of the answer so far, where frames repeat all of it

	answered time.Duration // frame that first showed some of the answer; 0 if none did
	keeps    bool          // text is kept, to be judged
	text     []byte        // the answer, reasoning included, up to maxText

	finish   string
	finishAt time.Duration
	refusal  bool
	err      *wire.ServerError // the first
	errAt    time.Duration
}

// newAccumulator allocates memory for maxTokens token frames, so that none of them waits for it.
func newAccumulator(start time.Time, maxTokens int, keepsText bool) *accumulator {
	return &accumulator{start: start, keeps: keepsText, tokens: make([]Arrival, 0, max(0, min(maxTokens, maxExpected)))}
}

// add takes one frame, and reports whether it is a token frame: one that shows evidence of a generated token.
func (a *accumulator) add(at stream.Stamp, d wire.Delta) bool {
	since := at.At.Sub(a.start)
	grown := a.grow(d)
	if d.Err != nil && a.err == nil {
		a.err, a.errAt = d.Err, since
	}
	if d.Finish != "" {
		if a.finish == "" {
			a.finishAt = since
		}
		a.finish = d.Finish
	}
	text := d.Text
	if d.Whole { // only the end of the text is new
		text = d.Text[min(a.whole, len(d.Text)):]
		a.whole = max(a.whole, len(d.Text))
	}
	a.refusal = a.refusal || d.Refusal
	a.reasoning = a.reasoning || len(d.Reasoning) > 0
	if grown == 0 && d.Tokens == 0 && len(text) == 0 && len(d.Reasoning) == 0 {
		if n := len(a.tokens); n > 0 && a.tokens[n-1].Read == uint32(at.Read) {
			a.tokens[n-1].Behind = true
		}
		return false
	}
	if len(text) > 0 && a.answered == 0 {
		a.answered = since
	}
	if a.keeps && len(a.text)+len(d.Reasoning)+len(text) <= maxText {
		a.text = append(append(a.text, d.Reasoning...), text...)
	}
	a.tokens = append(a.tokens, Arrival{
		At: since, Read: uint32(at.Read), N: a.attribute(grown, d.Tokens), Kernel: at.Kernel, Delay: at.Delay,
	})
	return true
}

// grow merges the frame's usage and returns by how many generated tokens it grew, where that is evidence of tokens in
// this frame. Usage in a frame without a choice is not: it is the sum at the end. Nor is the first usage of the
// answer when it comes with or after the finish reason.
func (a *accumulator) grow(d wire.Delta) int {
	a.usage = a.usage.Merge(d.Usage)
	total := d.Usage.Generated()
	if !total.Known || d.Role { // a role-only frame has no token, whatever it counts: see DESIGN §1
		return 0
	}
	growth := max(0, total.N-a.counted-a.ids)
	a.counted, a.ids = max(a.counted, total.N), 0
	a.still = a.still || d.Choice && growth == 0 && len(d.Text)+len(d.Reasoning) > 0
	if !d.Choice || (!a.running || a.still) && (d.Finish != "" || a.finish != "") {
		return 0
	}
	a.running = true
	return growth
}

// attribute is the number of tokens in a token frame, best source first; 0 if the frame does not say.
func (a *accumulator) attribute(grown, ids int) int {
	a.told += max(grown, ids)
	switch {
	case a.told > wire.MaxGenerated:
		return 0
	case grown > 0:
		a.byUsage++
		return grown
	case ids > 0:
		a.byIDs++
		a.ids += ids
		return ids
	}
	return 0
}

// source is where the tokens of every frame came from. Where no frame tells its tokens, each has exactly one if the
// count of all equals the number of token frames, or is one more: an invisible end-of-sequence, which an answer that
// ended for its length does not have.
func (a *accumulator) source() Source {
	frames, total := len(a.tokens), a.usage.Generated()
	switch {
	case frames == 0:
	case a.byUsage == frames:
		return FromUsage
	case a.byUsage+a.byIDs == frames:
		return FromIDs
	case total.Known && (total.N == frames || total.N == frames+1 && wire.EndingOf(a.finish) != wire.AtLimit):
		return FromTotal
	}
	return FromNothing
}

// overrun is the tokens an answer may have beyond those asked: llama-server completes a character of several tokens.
const overrun = 3

// endless reports whether more tokens than asked have arrived, without a finish reason.
func (a *accumulator) endless(maxTokens int) bool {
	return maxTokens > 0 && a.finish == "" && a.generatedSoFar() > maxTokens+overrun
}

// generatedSoFar is a lower bound: each token frame has at least one token.
func (a *accumulator) generatedSoFar() int { return max(len(a.tokens), a.told, a.counted) }

// open is the gap that was open when the answer broke off, at the latest after elapsed; 0 if it finished.
func (a *accumulator) open(elapsed time.Duration) time.Duration {
	if len(a.tokens) == 0 || a.finish != "" && a.err == nil {
		return 0
	}
	if a.err != nil {
		elapsed = a.errAt
	}
	return max(0, elapsed-a.tokens[len(a.tokens)-1].At)
}

// total is the usage of the whole answer: the sum of the frames' token ids where the server did not count.
func (a *accumulator) total() wire.Usage {
	u := a.usage
	if !u.Generated().Known && len(a.tokens) > 0 && a.byIDs == len(a.tokens) {
		u.Output = wire.Tokens(a.told)
	}
	return u
}

// into writes all of it to r.
func (a *accumulator) into(r *Result) {
	a.usage = a.total()
	output, generated := a.usage.Output, a.usage.Generated()
	r.Finish, r.Usage, r.Source = a.finish, a.usage, a.source()
	r.Hidden = !a.reasoning && (a.usage.Reasoning.N > 0 || output.Known && generated.N > output.N)
	t := &r.Timeline
	t.Tokens, t.Burst = a.tokens, burst(a.tokens)
	for i := range t.Tokens {
		if r.Source == FromTotal {
			t.Tokens[i].N = 1
		}
	}
	t.Answer, t.Finish = a.answered, a.finishAt
}
