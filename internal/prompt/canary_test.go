package prompt

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var sentence = regexp.MustCompile(` The code words are: (\w+ \w+ \w+) and no others\.`)

func TestCanaryStandsAtItsDepth(t *testing.T) {
	for _, depth := range []float64{0, 0.1, 0.25, 0.5, 0.75, 1} {
		w := calibrated(t, Options{Workload: Canary, Tokens: 1064, Seed: 3, Depth: depth})
		p := w.Prompt(2)
		at := sentence.FindStringIndex(p.Text)
		if at == nil {
			t.Fatalf("no sentence in %q", p.Text)
		}
		before := len(strings.Fields(p.Text[:at[0]])) - 1
		after := w.Prompt(2).Size.length.found.size.words - codeWordCount - before
		if got := float64(before) / float64(before+after); distance(int(1000*got), int(1000*depth)) > 1 {
			t.Errorf("depth %v: %d words before it and %d behind", depth, before, after)
		}
		body, question, _ := strings.Cut(p.Text, "\n\n")
		if !strings.HasPrefix(body, "Words: ") ||
			!strings.HasPrefix(question, "What are the code words? Answer with the three code words first. Then ") ||
			!strings.HasSuffix(question, "do not stop.") {
			t.Errorf("it asks %q", question)
		}
	}
}

func TestCanaryExpectsItsCodeWords(t *testing.T) {
	w := calibrated(t, Options{Workload: Canary, Tokens: 500, Seed: 3, Depth: 0.5})
	drawn, sorted := map[string]bool{}, map[string]bool{}
	for round := range uint64(500) {
		p := w.Prompt(round)
		found := sentence.FindStringSubmatch(p.Text)
		if found == nil || found[1] != p.Expect {
			t.Fatalf("expects %q of %q", p.Expect, p.Text)
		}
		code := strings.Fields(p.Expect)
		for _, word := range code {
			drawn[word] = true
			if !slices.Contains(wordList[:codeCandidates], word) {
				t.Errorf("%q cannot be a code word", word)
			}
		}
		if code[0] == code[1] || code[1] == code[2] || code[0] == code[2] {
			t.Errorf("the code words are %q", p.Expect)
		}
		sorted[strings.Join(slices.Sorted(strings.FieldsSeq(strings.ReplaceAll(p.Text, ".", " ."))), " ")] = true
	}
	if len(drawn) != codeCandidates {
		t.Errorf("%d words are drawn, want %d", len(drawn), codeCandidates)
	}
	if len(sorted) != 1 {
		t.Error("prompts are made of different words")
	}
}
