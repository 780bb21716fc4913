package prompt

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// canary is a cold prompt with three code words in it that the answer must repeat: a server that lost a part of the
// prompt cannot. They are taken out of the words that the prompt is made of, so that it counts the same whichever they
// are.
type canary struct{ list }

const (
	codeCandidates = 32 // words of the list, the first ones, that can be code words
	codeWordCount  = 3  // of a prompt

	codeStart  = " The code words are:"
	codeEnd    = " and no others." // no full stop at a code word: some tokenizers would count it with the word
	canaryTail = "\n\nWhat are the code words? Answer with the three code words first." +
		" Then count upwards from one in English words, separated by single spaces, and do not stop."
)

func (c canary) start(int, []observation) calibrationStart { return startOf(c.Tokens, codeWordCount) }

func (c canary) render(p *Prompt, nonce uint64, history []observation) {
	s := history[0].size
	order := shuffledWords(s.words, c.Seed, nonce)
	code := c.codeWords(len(order), nonce)
	for _, word := range code {
		first := slices.Index(order, word)
		order = slices.Delete(order, first, first+1)
	}
	at := int(math.Round(c.Depth * float64(len(order))))
	p.Salt = salt(c.Seed, nonce)
	p.Expect = strings.TrimPrefix(joinWords("", code, ""), " ")
	p.Text = joinWords(listHead, order[:at], codeStart) + joinWords("", code, codeEnd) +
		joinWords("", order[at:], strings.Repeat(padWord, s.pads)+canaryTail)
}

// codeWords returns the code words of a prompt of n words, as their places in the list.
func (c canary) codeWords(n int, nonce uint64) []byte {
	random := rand.New(rand.NewPCG(^c.Seed, nonce))
	code := make([]byte, codeWordCount)
	for i, at := range random.Perm(min(n, codeCandidates))[:codeWordCount] {
		code[i] = byte(at)
	}
	return code
}
