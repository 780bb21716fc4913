package prompt

import (
	"bytes"
	"strings"
	"testing"
)

func TestParseBook(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"white space becomes single spaces", "  It was\r\n\tthe\u00a0best\n\nof  times. ", "It was the best of times."},
		{"typographic signs become plain ones", "“Don’t” — he said… ‘no’", `"Don't" -- he said... 'no'`},
		{"letters lose their accents", "Café Ærø naïve Straße Łódź Ünter ﬁn", "Cafe AEro naive Strasse Lodz UEnter fin"},
		{"other characters are left out", "one 二 two\u200bhalves \x00\x07x\xff\xfe \xe2\x80", "one twohalves x"},
		{"a byte order mark is none of it", "\ufeffone", "one"},
		{"a long word is cut", strings.Repeat("x", 95), strings.Repeat("x", 40) + " " + strings.Repeat("x", 40) + " " + strings.Repeat("x", 15)},
	} {
		got, err := ParseBook([]byte(test.file), 1)
		if err != nil || got != test.want {
			t.Errorf("%s: got %q, %v", test.name, got, err)
		}
	}
}

func TestParseBookErrors(t *testing.T) {
	for _, test := range []struct {
		name, file string
		tokens     int
		want       string
	}{
		{"nothing", " \n", 16, "the book has no words in Latin letters"},
		{"nothing in Latin letters", "白鯨 二三", 16, "the book has no words in Latin letters"},
		{"a short book", "one two three", 16, "the book is shorter than one prompt: it has 3 words, and a prompt of 16 tokens can take as many"},
		{"a large one", string(bytes.Repeat([]byte{' '}, maxFile+1)), 16, "the book has 67108865 bytes, at most 67108864 are read"},
	} {
		if _, err := ParseBook([]byte(test.file), test.tokens); err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v", test.name, err)
		}
	}
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
	w := NewWriter(Options{Workload: Book, Tokens: 300, Book: text})
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
	text, err := ParseBook([]byte(strings.Repeat("word ", 80)), 80)
	if err != nil {
		t.Fatal(err)
	}
	w := fitted(t, Options{Workload: Book, Tokens: 80, Book: text})
	check(t, servers[1], w, 5)
}

// TestBookForgetsPassages holds that the memory of a long book is bounded, and
// that an answer to a forgotten passage does no harm.
func TestBookForgetsPassages(t *testing.T) {
	o := Options{Workload: Book, Tokens: 100, Book: novel(t, 100*(remembered+10), 100)}
	w := NewWriter(o)
	count := func(p Prompt) (int, error) { return servers[1].tokens(p), nil }
	first := w.Prompt(0)
	for round := range uint64(remembered + 5) {
		if err := w.FitRound(round, count); err != nil {
			t.Fatal(err)
		}
		check(t, servers[1], w, round)
	}
	if len(w.fits.known) != remembered || len(w.fits.order) != remembered {
		t.Errorf("%d passages are remembered", len(w.fits.known))
	}
	w.Learn(first.Size, 12345)
	if off, known := w.Off(); off != 0 || !known {
		t.Errorf("off by %d (%t)", off, known)
	}
}

func FuzzParseBook(f *testing.F) {
	f.Add([]byte("It was the “best” of times — and the\xff worst…"), uint16(5))
	f.Add([]byte("\ufeff a\u00a0b\u200bc ﬃ ß 二"), uint16(1))
	f.Add(bytes.Repeat([]byte("x"), 200), uint16(3))
	f.Fuzz(func(t *testing.T, data []byte, n uint16) {
		tokens := int(n%2000) + 1
		text, err := ParseBook(data, tokens)
		if err != nil {
			return
		}
		if again, err := ParseBook([]byte(text), tokens); again != text || err != nil {
			t.Errorf("%q becomes %q, %v", text, again, err)
		}
		if words := strings.Fields(text); len(words) < tokens || strings.Join(words, " ") != text {
			t.Errorf("%d words for %d tokens: %q", len(words), tokens, text)
		}
		w := NewWriter(Options{Workload: Book, Tokens: tokens, Book: text})
		for round := range uint64(4) {
			p := w.Prompt(round)
			if strings.ContainsFunc(p.Text, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') }) || p.Words < p.Fresh {
				t.Errorf("prompt %q", p.Text)
			}
		}
	})
}
