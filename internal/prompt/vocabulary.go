package prompt

import (
	"slices"
	"strings"
)

// A Vocabulary is the ids that a server's tokenizer gives the writer's words. With it, prompts of cold and
// warm are exact by construction.
type Vocabulary struct {
	head  []int
	words []int // of the list, in its order
}

// VocabularyHead is the first text to tokenize: what stands before the words of every prompt.
func VocabularyHead() string { return head }

// VocabularyText is the second: the head and all words of the list in order.
func VocabularyText() string { return head + " " + strings.Join(words, " ") }

// NewVocabulary takes the ids of [VocabularyHead], special tokens included, and of [VocabularyText]. It is
// ok only if the second begins with the first and goes on with one id for each word, none of them twice:
// with one id for all unknown words all prompts would be the same. The vocabulary keeps all.
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

// ids is how prompts are written as token ids, and what usage said of them.
type ids struct {
	Vocabulary

	confirmed    bool // the usage of an answer agreed
	contradicted bool // the last one did not, or there was none
}

// UseIDs makes the writer of a cold or warm workload write prompts as token ids from now on, of exactly the
// length asked for. If two answers in a row count otherwise, or the server rejects two in a row, it goes
// back to text. Other workloads, and lengths that the head alone fills, stay text.
func (w *Writer) UseIDs(v Vocabulary) {
	if o := w.options; o.Workload != Cold && o.Workload != Warm || o.Tokens <= len(v.head) || len(v.words) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids = &ids{Vocabulary: v}
}

// writeIDs writes a prompt as ids; ok is false if prompts are text.
func (w *Writer) writeIDs(nonce uint64) (p Prompt, ok bool) {
	w.mu.Lock()
	if w.ids == nil {
		w.mu.Unlock()
		return Prompt{}, false
	}
	v, confirmed := w.ids.Vocabulary, w.ids.confirmed
	w.mu.Unlock()

	n, seed := w.options.Tokens, w.options.Seed
	p = Prompt{
		Salt: salt(seed, nonce), Fresh: unshared(n - len(v.head)),
		Words: n, Asked: n, Size: Size{ids: true}, Tokens: n, Calibrated: true, Confirmed: confirmed,
	}
	if w.options.Workload == Warm {
		p.Salt, p.Fresh, seed, nonce = "", 0, 0, 0
	}
	p.IDs = append(make([]int, 0, n), v.head...)
	for _, at := range shuffled(n-len(v.head), seed, nonce) {
		p.IDs = append(p.IDs, v.words[at])
	}
	return p, true
}

// judgeIDs takes whether a server accepted ids and counted them as it should.
func (w *Writer) judgeIDs(right bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ids == nil:
	case right:
		w.ids.confirmed, w.ids.contradicted = true, false
	case w.ids.contradicted:
		w.ids = nil
	default:
		w.ids.contradicted = true
	}
}
