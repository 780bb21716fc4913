package probe

import (
	"cmp"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

const (
	maxTokenFrames = 1 << 20  // arrivals of an answer
	maxExpected    = 4096     // arrivals with memory allocated beforehand
	maxText        = 64 << 10 // bytes of an answer's text that are kept
)

// An answer collects what one frame after another shows, and enters it into a result.
type answer struct {
	result   *Result
	question Question

	frames       int  // read, tokens in them or not
	hasRefusal   bool // some frame holds a refusal
	hasText      bool // some frame holds text of the answer
	hasEnd       bool // the protocol's end came
	isUnstreamed bool // some frame is the answer to a request without streaming

	tokens tokenCount
	text   keptText
	form   keptForm

	bareMessage *wire.ServerError // the first message of a frame that had nothing else
	serverErr   *wire.ServerError // the first error that the server reported in a frame
	serverErrAt time.Duration     // when it came, since the start
	unfielded   int               // bytes outside of events that are no error
}

// newAnswer returns the answer to a question before its first frame.
func newAnswer(r *Result, q Question) *answer {
	return &answer{
		result:   r,
		question: q,
		tokens:   tokenCount{estimates: q.Ask.Server.Estimates},
		form:     keptForm{isAsked: q.Expect.Values != nil},
	}
}

// add takes one frame, and reports whether it is a token frame: one that shows evidence of a generated token.
func (a *answer) add(at stream.Arrival, d wire.Delta) bool {
	r := a.result
	since := at.At.Sub(r.Start)
	a.frames++
	a.hasEnd = a.hasEnd || d.End
	a.isUnstreamed = a.isUnstreamed || d.NotStreamed
	if d.BareMessage != nil && a.bareMessage == nil {
		a.bareMessage = d.BareMessage
	}
	if d.Err != nil && a.serverErr == nil {
		a.serverErr, a.serverErrAt = d.Err, since
	}
	if r.ResponseID == "" {
		r.ResponseID = strings.Clone(d.ID) // not the frame that it is a part of
	}
	if r.answeredBy == "" {
		r.answeredBy = string(d.Model)
	}
	if d.Finish != "" {
		if r.Finish == "" {
			r.Timeline.FinishedAt = since
		}
		r.Finish = d.Finish
	}
	usage, grown := a.tokens.grow(d, r.Finish != "")
	r.Usage = r.Usage.Merge(usage)
	text := d.Text
	if len(d.RepeatedText) > 0 && !a.hasText { // the pieces were not sent
		text = d.RepeatedText
		a.tokens.lumped = true
	}
	a.hasRefusal = a.hasRefusal || d.Refusal
	a.hasText = a.hasText || len(text) > 0
	r.ReasoningShown = r.ReasoningShown || len(d.Reasoning) > 0
	isToken := grown > 0 || d.Tokens > 0 || len(text)+len(d.Reasoning) > 0
	if !isToken {
		a.noteMoreInRead(at)
		return false
	}
	if len(text) > 0 && r.Timeline.FirstAnswerAt == 0 {
		r.Timeline.FirstAnswerAt = since
	}
	a.text.add(d.Reasoning, text)
	a.form.add(text, d.Calls)
	a.addTokenFrame(at, a.tokens.attribute(grown, d.Tokens))
	return true
}

// noteMoreInRead notes that a frame without tokens was read together with the token frame before it, if it was.
func (a *answer) noteMoreInRead(arrival stream.Arrival) {
	frames := a.result.Timeline.Frames
	last := len(frames) - 1
	if last >= 0 && frames[last].Read == uint32(arrival.Read) {
		frames[last].MoreInRead = true
	}
}

// addTokenFrame adds a token frame with n tokens; 0 if they cannot be attributed.
func (a *answer) addTokenFrame(arrival stream.Arrival, n int) {
	r := a.result
	if arrival.Kernel {
		r.Timestamps = ByKernel
	}
	r.Timestamps = cmp.Or(r.Timestamps, ByUser) // single timestamps of the kernel may be refused
	frame := timing.Frame{
		At: arrival.At.Sub(r.Start), Read: uint32(arrival.Read), N: n, Kernel: arrival.Kernel, Delay: arrival.Delay,
	}
	if arrival.Delay > timing.Late { // a read on time found what had just come, even if these were several packets
		frame.Delay += arrival.Hidden
	}
	if !arrival.NotBefore.IsZero() {
		frame.NotBefore = max(0, arrival.NotBefore.Sub(r.Start))
	}
	r.Timeline.Frames = append(r.Timeline.Frames, frame)
}

// total returns the usage of the whole answer: the sum of the frames' token ids where the server did not count, and the
// tokens of the whole prompt. That no token was generated is no count either if some came: gateways fill in zeros for a
// usage that they do not know.
func (a *answer) total() wire.Usage {
	u := a.result.Usage
	frames := len(a.result.Timeline.Frames)
	if frames > 0 && u.Generated().N == 0 {
		u.Output, u.Total = wire.Count{}, wire.Count{}
	}
	if !u.Generated().Known && frames > 0 && a.tokens.byIDs == frames {
		u.Output = wire.Tokens(a.tokens.reported)
	}
	u.Prompt, _ = a.question.wholePrompt(u)
	return u
}

// settle completes the result once its outcome is known, with what only the whole answer shows.
func (a *answer) settle() {
	r := a.result
	_, r.cacheApart = a.question.wholePrompt(r.Usage)
	r.Usage = a.total()
	if r.ReasoningShown && r.Usage.Reasoning.N == 0 { // a count of none is no count: vLLM's, with a parser of reasoning
		r.Usage.Reasoning = wire.Count{}
	}
	output, generated := r.Usage.Output, r.Usage.Generated()
	beyondOutput := output.Known && generated.N > output.N
	r.ReasoningHidden = !r.ReasoningShown && (r.Usage.Reasoning.N > 0 || beyondOutput)
	r.Source = a.tokens.source(len(r.Timeline.Frames), generated, r.Finish)
	if r.Source == FromTotal {
		for i := range r.Timeline.Frames {
			r.Timeline.Frames[i].N = 1
		}
	}
	hasReasoning := r.ReasoningShown || r.ReasoningHidden
	if r.Timeline.FirstAnswerAt > 0 && !hasReasoning { // a token without text is one of the answer as well
		r.Timeline.FirstAnswerAt = r.Timeline.Frames[0].At
	}
	r.Timeline.Open = a.openGap()
	r.Timeline.Settle()
}

// openGap returns the time from the last token frame to the end of an answer that broke off; 0 if it did not.
func (a *answer) openGap() time.Duration {
	r := a.result
	brokeOff := r.Outcome != OK && (r.Finish == "" || a.serverErr != nil)
	last := len(r.Timeline.Frames) - 1
	if last < 0 || !brokeOff {
		return 0
	}
	end := r.Elapsed
	if a.serverErr != nil {
		end = a.serverErrAt
	}
	return max(0, end-r.Timeline.Frames[last].At)
}

// A tokenCount finds out how many tokens each frame carries.
type tokenCount struct {
	estimates bool // the first usage only estimates the prompt, see [wire.Server]

	counted  int  // generated tokens by the usage so far
	growing  bool // a frame with a choice carried usage, so that its growth counts
	standing bool // a frame with text carried usage that did not grow: usage is not per frame
	byUsage  int  // token frames whose tokens are growth of usage
	byIDs    int  // token frames whose tokens are token ids
	ids      int  // tokens reported by ids since usage last grew
	reported int  // tokens reported in all frames
	lumped   bool // a frame has what should have come in pieces
}

// grow returns the usage of a frame, and by how many generated tokens it grew, where that is evidence of tokens in this
// frame: not without a choice, nor if it is the answer's first usage and comes with or after the finish reason.
func (c *tokenCount) grow(d wire.Delta, finished bool) (usage wire.Usage, growth int) {
	usage = d.Usage
	noCount := usage.Prompt.N == 0 // no prompt is empty: the server does not count it
	if noCount || d.EarlyUsage && c.estimates {
		usage.Prompt = wire.Count{}
	}
	total := usage.Generated()
	if !total.Known || d.RoleOnly { // a role-only frame has no token, whatever it counts: see docs/definitions.md
		return usage, 0
	}
	growth = max(0, total.N-c.counted-c.ids)
	c.counted = max(c.counted, total.N)
	c.ids = 0
	if d.Choice && growth == 0 && len(d.Text)+len(d.Reasoning) > 0 {
		c.standing = true
	}
	isSum := finished && (!c.growing || c.standing)
	if !d.Choice || isSum {
		return usage, 0
	}
	c.growing = true
	return usage, growth
}

// attribute returns the number of tokens in a token frame, by the growth of usage, else by the ids in it; 0 if the
// frame does not say.
func (c *tokenCount) attribute(grown, ids int) int {
	c.reported += max(grown, ids)
	switch {
	case c.reported > wire.MaxGenerated:
		return 0
	case grown > 0:
		c.byUsage++
		return grown
	case ids > 0:
		c.byIDs++
		c.ids += ids
		return ids
	}
	return 0
}

// source returns where the tokens of every frame came from. Where no frame reports them, each has one if the count of
// all equals the number of token frames, or is one more: an invisible end-of-sequence, which an answer that ended for
// its length does not have.
func (c *tokenCount) source(frames int, total wire.Count, finish string) Source {
	hasEnd := wire.EndingOf(finish) != wire.AtLimit
	isOneEach := total.N == frames || hasEnd && total.N == frames+1
	switch {
	case frames == 0:
	case c.byUsage == frames:
		return FromUsage
	case c.byUsage+c.byIDs == frames:
		return FromIDs
	case total.Known && isOneEach && !c.lumped:
		return FromTotal
	}
	return FromNothing
}

// A keptText is the text of an answer that is judged by its words, reasoning included, up to maxText. It ends with the
// exchange: no result holds it.
type keptText struct {
	bytes     []byte
	reasoning bool // the text ends with reasoning
}

// add adds what a frame says. The answer begins on a line of its own, so that its first word and the last of the
// reasoning are two.
func (k *keptText) add(reasoning, answer []byte) {
	if len(k.bytes)+len(reasoning)+len(answer) >= maxText {
		return
	}
	k.bytes = append(k.bytes, reasoning...)
	k.reasoning = k.reasoning || len(reasoning) > 0
	if k.reasoning && len(answer) > 0 {
		k.bytes = append(k.bytes, '\n')
		k.reasoning = false
	}
	k.bytes = append(k.bytes, answer...)
}
