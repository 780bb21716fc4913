package prompt

import (
	"math/rand/v2"
	"strings"
)

// head comes before the words, so that each of them has a space before it and
// costs the same at every place.
const head = "Words:"

// pad is a word that costs as little as a word can.
const pad = " a"

// tail asks for an answer that has no natural end, for servers that cannot be
// told to ignore one. shortTail does so in prompts that have no room for it.
const (
	tail      = "\n\nCount upwards from one in English words, separated by single spaces, and do not stop."
	shortTail = "\n\nCount upwards forever:"
)

// shortPrompt is the length in tokens below which the tail is the short one.
const shortPrompt = 64

func tailFor(tokens int) string {
	if tokens < shortPrompt {
		return shortTail
	}
	return tail
}

// overhead is a first guess of the tokens beside the words: the tail and a chat
// template; shortOverhead is that of short prompts.
const (
	overhead      = 40
	shortOverhead = 10
)

// plainTerms are those of a prompt of which nothing is known. The first one has
// every word of the list at most once, and an eighth of the words that the whole
// prompt may have: where a word is eight tokens, that still is not too long.
func plainTerms(tokens int) terms {
	beside := overhead
	if tokens < shortPrompt {
		beside = shortOverhead
	}
	whole := max(1, tokens-beside)
	return terms{want: tokens, first: max(1, min(whole, len(words), tokens/8)), whole: whole, least: 1, most: tokens + tokens/2}
}

// shuffled is n words of the list, as their places in it, in an order that
// seed and nonce decide. Those of one n are always the same words, whatever the
// order: tokenizers split text at white space before anything else, so all such
// texts count the same.
func shuffled(n int, seed, nonce uint64) []byte {
	order := make([]byte, n)
	for i := range order {
		order[i] = byte(i % len(words))
	}
	rand.New(rand.NewPCG(seed, nonce)).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// A piece is a part of a text: one of its fields.
type piece struct {
	text  string
	order []byte // words of the list, a space before each
	pads  int
}

// size is the length of a piece in bytes.
func (p piece) size() int {
	n := len(p.text) + p.pads*len(pad)
	for _, at := range p.order {
		n += 1 + len(words[at])
	}
	return n
}

// compose writes pieces one after another, in one allocation.
func compose(pieces ...piece) string {
	n := 0
	for _, p := range pieces {
		n += p.size()
	}
	var b strings.Builder
	b.Grow(n)
	for _, p := range pieces {
		b.WriteString(p.text)
		for _, at := range p.order {
			b.WriteByte(' ')
			b.WriteString(words[at])
		}
		for range p.pads {
			b.WriteString(pad)
		}
	}
	return b.String()
}
