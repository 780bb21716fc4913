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
		name, file, want string
		words            int
		last             string
	}{
		{"white space stays", "It was\r\n\tthe\u00a0best\n\nof  times. ", "It was\r\n\tthe\u00a0best\n\nof  times. ", 6, "times. "},
		{"but before the first word", "\u00a0 It was", "It was", 2, "was"},
		{"every script stays", "“Don’t” — Café Ünter ﬁn 二", "“Don’t” — Café Ünter ﬁn 二", 6, "二"},
		{"a long word counts as several", strings.Repeat("x", 27), strings.Repeat("x", 27), 3, "xxx"},
		{"and so does text without spaces", "白鯨白鯨白鯨白鯨", "白鯨白鯨白鯨白鯨", 2, "白鯨白鯨"},
		{"a byte order mark is not part of it", "\ufeffone", "one", 1, "one"},
	} {
		got, err := ParseBook([]byte(test.file), 1) // a passage for each word
		if err != nil || got[0] != test.want || len(got) != test.words || got[len(got)-1] != test.last {
			t.Errorf("%s: %d words, got %q, %v", test.name, len(got), got, err)
		}
	}
}

func TestParseBookErrors(t *testing.T) {
	for _, test := range []struct {
		name, file string
		tokens     int
		want       string
	}{
		{"nothing", " \n", 16, "the book has no words"},
		{"another encoding", "Caf\xe9", 1, "the book is not valid UTF-8: convert it first, for example with iconv"},
		{"a short book", "one two three", 16, "the book is shorter than one prompt: it has 3 words, and a prompt of 16 tokens can take as many"},
	} {
		if _, err := ParseBook([]byte(test.file), test.tokens); err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v", test.name, err)
		}
	}
}

// TestBookWithoutSpaces: the text of a script without spaces is as exact, and no guess is too long.
func TestBookWithoutSpaces(t *testing.T) {
	for _, tokens := range []int{500, 1000, 21000} {
		w := NewWriter(Options{Workload: Book, Tokens: tokens, Book: passages(t, strings.Repeat("白鯨二三，", 2*tokens), tokens)})
		count := func(p Prompt) (int, error) {
			n := (len(p.Text) + 1) / 2 // a token and a half for each character
			if n > tokens {
				t.Errorf("%d tokens: a guess of %d", tokens, n)
			}
			return n, nil
		}
		if err := w.Calibrate(count); err != nil {
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

func TestABookOfOnePrompt(t *testing.T) {
	w := calibrated(t, Options{Workload: Book, Tokens: 80, Book: passages(t, strings.Repeat("word ", 80), 80)})
	check(t, servers[1], w, 5)
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
