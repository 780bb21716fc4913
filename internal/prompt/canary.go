package prompt

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

const (
	codeCandidates = 32 // words of the list, the first ones, that can be code words

	wordsOfOne  = 3 // code words of a canary with one depth
	wordsOfEach = 2 // code words at each depth of several: together they must fit into a short answer

	codeStart  = " The code words are:"
	partStart  = " The code words of part %d are:"
	codeEnd    = " and no others." // no full stop at a code word: some tokenizers would count it with the word
	canaryTail = "\n\nWhat are the code words? Answer with the three code words first." + countTail
	partsTail  = "\n\nWhat are the code words of the %d parts? Answer with these %d code words first, part by part." +
		countTail
	countTail = " Then count upwards from one in English words, separated by single spaces, and do not stop."
)

// canaryPrompt writes a cold prompt with code words in it, at one depth or at several, that the answer must repeat: a
// server that lost a part of the prompt cannot. They are taken out of the words that the prompt is made of, so that it
// counts the same whichever they are.
func canaryPrompt(o Options, nonce uint64, s Size) Prompt {
	order := shuffledWords(s.Words, o.Seed, nonce)
	code := codeWords(o.Seed, nonce, len(order), o.codeWordCount())
	for _, word := range code {
		first := slices.Index(order, word)
		order = slices.Delete(order, first, first+1)
	}
	p := Prompt{Tokens: o.Tokens, Salt: salt(o.Seed, nonce)}
	var text strings.Builder
	text.WriteString(listHead)
	written := 0 // words of the order
	each := len(code) / len(o.Depths)
	for i, depth := range o.Depths {
		start := codeStart
		if len(o.Depths) > 1 {
			start = fmt.Sprintf(partStart, i+1)
		}
		hidden := joinWords("", code[i*each:(i+1)*each], "")
		at := int(math.Round(depth * float64(len(order))))
		text.WriteString(joinWords("", order[written:at], start) + hidden + codeEnd)
		p.Code = append(p.Code, strings.TrimPrefix(hidden, " "))
		written = at
	}
	tail := canaryTail
	if len(o.Depths) > 1 {
		tail = fmt.Sprintf(partsTail, len(o.Depths), len(code))
	}
	p.Text = text.String() + joinWords("", order[written:], strings.Repeat(padWord, s.Pads)+tail)
	return p
}

// codeWordCount returns how many code words a canary has, at all depths together.
func (o Options) codeWordCount() int {
	if len(o.Depths) == 1 {
		return wordsOfOne
	}
	return wordsOfEach * len(o.Depths)
}

// codeWords returns different code words of a prompt of n words, as their places in the list.
func codeWords(seed, nonce uint64, n, count int) []byte {
	random := rand.New(rand.NewPCG(^seed, nonce))
	code := make([]byte, count)
	for i, at := range random.Perm(min(n, codeCandidates))[:count] {
		code[i] = byte(at)
	}
	return code
}
