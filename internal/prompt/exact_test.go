package prompt

import (
	"fmt"
	"strings"
	"testing"
)

// A server counts a text, and adds something for each turn.
type server struct {
	name  string
	count tokenizer
	turn  int
	off   int // by how much a prompt may be off, since nothing costs one token
}

func (s server) tokens(p Prompt) int {
	n := s.count(p.Text) + s.turn
	for _, turn := range p.Turns {
		n += s.count(turn.Text) + s.turn
	}
	return n
}

var servers = []server{
	{name: "a token a word", count: wordPieces(100, 0)},
	{name: "a template of 11 tokens a turn", count: wordPieces(100, 0), turn: 11},
	{name: "words cut at eight letters", count: wordPieces(8, 0), turn: 5},
	{name: "words cut at six letters", count: wordPieces(6, 0), turn: 5},
	{name: "words cut at three letters", count: wordPieces(3, 0), turn: 1},
	{name: "every word two tokens", count: func(text string) int { return 2 * len(strings.Fields(text)) }, turn: 5,
		off: 1},
	{name: "a token for four characters", count: func(text string) int { return len(text) / 4 }, turn: 5},
	{name: "a token for three characters, rounded up", count: func(text string) int { return (len(text) + 2) / 3 },
		turn: 5},
	{name: "five tokens a word", count: func(text string) int { return 5 * len(strings.Fields(text)) }, turn: 4, off: 4},
	{name: "a token a letter", count: func(text string) int { return len(text) }, turn: 9, off: 1},
}

// written are the workloads that have a length, for prompts of so many tokens.
func written(tokens int) []Options {
	return []Options{
		{Workload: Cold, Tokens: tokens, Seed: 7},
		{Workload: Warm, Tokens: tokens, Seed: 7},
		{Workload: Sessions, Tokens: tokens, Seed: 7, Answer: 100, Users: 2, Rounds: 3, System: tokens / 20},
		{Workload: Canary, Tokens: tokens, Seed: 7, Depth: 0.5},
	}
}

// least is what a server counts for the shortest prompt of a shape.
func least(s server, w *Writer, shape int) int {
	before, history := w.lengthsBefore(shape)
	least := w.workload.start(shape, history).least
	history = append(history[:len(before):len(before)], observation{size: size{words: least}})
	return s.tokens(w.trial(shape, history))
}

// exact calibrates a writer by a server and compares prompts with what it counts. No guess of a long prompt of the
// list's words is longer than what was asked: that may be all that the server's context holds.
func exact(t *testing.T, o Options, s server) {
	t.Helper()
	about := fmt.Sprintf("%s, %d tokens, %s", o.Workload, o.Tokens, s.name)
	w, calls := NewWriter(o), 0
	count := func(p Prompt) (int, error) {
		calls++
		n, bounded := s.tokens(p), o.Tokens >= 700 && o.Workload != Canary && p.Size.shape == 0
		if bounded && n > o.Tokens {
			t.Errorf("%s: a guess of %d", about, n)
		}
		return n, nil
	}
	err := w.CalibrateAll(false, count)
	if _, known := w.Off(); err != nil || !known || calls > (maxWordTries+maxPadTries)*max(1, o.Rounds) {
		t.Errorf("%s: calibrated: %t, after %d counts (%v)", about, known, calls, err)
	}
	for round := range uint64(4) {
		if err := w.Calibrate(round, false, count); err != nil {
			t.Error(err)
		}
		check(t, s, w, round)
	}
}

// check compares a calibrated prompt with what the server counts.
func check(t *testing.T, s server, w *Writer, round uint64) {
	t.Helper()
	p := w.Prompt(round)
	n := s.tokens(p)
	if !p.Calibrated || n != p.Tokens || distance(n, p.Asked) > s.off && n != least(s, w, p.Size.shape) {
		t.Errorf("%s, %s: round %d counts %d, asked %d, said %d (calibrated: %t)", w.options.Workload, s.name, round, n,
			p.Asked, p.Tokens, p.Calibrated)
	}
	if s.name == "a token a word" && w.options.Workload == Cold && (p.Words > n || p.Words < n-20) {
		t.Errorf("round %d says it has %d words or more, it has %d", round, p.Words, n)
	}
}

func TestEveryWorkloadIsExact(t *testing.T) {
	for _, tokens := range []int{80, 700, 1000, 4000, 21000, 128000} {
		for _, o := range written(tokens) {
			for i, s := range servers {
				// They take long: a few of the servers will do.
				if tokens > 4000 && i%3 != 1 && o.Workload != Cold || tokens > 21000 && i%6 != 4 {
					continue
				}
				exact(t, o, s)
			}
		}
	}
}

// TestShortPromptsAreExact goes through the lengths at which tails, pads and
// single words matter.
func TestShortPromptsAreExact(t *testing.T) {
	for tokens := 16; tokens <= 300; tokens++ {
		for _, workload := range []Workload{Cold, Warm, Canary} {
			for _, s := range servers {
				exact(t, Options{Workload: workload, Tokens: tokens, Seed: 1, Depth: 1}, s)
			}
		}
	}
}

// TestEveryWorkloadIsExactByUsage is a server without a tokenizer: each round is calibrated before it is asked.
func TestEveryWorkloadIsExactByUsage(t *testing.T) {
	s := servers[3]
	for _, o := range written(2000) {
		w := NewWriter(o)
		for round := range uint64(200) {
			if err := w.Calibrate(round, true, func(p Prompt) (int, error) { return s.tokens(p), nil }); err != nil {
				t.Fatal(err)
			}
			p := w.Prompt(round)
			if counted, _ := w.Known(round); !counted || !p.Confirmed || s.tokens(p) != p.Asked || p.Tokens != p.Asked {
				t.Fatalf("%s: round %d counts %d, asked %d, said %d (known: %t, confirmed: %t)",
					o.Workload, round, s.tokens(p), p.Asked, p.Tokens, counted, p.Confirmed)
			}
			if w.Learn(p.Size, s.tokens(p)) {
				t.Fatalf("%s: round %d is to be calibrated again", o.Workload, round)
			}
		}
		if off, known := w.Off(); off != 0 || !known {
			t.Errorf("%s: off by %d (%t)", o.Workload, off, known)
		}
	}
}

// TestCountedPromptsAreNeverAsked holds that counting warms nothing.
func TestCountedPromptsAreNeverAsked(t *testing.T) {
	for _, o := range written(300) {
		if o.Workload == Warm {
			continue
		}
		w, counted := NewWriter(o), map[string]bool{}
		start := func(p Prompt) string { return strings.Join(strings.Fields(p.Text)[:13], " ") }
		err := w.CalibrateAll(false, func(p Prompt) (int, error) {
			counted[start(p)] = true
			return servers[0].tokens(p), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for round := range uint64(100) {
			if p := w.Prompt(round); counted[start(p)] {
				t.Errorf("%s: round %d was counted", o.Workload, round)
			}
		}
	}
}

// TestFreshIsALowerBound compares all prompts of some rounds: behind what two of
// them share are at least as many tokens as they say.
func TestFreshIsALowerBound(t *testing.T) {
	for _, o := range written(200) {
		w := NewWriter(o)
		if err := w.CalibrateAll(false, func(p Prompt) (int, error) { return servers[0].tokens(p), nil }); err != nil {
			t.Fatal(err)
		}
		var earlier [][]string
		for round := range uint64(300) {
			p := w.Prompt(round)
			if warm := o.Workload == Warm || o.Workload == Sessions; (p.Fresh == 0) != warm || p.Fresh > p.Words {
				t.Fatalf("%s: fresh is %d of %d words", o.Workload, p.Fresh, p.Words)
			}
			text := strings.Fields(p.Text)
			for _, other := range earlier {
				if shared := common(text, other); len(text)-shared < p.Fresh {
					t.Fatalf("%s: round %d has %d words behind the %d that it shares, said %d", o.Workload, round, len(text)-shared,
						shared, p.Fresh)
				}
			}
			earlier = append(earlier, text)
		}
	}
}

// common is how many words both begin with.
func common(a, b []string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
