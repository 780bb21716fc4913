package prompt

import (
	_ "embed" // words.txt
	"math/rand/v2"
	"strings"
	"unicode"
)

// wordList is common English nouns: with the space before it each is one token in every large vocabulary. It is only
// read.
var wordList = strings.Fields(wordsText)

//go:embed words.txt
var wordsText string

const (
	listHead = "Words:" // before the words, so that each has a space before it and costs the same
	padWord  = " a"     // costs as little as a word can

	// longTail asks for an answer that has no natural end, for servers that cannot be told to ignore one; shortTail
	// does so in short prompts.
	longTail  = "\n\nCount upwards from one in English words, separated by single spaces, and do not stop."
	shortTail = "\n\nCount upwards forever:"

	shortPrompt = 64 // tokens: a shorter prompt has the short tail
)

func tailFor(tokens int) string {
	if tokens < shortPrompt {
		return shortTail
	}
	return longTail
}

// shuffledWords returns n words of the list, as their places in it, in an order that seed and nonce decide. They are
// the same words for the same n, so that all such texts count the same.
func shuffledWords(n int, seed, nonce uint64) []byte {
	order := make([]byte, n)
	for i := range order {
		order[i] = byte(i % len(wordList))
	}
	rand.New(rand.NewPCG(seed, nonce)).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

// joinWords returns words of the list, a space before each, between a start and an end.
func joinWords(start string, order []byte, end string) string {
	var b strings.Builder
	b.Grow(len(start) + 7*len(order) + len(end)) // a word and its space are 6.2 bytes on average
	b.WriteString(start)
	for _, at := range order {
		b.WriteByte(' ')
		b.WriteString(wordList[at])
	}
	b.WriteString(end)
	return b.String()
}

// textOf returns a text of a size: the head, words in an order that seed and nonce decide, pads, and an end.
func textOf(s Size, seed, nonce uint64, end string) string {
	return joinWords(listHead, shuffledWords(s.Words, seed, nonce), strings.Repeat(padWord, s.Pads)+end)
}

// countFields is len(strings.Fields(s)) without the slice.
func countFields(s string) int {
	n, inside := 0, false
	for _, c := range s {
		space := c == ' ' || c >= '\t' && c <= '\r' || c > '~' && unicode.IsSpace(c)
		if !space && !inside {
			n++
		}
		inside = !space
	}
	return n
}
