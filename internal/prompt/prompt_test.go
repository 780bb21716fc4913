package prompt

import (
	"errors"
	"strings"
	"testing"
)

// learner is a server that counts 29 tokens of chat template.
var learner = server{name: "a template of 29 tokens", count: pieces(8), turn: 29}

// TestWhenPromptsAreCalibratedAgain holds which counts of answers make a length unknown again: one that contradicts a
// tokenizer, two in a row that contradict the usage before them, or the first of a server that counted nothing. An odd
// count of something else, or one alone, throws nothing away.
func TestWhenPromptsAreCalibratedAgain(t *testing.T) {
	const byTokenizer, byUsage, byEstimate = "tokenizer", "usage", "estimate"
	for name, test := range map[string]struct {
		calibrated string
		answers    []int // tokens by their usage, one after another
		again      int   // the answer that makes the length unknown, from 1; 0: none does
	}{
		"the tokenizer is right":                            {byTokenizer, []int{21000, 21000}, 0},
		"the tokenizer leaves out the chat template":        {byTokenizer, []int{21028}, 1},
		"the tokenizer was right, and is another one now":   {byTokenizer, []int{21000, 22000, 22000}, 3},
		"the usage becomes another one":                     {byUsage, []int{21000, 22000, 22000}, 3},
		"two counts differ from each other and from before": {byUsage, []int{21001, 20990}, 2},
		"odd counts are not in a row":                       {byUsage, []int{21000, 22000, 21000, 22000}, 0},
		"answers without a count":                           {byUsage, []int{0, 0, 0}, 0},
		"counts of something else":                          {byTokenizer, []int{10, 10, 10}, 0},
		"a server that counted nothing begins to count":     {byEstimate, []int{0, 20990}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			w := NewWriter(Options{Workload: Cold, Tokens: 21000, Seed: 3})
			if test.calibrated == byEstimate {
				w.Estimate(0)
			} else if err := w.Calibrate(0, test.calibrated == byUsage, learner.countTokens); err != nil {
				t.Fatal(err)
			}
			p := w.Prompt(0)
			if p.Confirmed != (test.calibrated == byUsage) || p.Calibrated != (test.calibrated != byEstimate) {
				t.Errorf("confirmed %t, calibrated %t", p.Confirmed, p.Calibrated)
			}
			again := 0
			for i, tokens := range test.answers {
				if w.Learn(w.Prompt(uint64(i)).Size, tokens) && again == 0 {
					again = i + 1
				}
			}
			if again != test.again {
				t.Errorf("to be calibrated again after answer %d, want %d", again, test.again)
			}
			counted, _ := w.Known(9)
			if want := again == 0 && test.calibrated != byEstimate; counted != want {
				t.Errorf("the length is known: %t, want %t", counted, want)
			}
		})
	}
}

// TestAServerThatCountsNothing holds that prompts are as long as asked by an estimate, and say that this is one, until
// another member counts them.
func TestAServerThatCountsNothing(t *testing.T) {
	for _, tokens := range []int{0, 10} {
		w := NewWriter(Options{Workload: Cold, Tokens: 21000, Seed: 3})
		err := w.Calibrate(0, true, func(Prompt) (int, error) { return tokens, nil })
		if counted, estimated := w.Known(0); !errors.Is(err, ErrUncounted) || counted || estimated {
			t.Errorf("counts %d: %v, known: %t, %t", tokens, err, counted, estimated)
		}
		w.Estimate(0)
		p := w.Prompt(0)
		if counted, estimated := w.Known(0); counted || !estimated {
			t.Errorf("counts %d: counted %t, estimated %t", tokens, counted, estimated)
		}
		if p.Calibrated || p.Confirmed || p.Tokens != 0 {
			t.Errorf("counts %d: calibrated %t, confirmed %t, %d tokens", tokens, p.Calibrated, p.Confirmed, p.Tokens)
		}
		if p.Words < 20900 || p.Words > 21000 {
			t.Errorf("counts %d: %d words", tokens, p.Words)
		}
		if _, known := w.Off(); known {
			t.Errorf("counts %d: it is known by how much an estimate is off", tokens)
		}
		if err := w.Calibrate(0, true, learner.countTokens); err != nil || w.Prompt(0).Tokens != 21000 {
			t.Errorf("counts %d: not calibrated after an estimate (%v)", tokens, err)
		}
	}
}

// TestATruncatingServer holds that prompts for a server that cuts them stay as long as asked, and that they are
// calibrated again when it has not cut two of them.
func TestATruncatingServer(t *testing.T) {
	w, longest := NewWriter(Options{Workload: Cold, Tokens: 21000, Seed: 3}), 0
	err := w.Calibrate(0, true, func(p Prompt) (int, error) {
		longest = max(longest, len(strings.Fields(p.Text)))
		return min(4096, learner.tokens(p)), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p := w.Prompt(9)
	if !p.Calibrated || !p.Truncated || !p.Confirmed || p.Tokens != 21000 {
		t.Errorf("the prompt is %+v", Prompt{
			Calibrated: p.Calibrated, Truncated: p.Truncated, Confirmed: p.Confirmed, Tokens: p.Tokens,
		})
	}
	if off, known := w.Off(); off != 4096-21000 || !known {
		t.Errorf("off by %d (%t)", off, known)
	}
	if longest > 21000 {
		t.Errorf("the prompt grew to %d words", longest)
	}
	for range 3 {
		if w.Learn(p.Size, 8192) {
			t.Error("it still cuts, and is to be calibrated again")
		}
	}
	first, second := w.Learn(p.Size, 21000), w.Learn(p.Size, 21000)
	if first || !second {
		t.Errorf("it does not cut any more: calibrated again after one answer %t, after two %t", first, second)
	}
}

// TestCalibrationsSideBySide holds that a calibration which is slow or fails leaves nothing of its own behind while
// another one ends, and that an answer to a prompt from before a calibration teaches nothing about those after it.
func TestCalibrationsSideBySide(t *testing.T) {
	w, gone, counts := NewWriter(Options{Workload: Cold, Tokens: 500, Seed: 3}), errors.New("gone"), 0
	err := w.Calibrate(0, true, func(p Prompt) (int, error) {
		counts++
		switch counts {
		case 2:
			if err := w.Calibrate(0, true, threeLetters.countTokens); err != nil {
				t.Fatal(err)
			}
		case 3:
			return 0, gone
		}
		return len(p.Text), nil
	})
	before := w.Prompt(1)
	counted, _ := w.Known(0)
	if tokens := threeLetters.tokens(before); !counted || !errors.Is(err, gone) || tokens != 500 {
		t.Errorf("known %t, of %d tokens (%v)", counted, tokens, err)
	}
	if w.Learn(before.Size, 600) || !w.Learn(before.Size, 600) {
		t.Error("two answers that contradict are no reason to calibrate again")
	}
	if err := w.Calibrate(0, true, learner.countTokens); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if w.Learn(before.Size, 600) {
			t.Error("answers to earlier prompts contradict those of now")
		}
	}
}

// TestWhatRoundsAndRunsShare holds that a round asks the same whenever it is written, and that other rounds and runs do
// so if the prompt is warm.
func TestWhatRoundsAndRunsShare(t *testing.T) {
	for workload, warm := range map[Workload]bool{Cold: false, Warm: true} {
		a := NewWriter(Options{Workload: workload, Tokens: 300, Seed: 1})
		b := NewWriter(Options{Workload: workload, Tokens: 300, Seed: 2})
		first := a.Prompt(0)
		if (first.Salt == "") != warm {
			t.Errorf("%s: the salt is %q", workload, first.Salt)
		}
		for _, test := range []struct {
			other string
			p     Prompt
			same  bool
		}{
			{"the same round", a.Prompt(0), true},
			{"another round", a.Prompt(9), warm},
			{"another run", b.Prompt(0), warm},
		} {
			if (test.p.Text == first.Text) != test.same || (test.p.Salt == first.Salt) != test.same {
				t.Errorf("%s: %s asks the same: %t", workload, test.other, test.p.Text == first.Text)
			}
		}
	}
}

// broken is a workload with a mistake of the prober.
type broken struct{ workload }

func (broken) start(int, []observation) calibrationStart { panic("broken") }

// TestWriterOutlivesAPanic holds that a panic while a prompt is written or estimated leaves no lock behind: the next
// prompt can be written.
func TestWriterOutlivesAPanic(t *testing.T) {
	for name, call := range map[string]func(w *Writer){
		"written":   func(w *Writer) { w.Prompt(0) },
		"estimated": func(w *Writer) { w.Estimate(0) },
	} {
		w := NewWriter(Options{Workload: Cold, Tokens: 100, Seed: 1})
		w.workload = broken{w.workload}
		func() {
			defer func() { _ = recover() }()
			call(w)
			t.Errorf("%s: no panic", name)
		}()
		if !w.mu.TryLock() {
			t.Errorf("%s: the writer is locked for ever", name)
		}
	}
}
