package prompt

import (
	"slices"
	"strings"
)

// ids is how a server's tokenizer writes the writer's words, and what usage said of prompts made of these ids.
type ids struct {
	head  []int // what stands before the words
	words []int // those of the list, in its order; nil: prompts are text

	confirmed    bool // the usage of an answer agreed
	contradicted bool // the last one did not, or there was none
}

// UseIDs makes the writer of a cold or warm workload write prompts as token ids from now on, of exactly the length asked for.
// The function tokenize returns the ids of a text, special tokens included; nil if the server has none. If two answers in a
// row count otherwise, or are rejected, the writer goes back to text. It returns false, and prompts stay text, unless the ids
// of head and words begin with those of the head and go on with one for each word, none of them twice.
func (w *Writer) UseIDs(tokenize func(text string) ([]int, error)) (bool, error) {
	if w.options.Workload != Cold && w.options.Workload != Warm {
		return false, nil
	}
	first, err := tokenize(head)
	if err != nil || first == nil {
		return false, err
	}
	all, err := tokenize(head + " " + strings.Join(words, " "))
	n := len(first)
	if err != nil || w.options.Tokens <= n || len(all)-n != len(words) || !slices.Equal(all[:n], first) {
		return false, err
	}
	if different := slices.Compact(slices.Sorted(slices.Values(all[n:]))); len(different) < len(words) {
		return false, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids = ids{head: first, words: all[n:]}
	return true, nil
}

func (w *Writer) writeIDs(v ids, nonce uint64) Prompt {
	n, seed := w.options.Tokens, w.options.Seed
	p := Prompt{
		Salt: salt(seed, nonce), Fresh: unshared(n - len(v.head)), IDs: append(make([]int, 0, n), v.head...),
		Words: n, Asked: n, Size: Size{ids: true}, Tokens: n, Calibrated: true, Confirmed: v.confirmed,
	}
	if w.options.Workload == Warm {
		p.Salt, p.Fresh, seed, nonce = "", 0, 0, 0
	}
	for _, at := range shuffled(n-len(v.head), seed, nonce) {
		p.IDs = append(p.IDs, v.words[at])
	}
	return p
}

// judgeIDs takes whether a server accepted ids and counted them as it should.
func (w *Writer) judgeIDs(right bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case right:
		w.ids.confirmed, w.ids.contradicted = true, false
	case w.ids.contradicted:
		w.ids = ids{}
	default:
		w.ids.contradicted = true
	}
}
