package prompt

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// codeSentence matches the sentence of a canary that says its code words.
var codeSentence = regexp.MustCompile(` The code words are: (\w+ \w+ \w+) and no others\.`)

// TestCanaryStandsAtItsDepth holds how much of the words stands before the sentence, and what is asked after all.
func TestCanaryStandsAtItsDepth(t *testing.T) {
	for _, depth := range []float64{0, 0.1, 0.25, 0.5, 0.75, 1} {
		p := Write(Options{Workload: Canary, Tokens: 1064, Seed: 3, Depths: []float64{depth}}, 2, Size{Words: 1003})
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
	o := Options{Workload: Canary, Tokens: 500, Seed: 3, Depths: []float64{0.5}}
	drawn, sorted := map[string]bool{}, map[string]bool{}
	for round := range uint64(500) {
		p := Write(o, round, Size{Words: 450})
		found := codeSentence.FindStringSubmatch(p.Text)
		if found == nil || len(p.Code) != 1 || found[1] != p.Code[0] {
			t.Fatalf("expects %q of %q", p.Code, p.Text)
		}
		code := slices.Sorted(strings.FieldsSeq(p.Code[0]))
		if len(slices.Compact(code)) != wordsOfOne {
			t.Errorf("the code words are %q", p.Code)
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

// TestCanaryAtSeveralDepths holds that a canary has two code words at each of its depths, which all differ and which
// the answer must repeat, that the question names their number, and that all prompts are made of the same words.
func TestCanaryAtSeveralDepths(t *testing.T) {
	sentence := regexp.MustCompile(` The code words of part (\d+) are: (\w+ \w+) and no others\.`)
	for _, depths := range [][]float64{{0, 1}, {0.05, 0.5, 0.95}, {0, .1, .2, .3, .4, .5, .6, .7, .8, 1}} {
		o := Options{Workload: Canary, Tokens: 1100, Seed: 3, Depths: depths}
		size := Size{Words: 1000 + wordsOfEach*len(depths)}
		sorted := map[string]bool{}
		for round := range uint64(50) {
			p := Write(o, round, size)
			body, question, _ := strings.Cut(strings.TrimPrefix(p.Text, listHead), "\n\n")
			sides := sentence.Split(body, -1)
			before := 0
			var code []string
			for i, found := range sentence.FindAllStringSubmatch(body, -1) {
				before += len(strings.Fields(sides[i]))
				if want := int(math.Round(1000 * depths[i])); before != want || found[1] != strconv.Itoa(i+1) {
					t.Errorf("part %s of %v stands after %d words, want %d", found[1], depths, before, want)
				}
				if p.Code[i] != found[2] {
					t.Errorf("expects %q at %v, hides %q", p.Code[i], depths[i], found[2])
				}
				code = append(code, strings.Fields(found[2])...)
			}
			slices.Sort(code)
			if len(p.Code) != len(depths) || len(slices.Compact(code)) != wordsOfEach*len(depths) {
				t.Errorf("%v: the code words are %q", depths, p.Code)
			}
			if want := fmt.Sprintf("of the %d parts? Answer with these %d", len(depths), len(code)); !strings.Contains(question, want) {
				t.Errorf("it asks %q, want %q", question, want)
			}
			words := strings.FieldsSeq(strings.ReplaceAll(p.Text, ".", " ."))
			sorted[strings.Join(slices.Sorted(words), " ")] = true
		}
		if len(sorted) != 1 {
			t.Errorf("%v: prompts are made of %d sets of words", depths, len(sorted))
		}
	}
}
