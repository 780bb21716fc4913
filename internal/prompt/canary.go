package prompt

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

const (
	codeCandidates = 32 // words of the list, the first ones, that can be code words
	codeWordCount  = 3  // of a prompt

	codeStart  = " The code words are:"
	codeEnd    = " and no others." // no full stop at a code word: some tokenizers would count it with the word
	canaryTail = "\n\nWhat are the code words? Answer with the three code words first." +
		" Then count upwards from one in English words, separated by single spaces, and do not stop."
)

// canaryPrompt writes a cold prompt with three code words in it that the answer must repeat: a server that lost a
// part of the prompt cannot. They are taken out of the words that the prompt is made of, so that it counts the same
// whichever they are.
func canaryPrompt(o Options, nonce uint64, s Size) Prompt {
	order := shuffledWords(s.Words, o.Seed, nonce)
	code := codeWords(o.Seed, nonce, len(order))
	for _, word := range code {
		first := slices.Index(order, word)
		order = slices.Delete(order, first, first+1)
	}
	at := int(math.Round(o.Depth * float64(len(order))))
	return Prompt{
		Tokens: o.Tokens,
		Salt:   salt(o.Seed, nonce),
		Expect: strings.TrimPrefix(joinWords("", code, ""), " "),
		Text: joinWords(listHead, order[:at], codeStart) + joinWords("", code, codeEnd) +
			joinWords("", order[at:], strings.Repeat(padWord, s.Pads)+canaryTail),
	}
}

// codeWords returns the code words of a prompt of n words, as their places in the list.
func codeWords(seed, nonce uint64, n int) []byte {
	random := rand.New(rand.NewPCG(^seed, nonce))
	code := make([]byte, codeWordCount)
	for i, at := range random.Perm(min(n, codeCandidates))[:codeWordCount] {
		code[i] = byte(at)
	}
	return code
}
