package prompt

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// encode is a tokenizer: a special token, and an id for each word.
func encode(text string) []int {
	ids := []int{1}
	for word := range strings.FieldsSeq(text) {
		ids = append(ids, 1000+slices.Index(words, word))
	}
	return ids
}

// useIDs makes prompts token ids, where the workload can have them.
func useIDs(w *Writer) {
	_, _ = w.UseIDs(func(text string) ([]int, error) { return encode(text), nil })
}

func TestVocabulary(t *testing.T) {
	head, all := encode(head), encode(head+" "+strings.Join(words, " "))
	changed := func(at, id int) []int {
		c := slices.Clone(all)
		c[at] = id
		return c
	}
	for _, test := range []struct {
		name      string
		head, all []int
		want      bool
	}{
		{"an id for each word", head, all, true},
		{"a word of two ids", head, append(slices.Clone(all), 5), false},
		{"a word less", head, all[:len(all)-1], false},
		{"another head", head, changed(0, 9), false},
		{"a token at the end of every text", append(slices.Clone(head), 2), append(slices.Clone(all), 2), false},
		{"two words of one id", head, changed(50, all[60]), false},
		{"no ids", nil, nil, false},
	} {
		w := NewWriter(Options{Workload: Cold, Tokens: 300})
		ids := [][]int{test.head, test.all}
		ok, err := w.UseIDs(func(string) (next []int, _ error) {
			next, ids = ids[0], ids[1:]
			return next, nil
		})
		if ok != test.want || err != nil {
			t.Errorf("%s: got %t (%v)", test.name, ok, err)
		}
	}
	gone := errors.New("gone")
	if ok, err := NewWriter(Options{Tokens: 300, Workload: Warm}).UseIDs(func(string) ([]int, error) { return nil, gone }); ok || !errors.Is(err, gone) {
		t.Errorf("a tokenizer that fails: %t (%v)", ok, err)
	}
}

func TestIDsAreExactByConstruction(t *testing.T) {
	for _, workload := range []Workload{Cold, Warm} {
		for _, tokens := range []int{80, 1000, 21000, 128000} {
			w := NewWriter(Options{Workload: workload, Tokens: tokens, Seed: 3})
			useIDs(w)
			p, other := w.Prompt(1), w.Prompt(2)
			if len(p.IDs) != tokens || p.Text != "" || p.Tokens != tokens || p.Asked != tokens || p.Words != tokens || !p.Calibrated || p.Confirmed {
				t.Errorf("%s: %d ids, said %d (calibrated: %t, confirmed: %t)", workload, len(p.IDs), p.Tokens, p.Calibrated, p.Confirmed)
			}
			text := NewWriter(Options{Workload: workload, Tokens: tokens, Seed: 3}).author // the same words in the same order
			var written Prompt
			text.write(&written, 1, []observation{{size: size{words: tokens - len(encode(head))}}})
			if !slices.Equal(p.IDs, encode(written.Text)[:tokens]) {
				t.Errorf("%s: the ids of %d tokens are not those of the text", workload, tokens)
			}
			if same := slices.Equal(p.IDs, other.IDs); same != (workload == Warm) || (p.Fresh == 0) != same || (p.Salt == other.Salt) != same {
				t.Errorf("%s: two prompts are the same: %t", workload, same)
			}
			if off, known := w.Off(); off != 0 || !known {
				t.Errorf("off by %d (%t)", off, known)
			}
			w.Learn(p.Size, tokens)
			if p := w.Prompt(3); !p.Confirmed {
				t.Error("not confirmed after an answer that agreed")
			}
		}
	}
}

func TestIDsThatAreCountedOtherwiseBecomeText(t *testing.T) {
	right, wrong, refuse := func(w *Writer, p Prompt) { w.Learn(p.Size, 300) },
		func(w *Writer, p Prompt) { w.Learn(p.Size, 299) }, func(w *Writer, p Prompt) { w.Refuse(p.Size) }
	uncounted := func(w *Writer, p Prompt) { w.Learn(p.Size, 0) }
	for _, test := range []struct {
		name string
		say  []func(*Writer, Prompt)
		ids  bool
	}{
		{"once is not enough", []func(*Writer, Prompt){wrong}, true},
		{"twice is", []func(*Writer, Prompt){wrong, wrong}, false},
		{"twice in a row, that is", []func(*Writer, Prompt){wrong, right, wrong}, true},
		{"even after it was right", []func(*Writer, Prompt){right, wrong, wrong}, false},
		{"a prompt that was not counted says nothing", []func(*Writer, Prompt){uncounted, uncounted, uncounted}, true},
		{"refused twice", []func(*Writer, Prompt){refuse, refuse}, false},
		{"refused twice after it was right", []func(*Writer, Prompt){right, refuse, refuse}, false},
	} {
		w := NewWriter(Options{Workload: Cold, Tokens: 300})
		useIDs(w)
		for round, say := range test.say {
			say(w, w.Prompt(uint64(round)))
		}
		if p := w.Prompt(9); (p.IDs != nil) != test.ids || (p.Text == "") != test.ids {
			t.Errorf("%s: %d ids", test.name, len(p.IDs))
		}
	}
}

func TestOtherWorkloadsIgnoreIDs(t *testing.T) {
	for _, o := range append(written(t, 300), Options{Workload: Cold, Tokens: 1}) {
		w := NewWriter(o)
		useIDs(w)
		if p, want := w.Prompt(1), (o.Workload == Cold || o.Workload == Warm) && o.Tokens > 1; (p.IDs != nil) != want {
			t.Errorf("%s, %d tokens: %d ids", o.Workload, o.Tokens, len(p.IDs))
		}
	}
}
