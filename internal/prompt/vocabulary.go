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

// Vocabulary returns the two texts to tokenize for [Writer.UseIDs]: what stands before the words of every
// prompt, and that with all words of the list in order.
func Vocabulary() (first, all string) { return head, head + " " + strings.Join(words, " ") }

// UseIDs makes the writer of a cold or warm workload write prompts as token ids from now on, of exactly the
// length asked for. It takes and keeps the ids of both texts of [Vocabulary], special tokens included. If two
// answers in a row count otherwise, or the server rejects two in a row, it goes back to text.
//
// It returns false, and prompts stay text, for other workloads, for lengths that the head alone fills, and
// unless the second list begins with the first and goes on with one id for each word, none of them twice:
// with one id for all unknown words all prompts would be the same.
func (w *Writer) UseIDs(head, all []int) bool {
	o, n := w.options, len(head)
	if o.Workload != Cold && o.Workload != Warm || o.Tokens <= n || len(all)-n != len(words) || !slices.Equal(all[:n], head) {
		return false
	}
	if different := slices.Compact(slices.Sorted(slices.Values(all[n:]))); len(different) < len(words) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids = ids{head: head, words: all[n:]}
	return true
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
