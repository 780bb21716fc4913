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

// TestWhatRoundsAndRunsShare: a round asks the same whenever it is written; other rounds and runs do so if the prompt is
// warm.
func TestWhatRoundsAndRunsShare(t *testing.T) {
	for workload, warm := range map[Workload]bool{Cold: false, Warm: true} {
		a, b := NewWriter(Options{Workload: workload, Tokens: 300, Seed: 1}), NewWriter(Options{Workload: workload, Tokens: 300, Seed: 2})
		first, again := a.Prompt(0), a.Prompt(0)
		if first.Text != again.Text || first.Salt != again.Salt || (first.Salt == "") != warm {
			t.Errorf("%s: the same round asks something else, or has the salt %q", workload, first.Salt)
		}
		for where, other := range map[string]Prompt{"round": a.Prompt(9), "run": b.Prompt(0)} {
			if (other.Text == first.Text) != warm || (other.Salt == first.Salt) != warm {
				t.Errorf("%s: another %s asks the same: %t", workload, where, other.Text == first.Text)
			}
		}
	}
}
