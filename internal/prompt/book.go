package prompt

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxFile is the largest book or data set, in bytes.
const maxFile = 64 << 20

// book is passages of a text, one after another, each behind words of the list
// in an order of its own: a book that is read again is as cold as it was.
type book struct {
	Options
	starts []int // of the passages, in bytes
}

// lead is how many words of the list stand before a passage.
const lead = 24

func newBook(o Options) book {
	if o.Passages == nil {
		o.Passages = Passages(o.Book, o.Tokens)
	}
	return book{Options: o, starts: o.Passages}
}

// Passages cuts a book into passages for prompts of so many tokens, and returns
// where they start, in bytes. A token is at least a word, so a passage of as many
// words as a prompt has tokens is long enough for it, whatever words cost.
func Passages(text string, tokens int) (starts []int) {
	start, in := 0, 0
	for at := 0; at < len(text); at++ {
		if text[at] != ' ' {
			continue
		}
		if in++; in == tokens {
			starts = append(starts, start)
			start, in = at+1, 0
		}
	}
	if in == tokens-1 || len(starts) == 0 { // the last word has no space behind it
		starts = append(starts, start)
	}
	return starts
}

func (b book) place(round uint64) (shape int, nonce uint64) {
	return int(round % uint64(len(b.starts))), round
}

func (b book) begin(_ int, others *fits) terms {
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
		piece{text: "\n\n"}, piece{text: firstWords(b.Book[b.starts[shape]:], s.words)},
		piece{pads: s.pads}, piece{text: tailFor(b.Tokens)})
	return Prompt{Text: text, Salt: salt(b.Seed, nonce), Fresh: unshared(lead) + s.words}
}

// firstWords is the first n words of a text with single spaces, or all of it.
func firstWords(text string, n int) string {
	for at := 0; at < len(text); at++ {
		if text[at] == ' ' {
			if n--; n == 0 {
				return text[:at]
			}
		}
	}
	return text
}

// ParseBook makes the book of a file in UTF-8 for prompts of so many tokens:
// words of printable ASCII with single spaces. Letters with accents and
// typographic signs become plain ones, other characters are left out. A book of
// more than 64 MiB, or of fewer words than a prompt has tokens, is an error.
func ParseBook(data []byte, tokens int) (string, error) {
	if len(data) > maxFile {
		return "", fmt.Errorf("the book has %d bytes, at most %d are read", len(data), maxFile)
	}
	p := plainText{beyond: spellings()}
	p.text.Grow(len(data))
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		data = data[n:]
		p.write(r)
	}
	switch {
	case p.words == 0:
		return "", errors.New("the book has no words in Latin letters")
	case p.words < tokens:
		return "", fmt.Errorf("the book is shorter than one prompt: it has %d words, and a prompt of %d tokens can take as many", p.words, tokens)
	}
	return p.text.String(), nil
}

// longestWord is the length in bytes at which a word is cut in two.
const longestWord = 40

// plainText is a text of ASCII words with single spaces.
type plainText struct {
	beyond map[rune]string // ASCII, what becomes of characters beyond it
	text   strings.Builder
	words  int
	in     int // bytes of the word that is being written; 0: none is
}

// write appends a character, as far as ASCII can.
func (p *plainText) write(r rune) {
	switch {
	case r > ' ' && r < 0x7f:
		p.letter(byte(r))
	case unicode.IsSpace(r):
		p.in = 0
	case r > 0x7f:
		for _, plain := range []byte(p.beyond[r]) {
			p.letter(plain)
		}
	}
}

func (p *plainText) letter(b byte) {
	if p.in == longestWord {
		p.in = 0
	}
	if p.in == 0 {
		if p.words > 0 {
			p.text.WriteByte(' ')
		}
		p.words++
	}
	p.text.WriteByte(b)
	p.in++
}
