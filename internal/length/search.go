package length

import (
	"errors"
	"math"
	"slices"

	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/wire"
)

// The limits of a search.
const (
	maxWordTrials = 8   // trials with other numbers of words, before pads fill the rest
	maxPadTrials  = 6   // trials with other numbers of pads, after those
	maxPads       = 48  // pads of a prompt
	padReserve    = 4   // tokens left to pads where a word is not exactly a token
	firstWords    = 256 // words of the first trial at most

	maxWordsPerToken = 4 // no tokenizer joins more words into one token: such a server counts something else
	minWordGrowth    = 4 // words by which a prompt must grow for its count to grow, even if several are one token
)

// errUncounted says that a server does not count the tokens of prompts, or counts something else.
var errUncounted = errors.New("the server does not count the tokens of prompts")

// A trial is a prompt of a size that a server has counted.
type trial struct {
	size   prompt.Size
	tokens int
}

// A finding is the size of prompt for which a server counts the tokens asked for, or as near to them as possible.
type finding struct {
	trial
	cut bool // the server does not count all that it is sent: the size is what was asked for by the words
}

// find asks a server to count prompts until it has found the size that was asked for. It returns the error of ask, or
// errUncounted if a count is 0 or far too small.
func find(o prompt.Options, ask func(prompt.Size) (tokens int, err error)) (finding, error) {
	s := newSearch(o)
	for !s.done {
		size := s.next()
		tokens, err := ask(size)
		if err != nil {
			return finding{}, err
		}
		if tokens <= 0 || len(s.trials) == 0 && tokens <= size.Words/maxWordsPerToken {
			return finding{}, errUncounted
		}
		s.observe(trial{size, tokens})
	}
	return finding{trial: s.best, cut: s.cut}, nil
}

// A search finds the size that a server counts as the tokens asked for. Its caller asks the server to count a
// prompt of the size that next returns, hands the count to observe, and goes on until it is done.
//
// It starts with a short prompt and grows, since what was asked for may be all that the server's context holds. Most
// tokenizers count one token for each word of the list, and the server adds a chat template and the prompt's last
// sentence. So the count is a straight line, base + slope · words, and three trials are enough. For 1,000 tokens:
//
//	trial words  pads  counted
//	  1     125     0      165   a word costs at most 165/125 tokens: too uncertain to jump, so twice the words
//	  2     250     0      290   slope (290 − 165)/(250 − 125) = 1, and 710 tokens are missing
//	  3     960     0    1,000   done
//
// Where some words are two tokens, as with 1.25 tokens a word here, a jump may go too far. It approaches from below,
// and pads (the word "a", one token nearly everywhere) fill the rest:
//
//	trial words  pads  counted
//	  1     125     0      196
//	  2     250     0      352   slope 1.25, and 648 tokens are missing, of which 29 are left for later
//	  3     745     0      971   29 are missing, of which 6 are left for pads
//	  4     763     0      993   7 are missing: few enough for pads
//	  5     763     5      998   a pad costs 1 token, not 1.25
//	  6     763     7    1,000   done
//
// A server that cuts long prompts is recognized: more words no longer count more tokens, or far fewer than before.
type search struct {
	want  int // tokens asked for
	first int // words of the first trial: few, because the tokenizer is unknown
	least int // words at least, 1 or more
	most  int // words at most, so that no odd count makes a prompt much longer than asked

	trials   []trial // while pads are tried, the unpadded prompt and those with pads
	padding  bool    // the words are found; pads are being tried
	wordCost float64 // tokens of a word, once pads are tried
	done     bool
	cut      bool // done: the server does not count all that it is sent
	best     trial
}

// newSearch returns a search that has not asked anything. The first trial has an eighth of the words that the whole
// prompt may have: even where a word is eight tokens, that is not too long.
func newSearch(o prompt.Options) *search {
	least := o.LeastWords()
	return &search{
		want:  o.Tokens,
		first: max(least, min(o.UsualSize().Words, firstWords, o.Tokens/8)),
		least: least,
		most:  o.Tokens + o.Tokens/2,
	}
}

// observe takes the count of the next size.
func (s *search) observe(c trial) {
	s.trials = append(s.trials, c)
	s.best = slices.MinFunc(s.trials, func(a, b trial) int {
		return distance(a.tokens, s.want) - distance(b.tokens, s.want)
	})
	missing := s.want - s.best.tokens
	switch {
	case missing == 0:
		s.done = true
	case s.padding:
		s.done = len(s.trials) >= maxWordTrials+maxPadTrials || s.tried(s.next())
	case s.isCut():
		s.best = c
		s.cut = true
		s.done = true
	case len(s.trials) >= maxWordTrials || s.padsReach(missing) || s.tried(s.next()):
		s.pad()
	}
}

// padsReach reports whether pads can fill what is missing, where words alone may not.
func (s *search) padsReach(missing int) bool {
	isLittle := missing > 0 && missing <= maxPads/2
	return isLittle && len(s.trials) > 1 && tokensPerWord(s.trials) != 1
}

// pad goes on with pads, from the longest prompt that is too short. Without one there is nothing to fill.
func (s *search) pad() {
	short := slices.DeleteFunc(slices.Clone(s.trials), func(c trial) bool { return c.tokens >= s.want })
	if len(short) == 0 {
		s.done = true
		return
	}
	s.padding = true
	s.wordCost = tokensPerWord(s.trials)
	longest := slices.MaxFunc(short, func(a, b trial) int { return a.tokens - b.tokens })
	s.trials = []trial{longest}
	s.done = s.tried(s.next())
}

// isCut reports whether the server cuts prompts: more words counted no more tokens than before, or less than half of
// what shorter prompts predict.
func (s *search) isCut() bool {
	n := len(s.trials)
	if n < 2 {
		return false
	}
	last, before := s.trials[n-1], s.trials[n-2]
	moreWords := last.size.Words - before.size.Words
	moreTokens := last.tokens - before.tokens
	predicted := 0.0
	if n > 2 {
		predicted = tokensPerWord(s.trials[:n-1]) * float64(moreWords)
	}
	tooFew := moreTokens <= 0 || float64(moreTokens) < predicted/2
	mayBeCut := last.tokens < s.want && last.tokens >= min(s.want/2, wire.MinContext) // no server has less context
	return moreWords >= minWordGrowth && tooFew && mayBeCut
}

// next returns the size to count now: the longest that should not count more than asked, because pads can fill what is
// missing.
func (s *search) next() prompt.Size {
	switch {
	case len(s.trials) == 0:
		return prompt.Size{Words: s.first}
	case s.padding:
		return s.nextPads()
	}
	first, last := s.trials[0], s.trials[len(s.trials)-1]
	most := s.most
	if first.tokens >= first.size.Words { // no word is less than a token
		most = min(most, s.want)
	}
	words := last.size.Words + s.wordsToAdd(last)
	return prompt.Size{Words: min(max(s.least, words), most)}
}

// wordsToAdd returns by how many words the next prompt is longer than the last one. One short prompt gives only an
// upper bound of a word's cost: a second one of twice its words separates it from the chat template. Where words differ
// in cost, a part of what is missing is left for later.
func (s *search) wordsToAdd(last trial) int {
	missing := float64(s.want - last.tokens)
	slope := tokensPerWord(s.trials)
	if len(s.trials) == 1 {
		return min(int(math.Floor(missing/slope)), last.size.Words)
	}
	switch {
	case missing <= 0 || slope == 1:
	case missing > 256:
		missing -= missing/128 + 24
	default:
		missing = max(0, missing*15./16-padReserve)
	}
	return int(math.Floor(missing / slope))
}

// nextPads is next for pads: a number between the most that were too few and the fewest that were too many.
func (s *search) nextPads() prompt.Size {
	unpadded := s.trials[0]
	few := unpadded
	many := maxPads + 1
	cost := max(1, s.wordCost) // tokens of a pad
	for _, c := range s.trials[1:] {
		if c.tokens < s.want && c.size.Pads > few.size.Pads {
			few = c
		}
		if c.tokens > s.want {
			many = min(many, c.size.Pads)
		}
		together := c.tokens - unpadded.tokens
		if together%c.size.Pads != 0 {
			together++ // the server may have rounded down
		}
		cost = max(0.25, float64(together)/float64(c.size.Pads))
	}
	pads := few.size.Pads + int(float64(s.want-few.tokens)/cost)
	if few.size.Pads == 0 { // a pad may cost less than a word
		pads = max(1, pads)
	}
	return prompt.Size{Words: few.size.Words, Pads: max(few.size.Pads, min(pads, many-1))}
}

func (s *search) tried(size prompt.Size) bool {
	return slices.ContainsFunc(s.trials, func(c trial) bool { return c.size == size })
}

// tokensPerWord returns the slope from the first to the last of some trials. A single one gives an upper bound.
func tokensPerWord(trials []trial) float64 {
	const least = 1. / maxWordsPerToken
	first, last := trials[0], trials[len(trials)-1]
	if len(trials) == 1 {
		return max(least, float64(last.tokens)/float64(last.size.Words))
	}
	return max(least, float64(last.tokens-first.tokens)/float64(last.size.Words-first.size.Words))
}

func distance(a, b int) int { return max(a-b, b-a) }
