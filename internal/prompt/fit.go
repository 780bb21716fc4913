package prompt

import "math"

const (
	attempts = 8  // sizes tried in words before the rest is filled with pads
	padTries = 6  // numbers of pads tried after that
	maxPads  = 32 // pads of a prompt
)

// A size is how long a prompt is: so many words of the list, and so many pads,
// one-letter words that cost the least there is.
type size struct{ words, pads int }

// A fit finds the size that a server counts as the tokens asked for. A word is
// nearly always one token, so the count is close to base + slope · words, and
// two or three counts are enough. Where words cost more, and the count steps
// over what was asked, pads fill the rest.
type fit struct {
	want    int
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

func newFit(want int) fit { return fit{want: want} }

// next is the size to write now, and the tokens it should count, if that is
// settled.
func (f *fit) next() (s size, want int, settled bool) {
	switch {
	case f.cut:
		return f.best.size, f.want, true
	case f.settled:
		return f.best.size, f.best.tokens, true
	case len(f.tried) == 0:
		return size{words: max(1, f.want-overhead)}, f.want, false
	}
	return f.guess(), f.want, false
}

// observe takes a count. One that contradicts what was settled starts anew if it
// comes twice in a row: the server's tokenizer or template is another one now. A
// prompt without tokens was not counted.
func (f *fit) observe(s size, tokens int) {
	if tokens <= 0 || !f.renew(s, tokens) || f.seen(s) {
		return
	}
	f.tried = append(f.tried, observation{s, tokens})
	f.settle()
}

// renew reports whether the fit is to learn from a count, and forgets what was
// settled if it must.
func (f *fit) renew(s size, tokens int) bool {
	if !f.settled && !f.cut {
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
	*f = newFit(f.want)
	return true
}

// refuse takes that the server would not answer a prompt of a size, while the
// right one is being looked for: then the best that it did answer is kept.
func (f *fit) refuse(s size) {
	if f.settled || f.cut || len(f.tried) == 0 || f.seen(s) {
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
		f.cut, f.best = true, f.tried[0]
	case f.padding:
		f.settled = len(f.tried) >= attempts+padTries || f.seen(f.guess())
	case len(f.tried) >= attempts || f.seen(f.guess()):
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
	f.padding = true
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

// stuck reports whether the server counted the same, too few, tokens for a
// prompt of more words.
func (f *fit) stuck() bool {
	n := len(f.tried)
	if n < 2 || f.padding {
		return false
	}
	last, before := f.tried[n-1], f.tried[n-2]
	return last.size.words > before.size.words && last.tokens <= before.tokens && last.tokens < f.want
}

// guess is the size that should count as asked, from the last counts. A word is
// hardly ever less than a token, so no count, however odd, makes a prompt much
// longer than what was asked.
func (f *fit) guess() size {
	last := f.tried[len(f.tried)-1]
	missing := f.want - last.tokens
	if f.padding {
		return size{last.size.words, min(max(0, last.size.pads+missing), maxPads)}
	}
	words := last.size.words + int(math.Round(float64(missing)/f.slope()))
	return size{words: min(max(1, words), f.want+f.want/2)}
}

// slope is the tokens that a word costs.
func (f *fit) slope() float64 {
	last := f.tried[len(f.tried)-1]
	ratio := float64(last.tokens) / float64(last.size.words+overhead)
	if len(f.tried) > 1 {
		before := f.tried[len(f.tried)-2]
		ratio = float64(last.tokens-before.tokens) / float64(last.size.words-before.size.words)
	} else if ratio > 0.8 && ratio < 1.25 {
		ratio = 1
	}
	return max(0.25, ratio)
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
	return f.best.tokens - f.want, f.settled || f.cut
}

func distance(a, b int) int { return max(a-b, b-a) }
