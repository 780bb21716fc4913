package prompt

import (
	"math"
	"slices"

	"github.com/llm-prober/prober/internal/wire"
)

const (
	attempts = 8  // sizes tried in words before pads fill the rest
	padTries = 6  // numbers of pads tried after that
	maxPads  = 48 // pads of a prompt
	reserve  = 4  // tokens left to pads where a word is not exactly a token

	uncounted = 4 // words per token that no tokenizer reaches: such a server counts something else
	more      = 4 // words by which a count must grow, even where several words are one token
)

// A size is how long a prompt is: so many words of the list, and so many pads, which cost the least there is.
type size struct{ words, pads int }

type observation struct {
	size   size
	tokens int
}

// Terms are what a calibration starts from.
type terms struct {
	want  int     // tokens asked for; 0: any length will do
	first int     // words to try first, least to most: few, because the tokenizer is unknown
	whole int     // words of the whole prompt if a word is a token; for a server that does not count
	least int     // words at least, 1 or more
	most  int     // words at most, so that no odd count makes a prompt much longer than asked
	cost  float64 // tokens per word in other prompts; 0 if there were none
}

// A calibration finds the size that a server counts as the tokens asked for. It starts with a short prompt and grows,
// since what was asked may be all of the server's context. A word is nearly always one token, so the count is base +
// slope · words, and three counts are enough. Where words cost more, it approaches from below, and pads fill the
// rest.
type calibration struct {
	terms
	counts    []observation
	padding   bool // the words are found; pads are being tried
	done      bool
	truncated bool // done: the server does not count all that it is sent
	best      observation
}

// next is the size to count now.
func (c *calibration) next() size {
	if len(c.counts) == 0 {
		return size{words: c.first}
	}
	return c.guess()
}

// observe takes the count of the next size.
func (c *calibration) observe(s size, tokens int) {
	c.counts = append(c.counts, observation{s, tokens})
	c.settle()
}

func (c *calibration) settle() {
	c.best = slices.MinFunc(c.counts, func(a, b observation) int {
		return distance(a.tokens, c.want) - distance(b.tokens, c.want)
	})
	missing := c.want - c.best.tokens
	padsReach := len(c.counts) > 1 && missing > 0 && missing <= maxPads/2 && c.slope(c.counts) != 1
	switch {
	case missing == 0:
		c.done = true
	case c.stuck():
		c.done, c.truncated, c.best = true, true, c.counts[len(c.counts)-1]
	case c.padding:
		c.done = len(c.counts) >= attempts+padTries || c.tried(c.guess())
	case len(c.counts) >= attempts || padsReach || c.tried(c.guess()):
		c.pad()
	}
}

// pad goes on with pads, from the longest prompt that is too short. Without one there is nothing to fill.
func (c *calibration) pad() {
	short := slices.DeleteFunc(slices.Clone(c.counts), func(o observation) bool { return o.tokens >= c.want })
	if len(short) == 0 {
		c.done = true
		return
	}
	c.padding, c.cost = true, c.slope(c.counts)
	c.counts = []observation{slices.MaxFunc(short, func(a, b observation) int { return a.tokens - b.tokens })}
	c.done = c.tried(c.guess())
}

// stuck reports whether more words counted no more tokens than before, or less than half of what shorter prompts
// predict.
func (c *calibration) stuck() bool {
	n := len(c.counts)
	if n < 2 || c.padding {
		return false
	}
	last, before := c.counts[n-1], c.counts[n-2]
	words, grown := last.size.words-before.size.words, last.tokens-before.tokens
	predicted := 0.0
	if n > 2 {
		predicted = c.slope(c.counts[:n-1]) * float64(words)
	}
	return words >= more && (grown <= 0 || float64(grown) < predicted/2) &&
		last.tokens < c.want && last.tokens >= min(c.want/2, wire.MinContext)
}

// guess is the longest size that should not count more than asked: pads can fill what is missing.
func (c *calibration) guess() size {
	if c.padding {
		return c.guessPads()
	}
	last, most := c.counts[len(c.counts)-1], c.most
	if first := c.counts[0]; first.tokens >= first.size.words { // no word is less than a token
		most = min(most, c.want)
	}
	return size{words: min(max(c.least, last.size.words+c.step(last)), most)}
}

// step is how many words to add to the last prompt. One short prompt gives only an upper bound of a word's cost: a
// second one of twice its words tells it from the chat template. Where words differ in cost, a part of what is
// missing is left for later.
func (c *calibration) step(last observation) int {
	missing, slope := float64(c.want-last.tokens), c.slope(c.counts)
	switch {
	case missing <= 0 || slope == 1 || c.cost > 0 || len(c.counts) == 1:
	case missing > 256:
		missing -= missing/128 + 24
	default:
		missing = max(0, missing*15./16-reserve)
	}
	words := int(math.Floor(missing / slope))
	if len(c.counts) == 1 && c.cost == 0 {
		return min(words, last.size.words)
	}
	return words
}

// guessPads is guess for pads: between the most that were too few and the fewest that were too many.
func (c *calibration) guessPads() size {
	few, many, cost := c.counts[0], maxPads+1, max(1, c.cost)
	for _, o := range c.counts[1:] {
		if o.tokens < c.want && o.size.pads > few.size.pads {
			few = o
		}
		if o.tokens > c.want {
			many = min(many, o.size.pads)
		}
		together := o.tokens - c.counts[0].tokens
		if together%o.size.pads != 0 {
			together++ // the server may have rounded down
		}
		cost = max(0.25, float64(together)/float64(o.size.pads))
	}
	pads := few.size.pads + int(float64(c.want-few.tokens)/cost)
	if few.size.pads == 0 { // a pad may cost less than a word
		pads = max(1, pads)
	}
	return size{few.size.words, max(few.size.pads, min(pads, many-1))}
}

// slope is the tokens per word from the first to the last of some counts, or of other prompts where there is only one.
func (c *calibration) slope(counts []observation) float64 {
	first, last := counts[0], counts[len(counts)-1]
	switch {
	case len(counts) > 1:
		return max(0.25, float64(last.tokens-first.tokens)/float64(last.size.words-first.size.words))
	case c.cost > 0:
		return max(0.25, c.cost)
	}
	return max(0.25, float64(last.tokens)/float64(last.size.words))
}

func (c *calibration) tried(s size) bool {
	return slices.ContainsFunc(c.counts, func(o observation) bool { return o.size == s })
}

func distance(a, b int) int { return max(a-b, b-a) }
