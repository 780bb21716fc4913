package prompt

import (
	"math"
	"slices"

	"github.com/llm-prober/prober/internal/wire"
)

// The limits of a calibration. A try is one prompt that the server counts.
const (
	maxWordTries = 8  // tries with other numbers of words, before pads fill the rest
	maxPadTries  = 6  // tries with other numbers of pads, after those
	maxPads      = 48 // pads of a prompt
	padReserve   = 4  // tokens left to pads where a word is not exactly a token

	maxWordsPerToken = 4 // no tokenizer joins more words into one token: such a server counts something else
	minWordGrowth    = 4 // words by which a prompt must grow for its count to grow, even if several are one token
)

// A size is how long a prompt is: so many words of the list, and so many pads, which cost the least there is.
type size struct{ words, pads int }

// An observation is what a server counted for a prompt of a size.
type observation struct {
	size   size
	tokens int
}

// A calibrationStart is what a calibration knows before it has asked anything.
type calibrationStart struct {
	want     int     // tokens asked for; 0: any length will do
	first    int     // words to try first, least to most: few, because the tokenizer is unknown
	whole    int     // words of the whole prompt if a word is a token; for a server that does not count
	least    int     // words at least, 1 or more
	most     int     // words at most, so that no odd count makes a prompt much longer than asked
	wordCost float64 // tokens per word in other prompts; 0 if there were none
}

// A calibration finds the size that a server counts as the tokens asked for. Its caller asks the server to count a
// prompt of the size that next returns, hands the count to observe, and goes on until it is done.
//
// It starts with a short prompt and grows, since what was asked for may be all that the server's context holds. Most
// tokenizers count one token for each word of the list, and the server adds a chat template and the prompt's last
// sentence. So the count is a straight line, base + slope · words, and three tries are enough. For 1,000 tokens:
//
//	try   words  pads  counted
//	  1     125     0      165   a word costs at most 165/125 tokens: too uncertain to jump, so twice the words
//	  2     250     0      290   slope (290 − 165)/(250 − 125) = 1, and 710 tokens are missing
//	  3     960     0    1,000   done
//
// Where some words are two tokens, as with 1.25 tokens a word here, a jump may go too far. It approaches from below,
// and pads (the word "a", one token nearly everywhere) fill the rest:
//
//	try   words  pads  counted
//	  1     125     0      196
//	  2     250     0      352   slope 1.25, and 648 tokens are missing, of which 29 are left for later
//	  3     745     0      971   29 are missing, of which 6 are left for pads
//	  4     763     0      993   7 are missing: few enough for pads
//	  5     763     5      998   a pad costs 1 token, not 1.25
//	  6     763     7    1,000   done
//
// A server that cuts long prompts is recognized: more words no longer count more tokens, or far fewer than before.
type calibration struct {
	calibrationStart

	counts    []observation // of the tries
	padding   bool          // the words are found; pads are being tried
	done      bool
	truncated bool // done: the server does not count all that it is sent
	best      observation
}

// next returns the size to count now.
func (c *calibration) next() size {
	if len(c.counts) == 0 {
		return size{words: c.first}
	}
	return c.guess()
}

// observe takes the count of the next size.
func (c *calibration) observe(s size, tokens int) {
	c.counts = append(c.counts, observation{s, tokens})
	c.best = slices.MinFunc(c.counts, func(a, b observation) int {
		return distance(a.tokens, c.want) - distance(b.tokens, c.want)
	})
	missing := c.want - c.best.tokens
	isLittle := missing > 0 && missing <= maxPads/2
	padsReach := isLittle && len(c.counts) > 1 && c.tokensPerWord(c.counts) != 1
	switch {
	case missing == 0:
		c.done = true
	case c.stuck():
		c.done, c.truncated, c.best = true, true, c.counts[len(c.counts)-1]
	case c.padding:
		c.done = len(c.counts) >= maxWordTries+maxPadTries || c.tried(c.guess())
	case len(c.counts) >= maxWordTries || padsReach || c.tried(c.guess()):
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
	c.padding = true
	c.wordCost = c.tokensPerWord(c.counts)
	longest := slices.MaxFunc(short, func(a, b observation) int { return a.tokens - b.tokens })
	c.counts = []observation{longest}
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
	moreWords := last.size.words - before.size.words
	moreTokens := last.tokens - before.tokens
	predicted := 0.0
	if n > 2 {
		predicted = c.tokensPerWord(c.counts[:n-1]) * float64(moreWords)
	}
	tooFew := moreTokens <= 0 || float64(moreTokens) < predicted/2
	mayBeCut := last.tokens < c.want && last.tokens >= min(c.want/2, wire.MinContext) // no server has less context
	return moreWords >= minWordGrowth && tooFew && mayBeCut
}

// guess returns the longest size that should not count more than asked: pads can fill what is missing.
func (c *calibration) guess() size {
	if c.padding {
		return c.guessPads()
	}
	first, last, most := c.counts[0], c.counts[len(c.counts)-1], c.most
	if first.tokens >= first.size.words { // no word is less than a token
		most = min(most, c.want)
	}
	words := last.size.words + c.wordsToAdd(last)
	return size{words: min(max(c.least, words), most)}
}

// wordsToAdd returns by how many words the next prompt is longer than the last one. One short prompt gives only an
// upper bound of a word's cost: a second one of twice its words separates it from the chat template. Where words differ
// in cost, a part of what is missing is left for later.
func (c *calibration) wordsToAdd(last observation) int {
	missing, slope := float64(c.want-last.tokens), c.tokensPerWord(c.counts)
	onlyOne := len(c.counts) == 1
	switch {
	case missing <= 0 || slope == 1 || c.wordCost > 0 || onlyOne:
	case missing > 256:
		missing -= missing/128 + 24
	default:
		missing = max(0, missing*15./16-padReserve)
	}
	words := int(math.Floor(missing / slope))
	if onlyOne && c.wordCost == 0 {
		return min(words, last.size.words)
	}
	return words
}

// guessPads is guess for pads: a number between the most that were too few and the fewest that were too many.
func (c *calibration) guessPads() size {
	unpadded := c.counts[0]
	few := unpadded
	many := maxPads + 1
	cost := max(1, c.wordCost) // tokens of a pad
	for _, o := range c.counts[1:] {
		if o.tokens < c.want && o.size.pads > few.size.pads {
			few = o
		}
		if o.tokens > c.want {
			many = min(many, o.size.pads)
		}
		together := o.tokens - unpadded.tokens
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

// tokensPerWord returns the slope from the first to the last of some counts, or of other prompts where there is only
// one.
func (c *calibration) tokensPerWord(counts []observation) float64 {
	const least = 1. / maxWordsPerToken
	first, last := counts[0], counts[len(counts)-1]
	switch {
	case len(counts) > 1:
		return max(least, float64(last.tokens-first.tokens)/float64(last.size.words-first.size.words))
	case c.wordCost > 0:
		return max(least, c.wordCost)
	}
	return max(least, float64(last.tokens)/float64(last.size.words))
}

// tried reports whether a size was counted already.
func (c *calibration) tried(s size) bool {
	return slices.ContainsFunc(c.counts, func(o observation) bool { return o.size == s })
}

// distance returns how far apart two numbers are.
func distance(a, b int) int { return max(a-b, b-a) }
