package prompt

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// codeSentence matches the sentence of a canary that says its code words.
var codeSentence = regexp.MustCompile(` The code words are: (\w+ \w+ \w+) and no others\.`)

// TestCanaryStandsAtItsDepth holds how much of the words stands before the sentence, and what is asked after all.
func TestCanaryStandsAtItsDepth(t *testing.T) {
	for _, depth := range []float64{0, 0.1, 0.25, 0.5, 0.75, 1} {
		p := Write(Options{Workload: Canary, Tokens: 1064, Seed: 3, Depth: depth}, 2, Size{Words: 1003})
		body, question, _ := strings.Cut(p.Text, "\n\n")
		sides := codeSentence.Split(strings.TrimPrefix(body, listHead), -1)
		if len(sides) != 2 {
			t.Fatalf("no sentence in %q", body)
		}
		before, after := len(strings.Fields(sides[0])), len(strings.Fields(sides[1]))
		if share := float64(before) / float64(before+after); math.Abs(share-depth) > 0.001 {
			t.Errorf("depth %v: %d words before it and %d behind", depth, before, after)
		}
		want := strings.TrimPrefix(canaryTail, "\n\n")
		if question != want {
			t.Errorf("it asks %q, want %q", question, want)
		}
	}
}

// TestCanaryExpectsItsCodeWords holds that the answer must repeat the three words of the sentence, which differ, that
// all candidates are drawn, and that all prompts are made of the same words: they count the same.
func TestCanaryExpectsItsCodeWords(t *testing.T) {
	o := Options{Workload: Canary, Tokens: 500, Seed: 3, Depth: 0.5}
	drawn, sorted := map[string]bool{}, map[string]bool{}
	for round := range uint64(500) {
		p := Write(o, round, Size{Words: 450})
		found := codeSentence.FindStringSubmatch(p.Text)
		if found == nil || found[1] != p.Expect {
			t.Fatalf("expects %q of %q", p.Expect, p.Text)
		}
		code := slices.Sorted(strings.FieldsSeq(p.Expect))
		if len(slices.Compact(code)) != codeWordCount {
			t.Errorf("the code words are %q", p.Expect)
		}
		for _, word := range code {
			drawn[word] = true
		}
		words := strings.FieldsSeq(strings.ReplaceAll(p.Text, ".", " ."))
		sorted[strings.Join(slices.Sorted(words), " ")] = true
	}
	for _, word := range wordList[:codeCandidates] {
		if !drawn[word] {
			t.Errorf("%q is never drawn", word)
		}
	}
	if len(drawn) != codeCandidates || len(sorted) != 1 {
		t.Errorf("%d words are drawn, want %d; prompts are made of %d sets of words", len(drawn), codeCandidates, len(sorted))
	}
}
