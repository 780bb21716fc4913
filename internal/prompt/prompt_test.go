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

// TestWriterLearnsFromUsage is a server without a tokenizer: each probe tells
// what the server counted, and the length stays once it is exact.
func TestWriterLearnsFromUsage(t *testing.T) {
	w, count := NewWriter(Options{Workload: Cold, Tokens: 21000, Seed: 3}), wordPieces(8, 29)
	for round := range uint64(4) {
		p := w.Prompt(round)
		if p.Calibrated && p.Tokens != 21000 {
			t.Fatalf("round %d calibrated at %d tokens", round, p.Tokens)
		}
		w.Learn(p.Size, count(p.Text))
	}
	if p := w.Prompt(9); !p.Calibrated || count(p.Text) != 21000 {
		t.Errorf("after four probes: calibrated %t, %d tokens", p.Calibrated, count(p.Text))
	}
}

// TestUsageOverrulesATokenizer: the tokenizer route may count without the chat template.
func TestUsageOverrulesATokenizer(t *testing.T) {
	w, tokenizer, usage := NewWriter(Options{Workload: Cold, Tokens: 500, Seed: 3}), wordPieces(8, 1), wordPieces(8, 13)
	if err := w.Calibrate(func(p Prompt) (int, error) { return tokenizer(p.Text), nil }); err != nil {
		t.Fatal(err)
	}
	for round := range uint64(3) {
		p := w.Prompt(round)
		if p.Confirmed && p.Tokens != usage(p.Text) {
			t.Errorf("round %d should count %d tokens, usage says %d", round, p.Tokens, usage(p.Text))
		}
		w.Learn(p.Size, usage(p.Text))
	}
	if p := w.Prompt(9); !p.Confirmed || p.Tokens != 500 || usage(p.Text) != 500 {
		t.Errorf("confirmed %t to %d tokens, usage says %d", p.Confirmed, p.Tokens, usage(p.Text))
	}
}

func TestWriterLearnsAnewWhenTheServersTokenizerChanges(t *testing.T) {
	w, before, after := NewWriter(Options{Workload: Cold, Tokens: 500, Seed: 3}), wordPieces(8, 10), wordPieces(8, 25)
	if err := w.Calibrate(func(p Prompt) (int, error) { return before(p.Text), nil }); err != nil {
		t.Fatal(err)
	}
	for round := range uint64(4) {
		p := w.Prompt(round)
		w.Learn(p.Size, after(p.Text))
	}
	if p := w.Prompt(9); !p.Calibrated || after(p.Text) != 500 {
		t.Errorf("calibrated %t at %d tokens", p.Calibrated, after(p.Text))
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

// TestWriterSurvivesOddCounts holds that one odd count neither makes the prompts
// longer for ever nor throws away what was exact.
func TestWriterSurvivesOddCounts(t *testing.T) {
	const limit = 32768
	for name, odd := range map[string]map[uint64]int{
		"a zero at first":          {0: 0},
		"ten at first":             {0: 10},
		"a zero when it was exact": {6: 0},
		"ten when it was exact":    {6: 10},
	} {
		w, count := NewWriter(Options{Workload: Cold, Tokens: 21000, Seed: 3}), wordPieces(8, 13)
		for round := range uint64(16) {
			p := w.Prompt(round)
			tokens := count(p.Text)
			if tokens > limit {
				w.Refuse(p.Size)
				continue
			}
			if n, ok := odd[round]; ok {
				tokens = n
			}
			w.Learn(p.Size, tokens)
		}
		if p := w.Prompt(99); !p.Confirmed || count(p.Text) != 21000 {
			t.Errorf("%s: confirmed %t at %d tokens", name, p.Confirmed, count(p.Text))
		}
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

func TestWriterReturnsTheCountersError(t *testing.T) {
	gone := errors.New("gone")
	w := NewWriter(Options{Workload: Cold, Tokens: 100, Seed: 1})
	if err := w.Calibrate(func(Prompt) (int, error) { return 0, gone }); !errors.Is(err, gone) {
		t.Errorf("error %v", err)
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
