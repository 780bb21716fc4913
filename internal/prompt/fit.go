package prompt

import "math"

const (
	attempts = 8  // sizes tried in words before the rest is filled with pads
	padTries = 6  // numbers of pads tried after that
	maxPads  = 48 // pads of a prompt
	reserve  = 4  // tokens that are left to be filled with pads, where a word is not exactly a token
)

// A size is how long a prompt is: so many words of the list, and so many pads,
// one-letter words that cost the least there is.
type size struct{ words, pads int }

// Terms are what a fit begins with.
type terms struct {
	want  int     // tokens asked for; 0: any length will do
	first int     // words to try first, least to most: few, since nothing is known of the tokenizer yet
	whole int     // words of the whole prompt if a word is a token; for a server that does not count
	least int     // words at least, 1 or more
	most  int     // words at most, so that no count, however odd, makes a prompt much longer than what was asked
	cost  float64 // tokens of a word, as other prompts had it; 0 if there were none
}

// A fit finds the size that a server counts as the tokens asked for. It starts
// with a short prompt and grows, so that no guess is longer than what was asked,
// whatever the tokenizer: it may be as long as the server's context. A word is
// nearly always one token, so the count is base + slope · words, and three counts
// are enough. Where words cost more, the fit approaches from below, and pads fill
// the rest.
type fit struct {
	terms
	version int // differs from that of every other fit of the writer
	tried   []observation
	padding bool // the words are found; pads are being tried
	settled bool
	cut     bool // the server does not count all that it is sent
	usage   bool // the usage of an answer agreed with what was settled
	best    observation
	doubt   int // a count that contradicted what was settled, once; 0 if none did
}

// observation is what a server counted for a size.
type observation struct {
	size   size
	tokens int
}

func newFit(t terms) fit { return fit{terms: t, settled: t.want == 0} }

// next is the size to write now.
func (f *fit) next() size {
	switch {
	case f.known():
		return f.best.size
	case len(f.tried) == 0:
		return size{words: f.first}
	}
	return f.guess()
}

// known reports whether the size is found.
func (f *fit) known() bool { return f.settled || f.cut }

// tokens is what the next size should count, as far as that is known.
func (f *fit) tokens() int {
	if f.settled {
		return f.best.tokens
	}
	return f.want
}

// observe takes a count. One that contradicts what was settled starts anew if it
// comes twice in a row: the server's tokenizer or template is another one now.
func (f *fit) observe(s size, tokens int) {
	if len(f.tried) == 0 && tokens <= s.words/uncounted {
		f.first = max(f.first, f.whole)
		return
	}
	if tokens <= 0 || !f.renew(s, tokens) || f.seen(s) {
		return
	}
	f.tried = append(f.tried, observation{s, tokens})
	f.settle()
}

// renew reports whether the fit is to learn from a count, and forgets what was
// settled if it must.
func (f *fit) renew(s size, tokens int) bool {
	if !f.known() {
		return true
	}
	if s != f.best.size {
		return false
	}
	if f.settled && tokens == f.best.tokens || f.cut && tokens < f.want {
		f.doubt = 0
		return false
	}
	if f.usage && tokens != f.doubt {
		f.doubt = tokens
		return false
	}
	*f = fit{terms: f.terms, version: f.version}
	return true
}

// refuse takes that the server would not answer a prompt of a size, while the
// right one is being looked for: then the best that it did answer is kept, unless
// that is much shorter than what was asked.
func (f *fit) refuse(s size) {
	if f.known() || len(f.tried) == 0 || f.seen(s) || f.best.tokens < f.want-f.want/near {
		return
	}
	f.settled = true
}

// confirm takes the count of an answer's usage.
func (f *fit) confirm(s size, tokens int) {
	f.usage = f.usage || f.settled && f.best == observation{s, tokens}
}

// held reports whether another count than the settled one is wrong.
func (f *fit) held() bool { return f.cut || f.usage }

// settle decides whether more tries would help.
func (f *fit) settle() {
	f.best = f.nearest(func(observation) bool { return true })
	switch {
	case f.best.tokens == f.want:
		f.settled = true
	case f.stuck():
		f.cut, f.best = true, f.tried[len(f.tried)-1]
	case f.padding:
		f.settled = len(f.tried) >= attempts+padTries || f.seen(f.guess())
	case len(f.tried) >= attempts || f.padsReach() || f.seen(f.guess()):
		f.pad()
	}
}

// pad goes on with pads, from the longest prompt that is too short. Without one
// there is nothing to fill.
func (f *fit) pad() {
	short := func(o observation) bool { return o.tokens < f.want }
	base := f.nearest(short)
	if !short(base) {
		f.settled = true
		return
	}
	f.padding, f.cost = true, f.slope()
	f.tried = []observation{base}
	f.settled = f.seen(f.guess())
}

// nearest is the observation of a kind whose count is nearest to what was asked;
// the first of all if there is none of the kind.
func (f *fit) nearest(kind func(observation) bool) observation {
	best := f.tried[0]
	for _, o := range f.tried {
		if kind(o) && (!kind(best) || distance(o.tokens, f.want) < distance(best.tokens, f.want)) {
			best = o
		}
	}
	return best
}

// A count of so many words as one token, or of fewer tokens, is none: no tokenizer
// counts so, but a server that counts something else does.
const uncounted = 4

// near is which part of what was asked a prompt may lack to be as good as asked.
const near = 16

// more is how many words more must show in a count, even where words are so
// short that several are one token.
const more = 4

// shortestContext is a length, in tokens, that every server takes: a count below it
// is that of a server which does not count.
const shortestContext = 512

// stuck reports whether the server counted too few tokens for a prompt of more
// words: not more than before, or less than half of what shorter prompts foretold.
func (f *fit) stuck() bool {
	n := len(f.tried)
	if n < 2 || f.padding {
		return false
	}
	last, before := f.tried[n-1], f.tried[n-2]
	words, grown := last.size.words-before.size.words, last.tokens-before.tokens
	foretold := 0.0
	if n > 2 {
		foretold = slopeOf(f.tried[:n-1]) * float64(words)
	}
	return words >= more && (grown <= 0 || float64(grown) < foretold/2) &&
		last.tokens < f.want && last.tokens >= min(f.want/2, shortestContext)
}

// guess is the size that should count as asked, from the counts so far: the longest
// that is not too long, since pads can fill what is missing and nothing can take
// away what is too much.
func (f *fit) guess() size {
	if f.padding {
		return f.guessPads()
	}
	last, most := f.tried[len(f.tried)-1], f.most
	if first := f.tried[0]; first.tokens >= first.size.words { // no word is less than a token
		most = min(most, f.want)
	}
	return size{words: min(max(f.least, last.size.words+f.step(last)), most)}
}

// step is how many words to add to the last prompt. From one short prompt the cost
// of a word is only known as an upper bound, the chat template included: a second
// one of twice its words tells both apart. Where a word is not exactly a token, some
// words cost more than others: a part of what is missing is left for the next step.
func (f *fit) step(last observation) int {
	missing, slope := float64(f.want-last.tokens), f.slope()
	switch {
	case missing <= 0 || slope == 1 || f.cost > 0 || len(f.tried) == 1:
	case missing > 256:
		missing -= missing/128 + 24
	default:
		missing = max(0, missing*15./16-reserve)
	}
	words := int(math.Floor(missing / slope))
	if len(f.tried) == 1 && f.cost == 0 {
		return min(words, last.size.words)
	}
	return words
}

// padsReach reports whether so little is missing that pads are the safer way to
// fill it: no word is known to cost less than what is missing.
func (f *fit) padsReach() bool {
	missing := f.want - f.best.tokens
	return len(f.tried) > 1 && missing > 0 && missing <= maxPads/2 && f.slope() != 1
}

// guessPads is guess for pads, which nearly always cost one token too: between
// the most that were too few and the fewest that were too many.
func (f *fit) guessPads() size {
	few, many, cost := f.tried[0], maxPads+1, max(1, f.cost)
	for _, o := range f.tried[1:] {
		if o.tokens < f.want && o.size.pads > few.size.pads {
			few = o
		}
		if o.tokens > f.want {
			many = min(many, o.size.pads)
		}
		cost = padCost(o.tokens-f.tried[0].tokens, o.size.pads)
	}
	pads := few.size.pads + int(float64(f.want-few.tokens)/cost)
	if few.size.pads == 0 { // what a pad costs is not known yet: less than a word, perhaps
		pads = max(1, pads)
	}
	return size{few.size.words, max(few.size.pads, min(pads, many-1))}
}

// padCost is the tokens that a pad costs at most, by what several cost together.
func padCost(tokens, pads int) float64 {
	if tokens%pads != 0 {
		tokens++ // it may have been rounded down
	}
	return max(0.25, float64(tokens)/float64(pads))
}

// slope is the tokens that a word costs.
func (f *fit) slope() float64 {
	if len(f.tried) == 1 && f.cost > 0 {
		return max(0.25, f.cost)
	}
	return slopeOf(f.tried)
}

// slopeOf is the tokens that a word cost from the first to the last of some counts.
func slopeOf(tried []observation) float64 {
	var first observation
	last := tried[len(tried)-1]
	if len(tried) > 1 {
		first = tried[0]
	}
	return max(0.25, float64(last.tokens-first.tokens)/float64(last.size.words-first.size.words))
}

func (f *fit) seen(s size) bool {
	for _, o := range f.tried {
		if o.size == s {
			return true
		}
	}
	return false
}

// off is by how many tokens the settled size differs from what was asked.
func (f *fit) off() (tokens int, known bool) {
	return f.best.tokens - f.want, f.known()
}

func distance(a, b int) int { return max(a-b, b-a) }
