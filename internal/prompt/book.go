package prompt

import (
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// book is passages of a text, each behind words of the list in an order of its own: a second reading is as cold as the first.
type book struct{ Options }

const (
	lead        = 24 // words of the list before a passage
	longestWord = 12 // bytes; longer words, and text without spaces, count as several words
)

func (b book) place(round uint64) (shape int, nonce uint64) {
	return int(round % uint64(len(b.Book))), round
}

func (b book) begin(_ int, before []observation) terms {
	t := plainTerms(b.Tokens, 1)
	t.most = b.Tokens
	t.whole = max(1, t.whole-lead)
	if last := before[0]; last.tokens > 0 {
		t.first, t.cost = last.size.words, cost(last)
	}
	return t
}

func (b book) write(p *Prompt, nonce uint64, history []observation) {
	s, passage := history[0].size, b.Book[p.Size.shape]
	for _, end := range bookWords(passage) {
		if s.words--; s.words == 0 {
			passage = passage[:end]
			break
		}
	}
	end, _ := ending(b.Tokens)
	p.Salt = salt(b.Seed, nonce)
	p.Text = listed(size{words: lead}, b.Seed, nonce, "\n\n") + passage + strings.Repeat(pad, s.pads) + end
}

// ParseBook cuts a file in UTF-8 into passages of as many words as a prompt has tokens; fewer in the whole book are an error.
// Each passage is returned with all of the text behind it.
func ParseBook(data []byte, tokens int) (passages []string, err error) {
	text := strings.TrimPrefix(string(data), "\ufeff") // a byte order mark
	if !utf8.ValidString(text) {
		return nil, errors.New("the book is not valid UTF-8: convert it first, for example with iconv")
	}
	n := 0
	for start := range bookWords(text) {
		if n%tokens == 0 {
			passages = append(passages, text[start:])
		}
		n++
	}
	switch {
	case n == 0:
		return nil, errors.New("the book has no words")
	case n < tokens:
		return nil, fmt.Errorf("the book is shorter than one prompt: it has %d words, and a prompt of %d tokens can take as many", n, tokens)
	}
	return passages[:n/tokens], nil
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
