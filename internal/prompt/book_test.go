package prompt

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestParseBook(t *testing.T) {
	for _, test := range []struct {
		file, want string
		words      int
		last       string
	}{
		{"It was\r\n\tthe\u00a0best\n\nof  times. ", "It was\r\n\tthe\u00a0best\n\nof  times. ", 6, "times. "}, // white space stays
		{"\u00a0 It was", "It was", 2, "was"}, // but before the first word
		{"“Don’t” — Café Ünter ﬁn 二", "“Don’t” — Café Ünter ﬁn 二", 6, "二"},
		{strings.Repeat("x", 27), strings.Repeat("x", 27), 3, "xxx"}, // a long word counts as several
		{"白鯨白鯨白鯨白鯨", "白鯨白鯨白鯨白鯨", 2, "白鯨白鯨"},                          // and so does text without spaces
		{"\ufeffone", "one", 1, "one"}, // a byte order mark is not part of it
	} {
		got, err := ParseBook([]byte(test.file), 1) // a passage for each word
		if err != nil || got[0] != test.want || len(got) != test.words || got[len(got)-1] != test.last {
			t.Errorf("%q: %d words, got %q, %v", test.file, len(got), got, err)
		}
	}
	for file, want := range map[string]string{
		" \n":           "the book has no words",
		"Caf\xe9":       "the book is not valid UTF-8: convert it first, for example with iconv",
		"one two three": "the book is shorter than one prompt: it has 3 words, and a prompt of 16 tokens can take as many",
	} {
		if _, err := ParseBook([]byte(file), 16); err == nil || err.Error() != want {
			t.Errorf("%q: got %v", file, err)
		}
	}
}

// TestBooksAreExact: a book that is one prompt long, and the text of a script without spaces, no guess of which is too
// long.
func TestBooksAreExact(t *testing.T) {
	check(t, servers[1], calibrated(t, Options{Workload: Book, Tokens: 80, Book: passages(t, strings.Repeat("word ", 80), 80)}), 5)
	for _, tokens := range []int{500, 1000, 21000} {
		w := NewWriter(Options{Workload: Book, Tokens: tokens, Book: passages(t, strings.Repeat("白鯨二三，", 2*tokens), tokens)})
		if err := w.Calibrate(0, false, func(p Prompt) (int, error) {
			n := (len(p.Text) + 1) / 2 // a token and a half for each character
			if n > tokens {
				t.Errorf("%d tokens: a guess of %d", tokens, n)
			}
			return n, nil
		}); err != nil {
			t.Fatal(err)
		}
		if off, known := w.Off(); off != 0 || !known {
			t.Errorf("%d tokens: off by %d (%t)", tokens, off, known)
		}
	}
}

// passages are those of a book.
func passages(t testing.TB, text string, tokens int) []string {
	t.Helper()
	all, err := ParseBook([]byte(text), tokens)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// passage is what a prompt has of the book.
func passage(p Prompt) string {
	_, text, _ := strings.Cut(p.Text, "\n\n")
	text, _, _ = strings.Cut(text, "\n\n")
	return strings.TrimSuffix(strings.ReplaceAll(text+" ", pad+pad, ""), " ")
}

func TestBookGoesOnAndBegins(t *testing.T) {
	words := make([]string, 1000)
	for i := range words {
		words[i] = "w" + strings.Repeat("x", i/100) + string(rune('a'+i%26))
	}
	text := strings.Join(words, " ")
	w := NewWriter(Options{Workload: Book, Tokens: 300, Book: passages(t, text, 300)})
	var starts []int
	for round := range uint64(7) {
		p := w.Prompt(round)
		starts = append(starts, strings.Index(text, passage(p)))
		if starts[round] < 0 {
			t.Fatalf("round %d has a passage that is not in the book", round)
		}
	}
	for i, at := range starts {
		if at != starts[i%3] || i > 0 && i < 3 && at <= starts[i-1] {
			t.Errorf("the passages start at %d", starts)
			break
		}
	}
	if a, b := w.Prompt(0), w.Prompt(3); passage(a) != passage(b) || a.Text == b.Text || a.Salt == b.Salt {
		t.Error("a passage that comes again is not cold")
	}
}

func FuzzParseBook(f *testing.F) {
	f.Add([]byte("It was the “best” of times — and the\xff worst…"), uint16(5))
	f.Add([]byte("\ufeff a\u00a0b\u200bc ﬃ ß 二"), uint16(1))
	f.Add(bytes.Repeat([]byte("x"), 200), uint16(3))
	f.Fuzz(func(t *testing.T, data []byte, n uint16) {
		tokens := int(n%2000) + 1
		passages, err := ParseBook(data, tokens)
		if err != nil {
			return
		}
		want := strings.TrimLeftFunc(strings.TrimPrefix(string(data), "\ufeff"), unicode.IsSpace)
		if passages[0] != want {
			t.Errorf("%q becomes %q", want, passages[0])
		}
		w := NewWriter(Options{Workload: Book, Tokens: tokens, Book: passages})
		for round := range uint64(4) {
			p := w.Prompt(round)
			if !utf8.ValidString(p.Text) || p.Words < p.Fresh {
				t.Errorf("prompt %q", p.Text)
			}
		}
	})
}
