// Package prompt writes what is asked: deterministic text that a server counts
// as an exact number of tokens. It knows no server: whoever has one tells a
// [Writer] what it counted.
package prompt

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
)

// A Workload is a way to ask. The set is closed: it is a metric label.
type Workload string

// The workloads.
const (
	Cold Workload = "cold" // every prompt begins with other words, so that no prefix cache can serve it
	Warm Workload = "warm" // the same prompt each time
)

// Workloads returns every workload.
func Workloads() []Workload { return []Workload{Cold, Warm} }

// tail asks for an answer that has no natural end, for servers that cannot be
// told to ignore one.
const tail = "\n\nCount upwards from one in English words, separated by single spaces, and do not stop."

// overhead is a first guess of the tokens beside the words: the tail and a chat
// template.
const overhead = 40

// A Writer writes the prompts of one group of targets. It is safe for concurrent
// use.
//
// A prompt of a given size is always made of the same words; only their order
// differs. Tokenizers split text at white space before anything else, so every
// prompt of that size counts the same, and an exact size stays exact.
type Writer struct {
	workload Workload
	seed     uint64

	mu  sync.Mutex
	fit fit
}

// A Prompt is one text, and how long it should be.
type Prompt struct {
	Text string
	Salt string // differs whenever the text does; keeps cold prompts apart in caches that take a salt; empty for warm ones
	Size Size   // tell it to [Writer.Learn] with the tokens that the server counted

	// Tokens is what the server should count: what it counted for this size
	// before, or what was asked if it does not count all that it is sent.
	// Settled is false while that is still being found out. Held is true once
	// the usage of an answer has confirmed it: then another count is wrong.
	Tokens        int
	Settled, Held bool
}

// A Size is the writer's own measure of a prompt. It means nothing to others.
type Size struct{ size size }

// NewWriter returns a writer of prompts of so many tokens. Seed makes cold
// prompts differ from those of other runs; warm prompts do not depend on it.
func NewWriter(w Workload, tokens int, seed uint64) *Writer {
	if w == Warm {
		seed = 0
	}
	return &Writer{workload: w, seed: seed, fit: newFit(tokens)}
}

// Prompt writes the prompt of a round. The same round gives the same text as
// long as the size does not change.
func (w *Writer) Prompt(round uint64) Prompt {
	w.mu.Lock()
	s, want, settled := w.fit.next()
	held := w.fit.held()
	w.mu.Unlock()
	if w.workload == Warm {
		round = 0
	}
	p := Prompt{Text: text(w.seed, round, s), Size: Size{s}, Tokens: want, Settled: settled, Held: held}
	if w.workload == Cold {
		p.Salt = fmt.Sprintf("prober-%016x-%x", w.seed, round)
	}
	return p
}

// Learn takes the tokens that an answer's usage counted for a prompt of a size.
func (w *Writer) Learn(s Size, tokens int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fit.observe(s.size, tokens)
	w.fit.confirm(s.size, tokens)
}

// Refuse takes that the server would not answer a prompt of a size.
func (w *Writer) Refuse(s Size) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fit.refuse(s.size)
}

// Fit asks count for the tokens of prompts until their length is exact, or as
// near as it gets. A tokenizer may count otherwise than usage will, so nothing
// is held to it. Fit returns count's error, and then has learnt nothing wrong.
func (w *Writer) Fit(count func(text string) (int, error)) error {
	for {
		p := w.Prompt(0)
		if p.Settled {
			return nil
		}
		tokens, err := count(p.Text)
		if err != nil {
			return err
		}
		w.mu.Lock()
		w.fit.observe(p.Size.size, tokens)
		w.mu.Unlock()
	}
}

// Off is by how many tokens prompts differ from what was asked; known is false
// while that is not settled.
func (w *Writer) Off() (tokens int, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fit.off()
}

// head comes before the words, so that each of them has a space before it and
// costs the same at every place.
const head = "Words:"

// pad is a word that costs as little as a word can.
const pad = " a"

// text writes the words of a prompt in an order of their own, from the first
// word on: a prefix cache compares the first blocks first.
func text(seed, round uint64, s size) string {
	order := rand.New(rand.NewPCG(seed, round)).Perm(s.words)
	var b strings.Builder
	b.Grow(len(head) + s.words*7 + s.pads*len(pad) + len(tail))
	b.WriteString(head)
	for _, at := range order {
		b.WriteByte(' ')
		b.WriteString(words[at%len(words)])
	}
	for range s.pads {
		b.WriteString(pad)
	}
	b.WriteString(tail)
	return b.String()
}
