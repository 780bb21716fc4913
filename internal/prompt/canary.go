package prompt

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// canary is cold, with three code words in it that the answer must repeat: a server that lost a part of the
// prompt, or mixed it up with another one, cannot. They are taken out of the words that the prompt is made
// of, so that it counts the same whichever they are.
type canary struct{ list }

const (
	candidates = 32 // words of the list, the first ones, that can be code words
	codeWords  = 3  // of a prompt

	codeStart  = " The code words are:"
	codeEnd    = " and no others." // no full stop at a code word: some tokenizers would count it with the word
	canaryTail = "\n\nWhat are the code words? Answer with the three code words first." +
		" Then count upwards from one in English words, separated by single spaces, and do not stop."
)

func (c canary) begin(int, []observation) terms { return plainTerms(c.Tokens, codeWords) }

func (c canary) write(p *Prompt, nonce uint64, history []observation) {
	s := history[0].size
	order := shuffled(s.words, c.Seed, nonce)
	code := make([]byte, codeWords) // places in the list
	for i, at := range rand.New(rand.NewPCG(^c.Seed, nonce)).Perm(min(len(order), candidates))[:codeWords] {
		code[i] = byte(at)
		first := slices.Index(order, code[i])
		order = slices.Delete(order, first, first+1)
	}
	at := int(math.Round(c.Depth * float64(len(order))))
	p.Salt, p.Expect = salt(c.Seed, nonce), strings.TrimPrefix(spaced("", code, ""), " ")
	p.Text = spaced(head, order[:at], codeStart) + spaced("", code, codeEnd) +
		spaced("", order[at:], strings.Repeat(pad, s.pads)+canaryTail)
}
