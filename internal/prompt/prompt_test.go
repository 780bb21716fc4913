package prompt

import (
	"errors"
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

// countedBy makes a count of a tokenizer.
func countedBy(count tokenizer) func(Prompt) (int, error) {
	return func(p Prompt) (int, error) { return count(p.Text), nil }
}

// TestWhenPromptsAreCalibratedAgain holds which counts of answers make a length unknown again: one that contradicts a
// tokenizer, two in a row that contradict the usage of before, or the first of a server that counted nothing. An odd
// count of something else, or one alone, throws nothing away.
func TestWhenPromptsAreCalibratedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		confirms bool  // it was calibrated by usage, not by a tokenizer
		estimate bool  // it was not calibrated
		usage    []int // of answers, one after another
		again    int   // the answer that makes it unknown, from 1; 0: none does
	}{
		"a tokenizer that is right":                 {usage: []int{21000, 21000}},
		"a tokenizer without the chat template":     {usage: []int{21028}, again: 1},
		"another tokenizer":                         {confirms: true, usage: []int{21000, 22000, 22000}, again: 3},
		"a tokenizer that was right, and another":   {usage: []int{21000, 22000, 22000}, again: 3},
		"counts that differ, and both contradict":   {confirms: true, usage: []int{21001, 20990}, again: 2},
		"one odd count":                             {confirms: true, usage: []int{21000, 22000, 21000, 22000}},
		"no count":                                  {confirms: true, usage: []int{0, 0, 0}},
		"ten":                                       {usage: []int{10, 10, 10}},
		"a server that counted nothing, and counts": {estimate: true, usage: []int{0, 20990}, again: 2},
	} {
		w := NewWriter(Options{Workload: Cold, Tokens: 21000, Seed: 3})
		if test.estimate {
			w.Estimate(0)
		} else if err := w.Calibrate(0, test.confirms, countedBy(wordPieces(8, 29))); err != nil {
			t.Fatal(err)
		}
		if p := w.Prompt(0); p.Confirmed != test.confirms || p.Calibrated == test.estimate {
			t.Errorf("%s: confirmed %t, calibrated %t", name, p.Confirmed, p.Calibrated)
		}
		again := 0
		for i, tokens := range test.usage {
			if w.Learn(w.Prompt(uint64(i)).Size, tokens) && again == 0 {
				again = i + 1
			}
		}
		if counted, _ := w.Known(9); again != test.again || counted != (again == 0 && !test.estimate) {
			t.Errorf("%s: to be calibrated again after answer %d, want %d (known: %t)", name, again, test.again, counted)
		}
	}
}

// TestAServerThatCountsNothing holds that prompts are as long as asked by an estimate, and say that this is one.
func TestAServerThatCountsNothing(t *testing.T) {
	for _, tokens := range []int{0, 10} {
		w := NewWriter(Options{Workload: Cold, Tokens: 21000, Seed: 3})
		if err := w.Calibrate(0, true, func(Prompt) (int, error) { return tokens, nil }); !errors.Is(err, ErrUncounted) {
			t.Errorf("counts %d: %v", tokens, err)
		}
		if counted, estimated := w.Known(0); counted || estimated {
			t.Errorf("counts %d: known", tokens)
		}
		w.Estimate(0)
		p := w.Prompt(0)
		if counted, estimated := w.Known(0); counted || !estimated || p.Calibrated || p.Confirmed || p.Tokens != 0 ||
			p.Words < 20900 || p.Words > 21000 {
			t.Errorf("counts %d: calibrated %t, confirmed %t, %d tokens in %d words", tokens, p.Calibrated,
				p.Confirmed, p.Tokens, p.Words)
		}
		if _, known := w.Off(); known {
			t.Errorf("counts %d: an estimate is said to be so much off", tokens)
		}
		// another member counts
		if err := w.Calibrate(0, true, countedBy(wordPieces(8, 29))); err != nil || w.Prompt(0).Tokens != 21000 {
			t.Errorf("counts %d: not calibrated after an estimate (%v)", tokens, err)
		}
	}
}

func TestWriterExpectsWhatWasAskedOfATruncatingServer(t *testing.T) {
	w, count := NewWriter(Options{Workload: Cold, Tokens: 21000, Seed: 3}), wordPieces(8, 10)
	longest := 0
	err := w.Calibrate(0, true, func(p Prompt) (int, error) {
		longest = max(longest, len(strings.Fields(p.Text)))
		return min(4096, count(p.Text)), nil
	})
	p := w.Prompt(9)
	off, known := w.Off()
	if err != nil || !p.Calibrated || !p.Truncated || !p.Confirmed || p.Tokens != 21000 || !known || off != 4096-21000 {
		t.Errorf("calibrated %t for %d tokens, off by %d (%t, %v)", p.Calibrated, p.Tokens, off, known, err)
	}
	if longest > 21000 {
		t.Errorf("the prompt grew to %d words for a server that cuts it", longest)
	}
	for range 3 {
		if w.Learn(p.Size, 8192) {
			t.Error("it still cuts, and is to be calibrated again")
		}
	}
	if w.Learn(p.Size, 21000) || !w.Learn(p.Size, 21000) {
		t.Error("it does not cut any more, and is not calibrated again after two answers")
	}
}

// TestCalibrationsSideBySide holds that a calibration which is slow or fails leaves nothing of its own behind while
// another one ends, and that an answer to a prompt of before teaches nothing about those of after it.
func TestCalibrationsSideBySide(t *testing.T) {
	w, gone := NewWriter(Options{Workload: Cold, Tokens: 500, Seed: 3}), errors.New("gone")
	other, counts := wordPieces(3, 1), 0
	err := w.Calibrate(0, true, func(p Prompt) (int, error) {
		counts++
		if counts == 3 {
			return 0, gone
		}
		if counts == 2 {
			if err := w.Calibrate(0, true, countedBy(other)); err != nil {
				t.Fatal(err)
			}
		}
		return len(p.Text), nil
	})
	before := w.Prompt(1)
	if counted, _ := w.Known(0); !counted || !errors.Is(err, gone) || other(before.Text) != 500 {
		t.Errorf("known %t, of %d tokens (%v)", counted, other(before.Text), err)
	}
	if w.Learn(before.Size, 600) || !w.Learn(before.Size, 600) {
		t.Error("two answers that contradict are no reason to calibrate again")
	}
	if err := w.Calibrate(0, true, countedBy(wordPieces(8, 1))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if w.Learn(before.Size, 600) {
			t.Error("answers to prompts of before contradict those of now")
		}
	}
}

func TestWriterReturnsErrors(t *testing.T) {
	gone := errors.New("gone")
	w := NewWriter(Options{Workload: Cold, Tokens: 100, Seed: 1})
	if err := w.Calibrate(0, true, func(Prompt) (int, error) { return 0, gone }); !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
	if _, known := w.Off(); known {
		t.Error("calibrated without a count")
	}
}

// TestWhatRoundsAndRunsShare holds that a round asks the same whenever it is written, and that other rounds and runs do
// so if the prompt is warm.
func TestWhatRoundsAndRunsShare(t *testing.T) {
	for workload, warm := range map[Workload]bool{Cold: false, Warm: true} {
		a := NewWriter(Options{Workload: workload, Tokens: 300, Seed: 1})
		b := NewWriter(Options{Workload: workload, Tokens: 300, Seed: 2})
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
