package prompt

import (
	"fmt"
	"strings"
	"testing"
)

// ofEachWorkload returns options for prompts of a length, of each workload that has one.
func ofEachWorkload(tokens int) []Options {
	return []Options{
		{Workload: Cold, Tokens: tokens, Seed: 7},
		{Workload: Warm, Tokens: tokens, Seed: 7},
		{Workload: Sessions, Tokens: tokens, Seed: 7, Answer: 100, Users: 2, Rounds: 3, System: tokens / 20},
		{Workload: Canary, Tokens: tokens, Seed: 7, Depths: []float64{0.5}},
	}
}

// TestWords holds that a prompt says how many words it has: as many as its size, and those of its first and last
// sentence.
func TestWords(t *testing.T) {
	for _, o := range ofEachWorkload(1000) {
		p := Write(o, 0, Size{Words: 900, Pads: 3})
		if p.Words != p.words() || p.Words < 903 || p.Words > 950 {
			t.Errorf("%s: %d words of 903", o.Workload, p.Words)
		}
	}
}

// TestPromptsOfASizeHaveTheSameWords holds that only their order differs, so that all count the same.
func TestPromptsOfASizeHaveTheSameWords(t *testing.T) {
	sorted := func(p Prompt) string {
		words := map[string]int{}
		for word := range strings.FieldsSeq(strings.ReplaceAll(p.Text, ".", " .")) {
			words[word]++
		}
		return fmt.Sprint(words)
	}
	for _, o := range ofEachWorkload(300) {
		s := Size{Words: 280, Pads: 2}
		want := sorted(Write(o, 0, s))
		for round := range uint64(100) {
			if o.Exact(round) && sorted(Write(o, round, s)) != want {
				t.Fatalf("%s: round %d has other words", o.Workload, round)
			}
			if sorted(Trial(o, round, s)) != want {
				t.Fatalf("%s: trial %d has other words", o.Workload, round)
			}
		}
	}
}

// TestTrialsAreNeverAsked holds that counting warms no cache.
func TestTrialsAreNeverAsked(t *testing.T) {
	beginning := func(p Prompt) string { return strings.Join(strings.Fields(p.Text)[:13], " ") }
	for _, o := range ofEachWorkload(300) {
		if o.Workload == Warm {
			continue
		}
		s := Size{Words: 280}
		counted := map[string]bool{}
		for number := range uint64(20) {
			counted[beginning(Trial(o, number, s))] = true
		}
		if len(counted) != 20 {
			t.Errorf("%s: %d of 20 trials differ", o.Workload, len(counted))
		}
		for round := range uint64(100) {
			if counted[beginning(Write(o, round, s))] {
				t.Errorf("%s: round %d was counted", o.Workload, round)
			}
		}
	}
}

// TestFreshIsALowerBound compares all prompts of some rounds: behind what two of them share are at least as many words
// as they say.
func TestFreshIsALowerBound(t *testing.T) {
	for _, o := range ofEachWorkload(200) {
		var earlier [][]string
		for round := range uint64(300) {
			p := Write(o, round, Size{Words: 180})
			isWarm := o.Workload == Warm || o.Workload == Sessions
			if (p.Uncacheable == 0) != isWarm || p.Uncacheable > p.Words {
				t.Fatalf("%s: fresh is %d of %d words", o.Workload, p.Uncacheable, p.Words)
			}
			text := strings.Fields(p.Text)
			for _, other := range earlier {
				if behind := len(text) - shared(text, other); behind < p.Uncacheable {
					t.Fatalf("%s: round %d has %d words of its own, said %d", o.Workload, round, behind, p.Uncacheable)
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

// TestWhatRoundsAndRunsShare holds that a round asks the same whenever it is written, and that other rounds and runs do
// so if the prompt is warm.
func TestWhatRoundsAndRunsShare(t *testing.T) {
	for workload, warm := range map[Workload]bool{Cold: false, Warm: true} {
		write := func(seed, round uint64) Prompt {
			return Write(Options{Workload: workload, Tokens: 300, Seed: seed}, round, Size{Words: 250})
		}
		first := write(1, 0)
		if (first.Salt == "") != warm {
			t.Errorf("%s: the salt is %q", workload, first.Salt)
		}
		if (first.Repeated == first.Words) != warm {
			t.Errorf("%s: repeats %d of %d words", workload, first.Repeated, first.Words)
		}
		for _, test := range []struct {
			other string
			p     Prompt
			same  bool
		}{
			{"the same round", write(1, 0), true},
			{"another round", write(1, 9), warm},
			{"another run", write(2, 0), warm},
		} {
			if (test.p.Text == first.Text) != test.same || (test.p.Salt == first.Salt) != test.same {
				t.Errorf("%s: %s asks the same: %t", workload, test.other, test.p.Text == first.Text)
			}
		}
	}
}
