package prompt

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// book is passages of a text, one after another. Each stands behind words of the list in an order of its
// own, so that a second reading is as cold as the first.
type book struct{ Options }

const (
	lead        = 24 // words of the list before a passage
	longestWord = 12 // bytes; longer words, and text without spaces, count as several words
)

// Passages cuts a book into passages for prompts of so many tokens, and returns where they start, in bytes.
// A word is at least about a token, so a passage has as many words as a prompt has tokens.
func Passages(text string, tokens int) (starts []int) {
	n := 0
	for start := range bookWords(text) {
		if n%tokens == 0 {
			starts = append(starts, start)
		}
		n++
	}
	if n < tokens {
		return []int{0}
	}
	return starts[:n/tokens]
}

// bookWords yields where each word of a text starts and ends, in bytes.
func bookWords(text string) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		start := -1 // of the current word; -1 between words
		for at, r := range text {
			space := unicode.IsSpace(r)
			if start >= 0 && (space || at-start >= longestWord) {
				if !yield(start, at) {
					return
				}
				start = -1
			}
			if start < 0 && !space {
				start = at
			}
		}
		if start >= 0 {
			yield(start, len(text))
		}
	}
}

func (b book) place(round uint64) (shape int, nonce uint64) {
	return int(round % uint64(len(b.Passages))), round
}

func (b book) begin(_ int, others *calibrations) terms {
	t := plainTerms(b.Tokens)
	t.most = b.Tokens
	t.whole = max(1, t.whole-lead)
	if last := others.last; last.tokens > 0 {
		t.first, t.cost = last.size.words, cost(last)
	}
	return t
}

func (b book) write(shape int, nonce uint64, history []observation) Prompt {
	s := history[0].size
	text := compose(
		piece{text: head}, piece{order: shuffled(lead, b.Seed, nonce)},
		piece{text: "\n\n"}, piece{text: firstWords(b.Book[b.Passages[shape]:], s.words)},
		piece{pads: s.pads}, piece{text: tailFor(b.Tokens)})
	return Prompt{Text: text, Salt: salt(b.Seed, nonce)}
}

// firstWords is a text up to the end of its word n, or all of it.
func firstWords(text string, n int) string {
	for _, end := range bookWords(text) {
		if n--; n == 0 {
			return text[:end]
		}
	}
	return text
}

// ParseBook returns the text of a file in UTF-8, as it is but for a byte order mark, for prompts of so many
// tokens. Fewer words than tokens are an error: a prompt can need as many.
func ParseBook(data []byte, tokens int) (string, error) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	if !utf8.ValidString(text) {
		return "", errors.New("the book is not valid UTF-8: convert it first, for example with iconv")
	}
	n := 0
	for range bookWords(text) {
		n++
	}
	switch {
	case n == 0:
		return "", errors.New("the book has no words")
	case n < tokens:
		return "", fmt.Errorf("the book is shorter than one prompt: it has %d words, and a prompt of %d tokens can take as many", n, tokens)
	}
	return text, nil
}
