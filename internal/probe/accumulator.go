package probe

import (
	"bytes"
	"cmp"
	"time"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/wire"
)

const (
	maxTokenFrames = 1 << 20  // arrivals
	maxExpected    = 4096     // arrivals with memory allocated beforehand
	maxText        = 64 << 10 // bytes of text, of an answer that is judged
)

// An accumulator enters into a result what the frames of its answer say, one after another.
type accumulator struct {
	*Result

	frames  int  // read, tokens in them or not
	counted int  // generated tokens by the usage so far
	running bool // a frame with a choice carried usage, so that its growth counts
	still   bool // a frame with text carried usage that did not grow: usage is not per frame
	byUsage int  // token frames whose tokens are growth of usage
	byIDs   int  // token frames whose tokens are token ids
	ids     int  // tokens told by ids since usage last grew
	told    int  // tokens told in all frames
	refusal bool // some frame refused

	whole    int    // bytes of the answer so far, where frames repeat all of it
	seen     []byte // these bytes, up to maxText
	disjoint bool   // frames do not repeat it, although their dialect may: each adds its text

	estimates bool // usage that comes before the prompt is evaluated is no count of it, see [wire.Server]

	keeps     bool   // text is kept, to be judged
	text      []byte // the answer, reasoning included, up to maxText
	reasoning bool   // the text ends with reasoning

	err   *wire.ServerError // the first
	errAt time.Duration
}

// add takes one frame, and reports whether it is a token frame: one that shows evidence of a generated token.
func (a *accumulator) add(at stream.Stamp, d wire.Delta) bool {
	a.frames++
	since := at.At.Sub(a.Start)
	if d.Err != nil && a.err == nil {
		a.err, a.errAt = d.Err, since
	}
	if d.Finish != "" {
		if a.Finish == "" {
			a.Timeline.Finish = since
		}
		a.Finish = d.Finish
	}
	grown, text := a.grow(d), d.Text
	if d.Whole {
		text = a.addition(d)
	}
	a.refusal = a.refusal || d.Refusal
	a.Reasoned = a.Reasoned || len(d.Reasoning) > 0
	if grown == 0 && d.Tokens == 0 && len(text) == 0 && len(d.Reasoning) == 0 {
		if n := len(a.Tokens); n > 0 && a.Tokens[n-1].Read == uint32(at.Read) {
			a.Tokens[n-1].Behind = true
		}
		return false
	}
	if len(text) > 0 && a.Answer == 0 {
		a.Answer = since
	}
	if a.keeps && len(a.text)+len(d.Reasoning)+len(text) < maxText {
		a.keep(d.Reasoning, text)
	}
	if at.Kernel {
		a.Stamp = ByKernel
	}
	a.Stamp = cmp.Or(a.Stamp, ByUser) // single timestamps of the kernel may be refused
	arrival := Arrival{
		At: since, Read: uint32(at.Read), N: a.attribute(grown, d.Tokens), Kernel: at.Kernel, Delay: at.Delay,
	}
	if !at.NotBefore.IsZero() {
		arrival.NotBefore = max(0, at.NotBefore.Sub(a.Start))
	}
	a.Tokens = append(a.Tokens, arrival)
	return true
}

// keep adds what a frame says to the text. The answer begins on a line of its own, so that its first word and the last of the
// reasoning are two.
func (a *accumulator) keep(reasoning, answer []byte) {
	a.text = append(a.text, reasoning...)
	a.reasoning = a.reasoning || len(reasoning) > 0
	if a.reasoning && len(answer) > 0 {
		a.text = append(a.text, '\n')
		a.reasoning = false
	}
	a.text = append(a.text, answer...)
}

// addition returns what a frame adds whose text may be the whole answer so far. It is that only if it begins with
// what was seen: SGLang with --incremental-streaming-output sends increments in the same fields. Once a text does
// not, no later one is.
func (a *accumulator) addition(d wire.Delta) []byte {
	if a.disjoint || len(d.Text) == 0 {
		return d.Text
	}
	if d.Finish != "" && len(d.Text) < len(a.seen) && bytes.HasPrefix(a.seen, d.Text) {
		return nil // a stop sequence was cut off the end
	}
	if !bytes.HasPrefix(d.Text, a.seen) {
		a.disjoint, a.seen = true, nil
		return d.Text
	}
	added := d.Text[min(a.whole, len(d.Text)):]
	a.whole = max(a.whole, len(d.Text))
	a.seen = append(a.seen, added[:min(len(added), maxText-len(a.seen))]...)
	return added
}

// grow merges the frame's usage and returns by how many generated tokens it grew, where that is evidence of tokens in this
// frame: not without a choice, nor if it is the answer's first usage and comes with or after the finish reason.
func (a *accumulator) grow(d wire.Delta) int {
	if d.Early && a.estimates {
		d.Usage.Prompt = wire.Count{}
	}
	a.Usage = a.Usage.Merge(d.Usage)
	total := d.Usage.Generated()
	if !total.Known || d.Role { // a role-only frame has no token, whatever it counts: see DESIGN §1
		return 0
	}
	growth := max(0, total.N-a.counted-a.ids)
	a.counted, a.ids = max(a.counted, total.N), 0
	a.still = a.still || d.Choice && growth == 0 && len(d.Text)+len(d.Reasoning) > 0
	if !d.Choice || (!a.running || a.still) && a.Finish != "" {
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

// source is where the tokens of every frame came from. Where no frame tells, each has one if the count of all equals the
// number of token frames, or is one more: an invisible end-of-sequence, which an answer ended for its length does not have.
func (a *accumulator) source() Source {
	frames, total := len(a.Tokens), a.Usage.Generated()
	switch {
	case frames == 0:
	case a.byUsage == frames:
		return FromUsage
	case a.byUsage+a.byIDs == frames:
		return FromIDs
	case total.Known && (total.N == frames || total.N == frames+1 && wire.EndingOf(a.Finish) != wire.AtLimit):
		return FromTotal
	}
	return FromNothing
}

// total is the usage of the whole answer: the sum of the frames' token ids where the server did not count.
func (a *accumulator) total() wire.Usage {
	u := a.Usage
	if !u.Generated().Known && len(a.Tokens) > 0 && a.byIDs == len(a.Tokens) {
		u.Output = wire.Tokens(a.told)
	}
	return u
}

// settle completes the result, whose outcome is known, by what only the whole answer says.
func (a *accumulator) settle() {
	a.Usage = a.total()
	output, generated := a.Usage.Output, a.Usage.Generated()
	a.Hidden = !a.Reasoned && (a.Usage.Reasoning.N > 0 || output.Known && generated.N > output.N)
	if a.Source = a.source(); a.Source == FromTotal {
		for i := range a.Tokens {
			a.Tokens[i].N = 1
		}
	}
	if a.Answer > 0 && !a.Reasoned && !a.Hidden { // a token without text is one of the answer as well
		a.Answer = a.Tokens[0].At
	}
	a.Burst = burst(a.Tokens)
	if n := len(a.Tokens); n > 0 && a.Outcome != OK && (a.Finish == "" || a.err != nil) {
		died := a.Elapsed
		if a.err != nil {
			died = a.errAt
		}
		a.Open = max(0, died-a.Tokens[n-1].At)
	}
}
