package prompt

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// tokenizer counts a text as a server of some kind does.
type tokenizer func(text string) int

// wordPieces is a tokenizer that cuts long words and takes each sign for a token
// of its own, as real ones do, below a chat template.
func wordPieces(piece, template int) tokenizer {
	return func(text string) int {
		n := template
		for word := range strings.FieldsSeq(text) {
			letters := strings.TrimFunc(word, unicode.IsPunct)
			n += (len(letters)+piece-1)/piece + len(word) - len(letters)
		}
		return n
	}
}

// TestWriterLearnsFromUsage holds that prompts become exact, and are known to be, by the usage of answers alone: from
// none, against a tokenizer route that counts without the chat template, and when the server's tokenizer changes. One
// odd count neither makes them longer for ever nor throws away what was exact.
func TestWriterLearnsFromUsage(t *testing.T) {
	const limit = 32768 // longer prompts are refused
	steady, changed := wordPieces(8, 29), wordPieces(8, 44)
	odd := func(in uint64, says int) func(round uint64) tokenizer {
		return func(round uint64) tokenizer {
			if round == in {
				return func(string) int { return says }
			}
			return steady
		}
	}
	for name, test := range map[string]struct {
		route  tokenizer // nil: there is none
		rounds uint64
		usage  func(round uint64) tokenizer
	}{
		"from none":           {nil, 4, odd(99, 0)},
		"against a tokenizer": {wordPieces(8, 1), 3, odd(99, 0)},
		"another tokenizer": {nil, 12, func(round uint64) tokenizer {
			if round < 6 {
				return steady
			}
			return changed
		}},
		"a zero at first":          {nil, 16, odd(0, 0)},
		"ten at first":             {nil, 16, odd(0, 10)},
		"a zero when it was exact": {nil, 16, odd(6, 0)},
		"ten when it was exact":    {nil, 16, odd(6, 10)},
	} {
		w := NewWriter(Options{Workload: Cold, Tokens: 21000, Seed: 3})
		if test.route != nil {
			if err := w.Calibrate(0, func(p Prompt) (int, error) { return test.route(p.Text), nil }); err != nil {
				t.Fatal(err)
			}
		}
		if w.Prompt(0).Confirmed {
			t.Errorf("%s: confirmed without an answer", name)
		}
		for round := range test.rounds {
			p := w.Prompt(round)
			if steady(p.Text) > limit {
				w.Refuse(p.Size)
			} else {
				w.Learn(p.Size, test.usage(round)(p.Text))
			}
		}
		if p := w.Prompt(50); !p.Confirmed || p.Tokens != 21000 || test.usage(50)(p.Text) != 21000 {
			t.Errorf("%s: confirmed %t to %d tokens, usage says %d", name, p.Confirmed, p.Tokens, test.usage(50)(p.Text))
		}
	}
}

func TestWriterExpectsWhatWasAskedOfATruncatingServer(t *testing.T) {
	w, count := NewWriter(Options{Workload: Cold, Tokens: 21000, Seed: 3}), wordPieces(8, 10)
	for round := range uint64(4) {
		p := w.Prompt(round)
		w.Learn(p.Size, min(4096, count(p.Text)))
	}
	p := w.Prompt(9)
	if off, known := w.Off(); !p.Calibrated || p.Tokens != 21000 || !known || off != 4096-21000 {
		t.Errorf("calibrated %t for %d tokens, off by %d (%t)", p.Calibrated, p.Tokens, off, known)
	}
	if words := p.Size.size.words; words > 21000 {
		t.Errorf("the prompt grew to %d words for a server that cuts it", words)
	}
}

// TestWriterSurvivesLateAnswers holds that an answer to a size of before, while others are tried, does no harm.
func TestWriterSurvivesLateAnswers(t *testing.T) {
	w, count := NewWriter(Options{Workload: Cold, Tokens: 500, Seed: 3}), wordPieces(3, 1)
	var asked []Prompt
	for round := range uint64(20) {
		asked = append(asked, w.Prompt(round))
		for _, p := range slices.Backward(asked) {
			w.Learn(p.Size, count(p.Text))
		}
	}
	if p := w.Prompt(99); !p.Confirmed || count(p.Text) != 500 {
		t.Errorf("confirmed %t at %d tokens", p.Confirmed, count(p.Text))
	}
}

func TestWriterReturnsErrors(t *testing.T) {
	gone := errors.New("gone")
	w := NewWriter(Options{Workload: Cold, Tokens: 100, Seed: 1})
	if err := w.Calibrate(0, func(Prompt) (int, error) { return 0, gone }); !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
	if err := w.Calibrate(0, func(Prompt) (int, error) { return 0, nil }); err == nil {
		t.Error("a server that counts no tokens passes")
	}
	if _, known := w.Off(); known {
		t.Error("calibrated without a count")
	}
}

func TestColdPromptsDifferFromTheFirstWords(t *testing.T) {
	w := NewWriter(Options{Workload: Cold, Tokens: 1000, Seed: 5})
	seen := map[string]bool{}
	for round := range uint64(1000) {
		p := w.Prompt(round)
		start := strings.Join(strings.Fields(p.Text)[:5], " ")
		if seen[start] {
			t.Fatalf("round %d starts as another one: %q", round, start)
		}
		seen[start] = true
	}
	if other := NewWriter(Options{Workload: Cold, Tokens: 1000, Seed: 6}).Prompt(0); other.Text == w.Prompt(0).Text || other.Salt == w.Prompt(0).Salt {
		t.Error("another run asks the same")
	}
	if first, again := w.Prompt(4), w.Prompt(4); first.Text != again.Text || first.Salt != again.Salt {
		t.Error("the same round asks something else")
	}
}

func TestWarmPromptsAreTheSameInEveryRoundAndRun(t *testing.T) {
	a, b := NewWriter(Options{Workload: Warm, Tokens: 300, Seed: 1}), NewWriter(Options{Workload: Warm, Tokens: 300, Seed: 2})
	if a.Prompt(0).Text != a.Prompt(9).Text || a.Prompt(0).Text != b.Prompt(0).Text || a.Prompt(3).Salt != "" {
		t.Error("warm prompts differ")
	}
}

func TestWordsAreDistinctAndShort(t *testing.T) {
	if len(words) != 256 {
		t.Errorf("%d words, want 256", len(words))
	}
	seen := map[string]bool{}
	for _, word := range words {
		if seen[word] || len(word) > 8 || strings.ToLower(word) != word {
			t.Errorf("word %q", word)
		}
		seen[word] = true
	}
}
