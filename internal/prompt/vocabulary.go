package prompt

import (
	"slices"
	"strings"
)

// A Vocabulary is what a server's tokenizer makes of the writer's words. With
// it, prompts of cold and warm are exact by construction.
type Vocabulary struct {
	head  []int
	words []int // of the list, in its order
}

// VocabularyHead returns what a tokenizer is asked first: what stands before the
// words of every prompt.
func VocabularyHead() string { return head }

// VocabularyText returns what a tokenizer is asked then: the head and all words
// of the list in order.
func VocabularyText() string { return head + " " + strings.Join(words, " ") }

// NewVocabulary takes the ids of [VocabularyHead], special tokens included, and
// of [VocabularyText]. It is ok only if the second begins with the first and
// goes on with one id for each word, none of them twice: an id that stands for
// all unknown words makes all prompts the same. The vocabulary keeps all.
func NewVocabulary(head, all []int) (v Vocabulary, ok bool) {
	if len(all)-len(head) != len(words) || !slices.Equal(all[:len(head)], head) {
		return Vocabulary{}, false
	}
	v = Vocabulary{head: all[:len(head)], words: all[len(head):]}
	sorted := slices.Sorted(slices.Values(v.words))
	if len(slices.Compact(sorted)) != len(words) {
		return Vocabulary{}, false
	}
	return v, true
}

// prompt is a prompt of n tokens, more than the head has.
func (v Vocabulary) prompt(n int, seed, nonce uint64) []int {
	written := append(make([]int, 0, n), v.head...)
	for _, at := range shuffled(n-len(v.head), seed, nonce) {
		written = append(written, v.words[at])
	}
	return written
}

// ids says that prompts are written as ids, and what usage said of them.
type ids struct {
	Vocabulary
	held  bool // the usage of an answer agreed
	doubt bool // the last one did not
}

// UseIDs makes the writer of a cold or warm workload write prompts as token ids
// from now on, of exactly the length asked for. If two answers in a row count
// otherwise, or the server refuses two in a row, it goes back to text. Other
// workloads, and lengths that the head alone fills, stay text.
func (w *Writer) UseIDs(v Vocabulary) {
	if o := w.options; o.Workload != Cold && o.Workload != Warm || o.Tokens <= len(v.head) || len(v.words) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids = &ids{Vocabulary: v}
}

// writeIDs writes a prompt as ids, if that is how they are written.
func (w *Writer) writeIDs(nonce uint64) (p Prompt, ok bool) {
	w.mu.Lock()
	if w.ids == nil {
		w.mu.Unlock()
		return Prompt{}, false
	}
	v, held := w.ids.Vocabulary, w.ids.held
	w.mu.Unlock()

	n := w.options.Tokens
	p = Prompt{Words: n, Asked: n, Size: Size{ids: true}, Tokens: n, Settled: true, Held: held}
	seed := w.options.Seed
	if w.options.Workload == Warm {
		seed, nonce = 0, 0
	} else {
		p.Salt, p.Fresh = salt(seed, nonce), unshared(n-len(v.head))
	}
	p.IDs = v.prompt(n, seed, nonce)
	return p, true
}

// judgeIDs takes whether a server counted ids as it should, if it counted them
// at all. The caller holds the lock.
func (w *Writer) judgeIDs(right, counted bool) {
	switch {
	case w.ids == nil || !counted:
	case right:
		w.ids.held, w.ids.doubt = true, false
	case w.ids.doubt:
		w.ids = nil
	default:
		w.ids.doubt = true
	}
}
