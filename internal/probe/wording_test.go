package probe

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/wire"
)

// TestWording holds which texts are one token again and again, and which are sane.
func TestWording(t *testing.T) {
	numbers := "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38"
	for name, test := range map[string]struct {
		text           string
		oneToken, sane bool
	}{
		"nothing":                   {"", false, false},
		"NaN":                       {strings.Repeat("!", 64), true, false},
		"a word, without its space": {strings.TrimSpace(strings.Repeat(" the", 64)), true, false},
		"no characters":             {strings.Repeat("\uFFFD", 64), true, false},
		"a Chinese character":       {strings.Repeat("的", 64), true, false},
		"white space":               {strings.Repeat("\n", 64), true, false},
		"31 times":                  {strings.Repeat(" the", 31), false, false},
		"32 times":                  {strings.Repeat(" the", 32), true, false},
		"a phrase":                  {strings.Repeat("one two ", 64), false, false},
		"a loop after a sentence":   {"The river runs past a mill." + strings.Repeat("!", 64), false, false},
		"a loop with another end":   {strings.Repeat("!", 64) + " The end", false, false},
		"a loop after the end":      {"One two three.<|im_end|>" + strings.Repeat("!", 64), false, true},
		"nothing but signs of ends": {strings.Repeat("<|im_end|>", 64), false, false},
		"numbers":                   {numbers, false, true},
		"a ruler over a heading":    {strings.Repeat("-", 30) + "\nThe heading of the answer that follows\n", false, true},
		"Chinese":                   {"河水流过安静的磨坊，从一座古老的石桥下穿过，人们停下来看小船。", false, true},
		"code":                      {"for i := 0; i < n; i++ {\n\tfmt.Println(i)\n}\nreturn nil\n", false, true},
		"a table":                   {"| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n", false, true},
	} {
		w := measureWording([]byte(test.text))
		if w.oneToken != test.oneToken || w.sane() != test.sane {
			t.Errorf("%s: one token: %t, sane: %t, want %t, %t (%+v)", name, w.oneToken, w.sane(), test.oneToken, test.sane, w)
		}
	}
}

// TestDegenerateAnswers holds that a loop is a fault only of a server whose model has answered sanely ten times before,
// and only where no honest model loops. Elsewhere it is a warning.
func TestDegenerateAnswers(t *testing.T) {
	const loop = `{"choices":[{"index":0,"delta":{"content":"!"},"finish_reason":null}]}`
	for _, test := range []struct {
		name   string
		api    string
		model  string // that gave the sane answers
		before int    // sane answers
		tokens int
		words  int
		want   Outcome
		warns  bool
	}{
		{"after ten sane answers", "openai-chat", "m", 10, 32, 100, WrongAnswer, false},
		{"after nine", "openai-chat", "m", 9, 32, 100, OK, true},
		{"after ten of another model", "openai-chat", "n", 10, 32, 100, OK, true},
		{"a short one", "openai-chat", "m", 10, 31, 100, OK, false},
		{"to a prompt that is not ours", "openai-chat", "m", 10, 32, 0, OK, true},
		{"to a bare text", "openai-completions", "m", 10, 32, 100, OK, true},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			script := tokens(0, ms)
			for range test.tokens {
				script = script.then(ms, loop)
			}
			target := serve(t, script.then(0, limit, done).stream)
			target.Dialect = must(wire.Lookup(test.api))
			m := NewMember(target, "m", 1)
			for range test.before {
				m.noteWording(&Result{Outcome: OK, Model: test.model, Wording: Wording{Characters: 100}})
			}
			q := Question{Ask: wire.Ask{MaxTokens: test.tokens}, Words: test.words}
			r := m.Probe(t.Context(), q)
			endsAs(t, r, test.want, "one token again and again")
			equal(t, "warns", test.warns, slices.Contains(r.Warnings, Warning{Kind: WarnLoop}))

			heir := NewMember(target, "m", 1)
			heir.Inherit(m, true)
			equal(t, "outcome after a reload", test.want, heir.Probe(t.Context(), q).Outcome)
		})
	}
}

// TestLoopAmongSaneAnswers holds that sane answers count one after another, that failures do not count, and that what a
// model has shown is not undone.
func TestLoopAmongSaneAnswers(t *testing.T) {
	sane := &Result{Outcome: OK, Model: "m", Wording: Wording{Characters: 100}}
	loop := &Result{Outcome: OK, Model: "m", Wording: Wording{Characters: 100, Run: 0.5}}
	failed := &Result{Outcome: Timeout, Model: "m"}
	m := NewMember(Target{}, "m", 1)
	for _, step := range []struct {
		name  string
		r     *Result
		times int
		want  bool
	}{
		{"nine", sane, 9, false},
		{"a loop", loop, 1, false},
		{"nine again", sane, 9, false},
		{"a failure", failed, 1, false},
		{"the tenth", sane, 1, true},
		{"loops after it", loop, 20, true},
	} {
		for range step.times {
			m.noteWording(step.r)
		}
		equal(t, step.name, step.want, m.wasSane("m"))
	}
}

// TestAnyRepeatIsFound holds, for phrases and places by chance, that a repeated phrase of up to 32 characters is at least
// as long a run as it is, and that a whole text of one word is one token again and again, wherever it is cut.
func TestAnyRepeatIsFound(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	letters := []rune("abcdefghijklmnop中文字的é!-0123456789")
	random := func(n int) string {
		text := make([]rune, n)
		for i := range text {
			text[i] = letters[rnd.IntN(len(letters))]
		}
		return string(text)
	}
	for range 2000 {
		n, repeats := 1+rnd.IntN(32), 3+rnd.IntN(10)
		before, after := random(rnd.IntN(100)), random(rnd.IntN(100))
		phrase := random(n)
		w := measureWording([]byte(before + strings.Repeat(phrase, repeats) + after))
		least := float64(n*repeats) / float64(w.Characters)
		if w.Run < least {
			t.Fatalf("%q %d times between %q and %q: a run of %v, want at least %v", phrase, repeats, before, after, w.Run, least)
		}
		whole := []rune(strings.Repeat(phrase, 32+rnd.IntN(10)))
		cut := string(whole[:32*n+rnd.IntN(len(whole)-32*n+1)])
		if !measureWording([]byte(cut)).oneToken {
			t.Fatalf("%q is not one token again and again", cut)
		}
	}
}

// BenchmarkWording measures what an answer of 100 tokens costs after its end.
func BenchmarkWording(b *testing.B) {
	text := []byte(strings.Repeat("The river runs past a quiet mill and 17 boats wait. ", 8))
	for b.Loop() {
		measureWording(text)
	}
}
