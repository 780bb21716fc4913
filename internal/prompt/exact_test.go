package prompt

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// A server counts the tokens of a text, and adds some for each turn of a conversation.
type server struct {
	name  string
	count func(text string) int
	turn  int
	off   int // by how much a prompt may be off, since nothing costs one token
}

// tokens returns what the server counts for a prompt.
func (s server) tokens(p Prompt) int {
	n := s.count(p.Text) + s.turn
	for _, turn := range p.Turns {
		n += s.count(turn.Text) + s.turn
	}
	return n
}

// countTokens is what a [Writer] calibrates by.
func (s server) countTokens(p Prompt) (int, error) { return s.tokens(p), nil }

// pieces returns a tokenizer that cuts words into pieces of at most so many letters, and takes each sign for a token of
// its own, as real ones do.
func pieces(letters int) func(text string) int {
	return func(text string) int {
		n := 0
		for word := range strings.FieldsSeq(text) {
			plain := strings.TrimFunc(word, unicode.IsPunct)
			n += (len(plain)+letters-1)/letters + len(word) - len(plain)
		}
		return n
	}
}

// perWord returns a tokenizer for which each word is so many tokens.
func perWord(tokens int) func(text string) int {
	return func(text string) int { return tokens * len(strings.Fields(text)) }
}

// perToken returns a tokenizer for which so many characters are a token. A rest is none.
func perToken(characters int) func(text string) int {
	return func(text string) int { return len(text) / characters }
}

var (
	tokenAWord   = server{name: "a token a word", count: pieces(100)}
	chatTemplate = server{name: "a template of 11 tokens a turn", count: pieces(100), turn: 11}
	eightLetters = server{name: "words cut at eight letters", count: pieces(8), turn: 5}
	sixLetters   = server{name: "words cut at six letters", count: pieces(6), turn: 5}
	threeLetters = server{name: "words cut at three letters", count: pieces(3), turn: 1}
	roundedUp    = server{
		name:  "a token for three characters, rounded up",
		count: func(text string) int { return (len(text) + 2) / 3 },
		turn:  5,
	}

	servers = []server{
		tokenAWord, chatTemplate, eightLetters, sixLetters, threeLetters, roundedUp,
		{name: "every word two tokens", count: perWord(2), turn: 5, off: 1},
		{name: "a token for four characters", count: perToken(4), turn: 5},
		{name: "five tokens a word", count: perWord(5), turn: 4, off: 4},
		{name: "a token a letter", count: perToken(1), turn: 9, off: 1},
	}
)

// ofEachWorkload returns options for prompts of a length, of each workload that has one.
func ofEachWorkload(tokens int) []Options {
	return []Options{
		{Workload: Cold, Tokens: tokens, Seed: 7},
		{Workload: Warm, Tokens: tokens, Seed: 7},
		{Workload: Sessions, Tokens: tokens, Seed: 7, Answer: 100, Users: 2, Rounds: 3, System: tokens / 20},
		{Workload: Canary, Tokens: tokens, Seed: 7, Depth: 0.5},
	}
}

// calibrated returns a writer whose prompts of every round were counted by a server.
func calibrated(t *testing.T, o Options, s server) *Writer {
	t.Helper()
	return runCalibration(t, o, s).writer
}

// A calibrationRun is what it took to calibrate a writer.
type calibrationRun struct {
	writer  *Writer
	counts  int // prompts that the server counted
	longest int // tokens of the longest of them, of the first round
}

// runCalibration calibrates a writer by a server.
func runCalibration(t *testing.T, o Options, s server) calibrationRun {
	t.Helper()
	run := calibrationRun{writer: NewWriter(o)}
	err := run.writer.CalibrateAll(false, func(p Prompt) (int, error) {
		tokens := s.tokens(p)
		run.counts++
		if p.Size.shape == 0 {
			run.longest = max(run.longest, tokens)
		}
		return tokens, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// expectExact expects that a server counts the prompts of the first rounds as long as asked, and as long as they say.
// Nothing is shorter than the least words of a prompt.
func expectExact(t *testing.T, w *Writer, s server) {
	t.Helper()
	for round := range uint64(4) {
		p := w.Prompt(round)
		tokens := s.tokens(p)
		if !p.Calibrated || p.Tokens != tokens {
			t.Errorf("round %d: %d tokens, said to have %d (calibrated: %t)", round, tokens, p.Tokens, p.Calibrated)
		}
		if distance(tokens, p.Asked) > s.off && tokens != shortest(w, s, p.Size.shape) {
			t.Errorf("round %d: %d tokens, asked %d", round, tokens, p.Asked)
		}
	}
}

// shortest returns what a server counts for the shortest prompt of a shape.
func shortest(w *Writer, s server, shape int) int {
	_, history := w.lengthsBefore(shape)
	least := size{words: w.workload.start(shape, history).least}
	return s.tokens(w.trial(shape, append(history, observation{size: least})))
}

// TestEveryWorkloadIsExact holds that prompts have the tokens asked for after few counts. No guess of a long prompt is
// longer than that, which may be all that the server's context holds; a canary's words are bounded by its sentences.
func TestEveryWorkloadIsExact(t *testing.T) {
	for _, test := range []struct {
		tokens    int
		workloads []Workload
		servers   []server
	}{
		{80, []Workload{Cold, Warm, Sessions, Canary}, servers},
		{700, []Workload{Cold, Warm, Sessions, Canary}, servers},
		{1000, []Workload{Cold, Warm, Sessions, Canary}, servers},
		{4000, []Workload{Cold, Warm, Sessions, Canary}, servers},
		{21000, []Workload{Cold}, servers},
		{21000, []Workload{Warm, Sessions, Canary}, []server{chatTemplate, threeLetters, roundedUp}}, // others take long
		{128000, []Workload{Cold, Sessions}, []server{threeLetters}},
	} {
		for _, o := range ofEachWorkload(test.tokens) {
			if !slices.Contains(test.workloads, o.Workload) {
				continue
			}
			for _, s := range test.servers {
				t.Run(fmt.Sprintf("%s of %d by %s", o.Workload, o.Tokens, s.name), func(t *testing.T) {
					run := runCalibration(t, o, s)
					expectExact(t, run.writer, s)
					if most := (maxWordTries + maxPadTries) * max(1, o.Rounds); run.counts > most {
						t.Errorf("%d counts, want at most %d", run.counts, most)
					}
					if o.Tokens >= 700 && o.Workload != Canary && run.longest > o.Tokens {
						t.Errorf("a guess of %d tokens", run.longest)
					}
				})
			}
		}
	}
}

// TestShortPromptsAreExact goes through the lengths at which the last sentence, pads and single words matter.
func TestShortPromptsAreExact(t *testing.T) {
	for tokens := 16; tokens <= 300; tokens++ {
		for _, workload := range []Workload{Cold, Warm, Canary} {
			for _, s := range servers {
				w := calibrated(t, Options{Workload: workload, Tokens: tokens, Seed: 1, Depth: 1}, s)
				expectExact(t, w, s)
				if t.Failed() {
					t.Fatalf("%s of %d by %s", workload, tokens, s.name)
				}
			}
		}
	}
}

// TestEveryWorkloadIsExactByUsage holds that a server without a tokenizer is asked prompts of the right length, each
// round of which is calibrated before it is asked.
func TestEveryWorkloadIsExactByUsage(t *testing.T) {
	for _, o := range ofEachWorkload(2000) {
		w := NewWriter(o)
		for round := range uint64(200) {
			if err := w.Calibrate(round, true, sixLetters.countTokens); err != nil {
				t.Fatal(err)
			}
			p := w.Prompt(round)
			if counted, _ := w.Known(round); !counted || !p.Confirmed {
				t.Fatalf("%s: round %d is known: %t, confirmed: %t", o.Workload, round, counted, p.Confirmed)
			}
			tokens := sixLetters.tokens(p)
			if tokens != p.Asked || p.Tokens != p.Asked {
				t.Fatalf("%s: round %d has %d tokens and says %d, asked %d", o.Workload, round, tokens, p.Tokens, p.Asked)
			}
			if w.Learn(p.Size, tokens) {
				t.Fatalf("%s: round %d is to be calibrated again", o.Workload, round)
			}
		}
		if off, known := w.Off(); off != 0 || !known {
			t.Errorf("%s: off by %d (%t)", o.Workload, off, known)
		}
	}
}

// TestWords holds that a prompt says about how many words it has: with a token a word, nearly as many as tokens.
func TestWords(t *testing.T) {
	p := calibrated(t, Options{Workload: Cold, Tokens: 1000, Seed: 7}, tokenAWord).Prompt(0)
	if p.Words > 1000 || p.Words < 980 {
		t.Errorf("%d words of 1,000 tokens", p.Words)
	}
}

// TestCountedPromptsAreNeverAsked holds that counting warms no cache.
func TestCountedPromptsAreNeverAsked(t *testing.T) {
	beginning := func(p Prompt) string { return strings.Join(strings.Fields(p.Text)[:13], " ") }
	for _, o := range ofEachWorkload(300) {
		if o.Workload == Warm {
			continue
		}
		w, counted := NewWriter(o), map[string]bool{}
		err := w.CalibrateAll(false, func(p Prompt) (int, error) {
			counted[beginning(p)] = true
			return tokenAWord.tokens(p), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for round := range uint64(100) {
			if counted[beginning(w.Prompt(round))] {
				t.Errorf("%s: round %d was counted", o.Workload, round)
			}
		}
	}
}

// TestFreshIsALowerBound compares all prompts of some rounds: behind what two of them share are at least as many tokens
// as they say.
func TestFreshIsALowerBound(t *testing.T) {
	for _, o := range ofEachWorkload(200) {
		w := calibrated(t, o, tokenAWord)
		var earlier [][]string
		for round := range uint64(300) {
			p := w.Prompt(round)
			isWarm := o.Workload == Warm || o.Workload == Sessions
			if (p.Fresh == 0) != isWarm || p.Fresh > p.Words {
				t.Fatalf("%s: fresh is %d of %d words", o.Workload, p.Fresh, p.Words)
			}
			text := strings.Fields(p.Text)
			for _, other := range earlier {
				if behind := len(text) - shared(text, other); behind < p.Fresh {
					t.Fatalf("%s: round %d has %d words of its own, said %d", o.Workload, round, behind, p.Fresh)
				}
			}
			earlier = append(earlier, text)
		}
	}
}

// shared returns how many words both texts begin with.
func shared(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
