package prompt

import (
	"math"
	"math/rand/v2"
	"strings"
)

// canary is cold, with a sentence in it that the answer must repeat: a server
// that lost a part of the prompt, or mixed it up with another one, cannot. The
// three words of the sentence are taken out of those that the prompt is made of,
// so that it counts the same whichever they are.
type canary struct{ Options }

// candidates are how many words of the list, the first ones, can be code words.
const candidates = 32

// codeWords is how many of them a prompt has.
const codeWords = 3

const (
	codeStart  = " The code words are:"
	codeEnd    = " and no others." // no full stop at a code word: some tokenizers would count it with the word
	canaryTail = "\n\nWhat are the code words? Answer with the three code words first." +
		" Then count upwards from one in English words, separated by single spaces, and do not stop."
)

func (c canary) place(round uint64) (shape int, nonce uint64) { return 0, round }

func (c canary) begin(int, *fits) terms {
	t := plainTerms(c.Tokens)
	t.first, t.least = max(codeWords, t.first), codeWords
	return t
}

func (c canary) write(_ int, nonce uint64, history []observation) Prompt {
	s := history[0].size
	order := shuffled(s.words, c.Seed, nonce)
	code := c.draw(len(order), nonce)
	order = without(order, code)
	at := int(math.Round(c.Depth * float64(len(order))))
	text := compose(
		piece{text: head}, piece{order: order[:at]},
		piece{text: codeStart}, piece{order: code}, piece{text: codeEnd},
		piece{order: order[at:]}, piece{pads: s.pads}, piece{text: canaryTail})
	expect := strings.TrimPrefix(compose(piece{order: code}), " ")
	return Prompt{Text: text, Expect: expect, Salt: salt(c.Seed, nonce), Fresh: unshared(fields(text) - 1)}
}

// draw draws the code words of a prompt of n words, as places in the list.
func (c canary) draw(n int, nonce uint64) []byte {
	code := make([]byte, codeWords)
	for i, at := range rand.New(rand.NewPCG(^c.Seed, nonce)).Perm(min(n, candidates))[:codeWords] {
		code[i] = byte(at)
	}
	return code
}

// without takes each of some words out of order, once. It changes order.
func without(order, some []byte) []byte {
	kept := order[:0]
	missing := string(some)
	for _, at := range order {
		if i := strings.IndexByte(missing, at); i >= 0 {
			missing = missing[:i] + missing[i+1:]
			continue
		}
		kept = append(kept, at)
	}
	return kept
}
