package prompt

import (
	"fmt"
	"sync"
)

// A Writer writes the prompts of one group of targets. It is safe for concurrent
// use.
//
// A prompt of a given size is always made of the same words; only their order
// differs. Tokenizers split text at white space before anything else, so every
// prompt of that size counts the same, and an exact size stays exact.
type Writer struct {
	options Options
	author  author

	mu   sync.Mutex
	fits *fits
	ids  *ids // nil: prompts are text
}

// NewWriter returns a writer of prompts. The options are right: whoever read
// them has judged them.
func NewWriter(o Options) *Writer {
	author := newAuthor(o)
	return &Writer{options: o, author: author, fits: newFits(author, o.Workload == Sessions)}
}

// Prompt writes the prompt of a round. The same round gives the same text as
// long as the sizes do not change.
func (w *Writer) Prompt(round uint64) Prompt {
	return w.write(w.author.place(round))
}

// write writes a prompt of a shape.
func (w *Writer) write(shape int, nonce uint64) Prompt {
	if p, ok := w.writeIDs(nonce); ok {
		return p
	}
	known, history := w.known(shape)
	p := w.author.write(shape, nonce, history)
	if p.Words == 0 {
		p.Words = wordsOf(p)
	}
	p.Asked, p.Size = known.Asked, known.Size
	p.Tokens, p.Settled, p.Held = known.Tokens, known.Settled, known.Held
	return p
}

// known is a prompt of a shape but for its text, and the sizes to write that with.
func (w *Writer) known(shape int) (p Prompt, history []observation) {
	w.mu.Lock()
	defer w.mu.Unlock() // after a panic, too: who recovers from it writes the next prompt
	f := w.fits.at(shape)
	history, settled := w.fits.history(shape)
	return Prompt{
		Asked: f.want, Size: Size{shape: shape, version: f.version, size: history[len(history)-1].size},
		Tokens: f.tokens(), Settled: settled, Held: settled && f.held(),
	}, history
}

// Learn takes the tokens that an answer's usage counted for a prompt of a size.
func (w *Writer) Learn(s Size, tokens int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.ids {
		w.judgeIDs(tokens == w.options.Tokens, tokens > 0)
		return
	}
	w.fits.learn(s, tokens)
	w.fits.confirm(s, tokens)
}

// Refuse takes that the server would not answer a prompt of a size.
func (w *Writer) Refuse(s Size) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.ids {
		w.judgeIDs(false, true)
		return
	}
	w.fits.refuse(s)
}

// Fit asks count for the tokens of prompts until their length is exact, or as
// near as it gets: for sessions that of all rounds, for a book that of its first
// passage. A tokenizer may count otherwise than usage will, so nothing is held
// to it. Fit returns count's error, and then has learnt nothing wrong.
//
// The prompts that it has counted are never asked, so that a server which keeps
// what it counts has nothing of those that are.
func (w *Writer) Fit(count func(Prompt) (int, error)) error {
	last := 0
	if w.options.Workload == Sessions {
		last = w.options.Rounds - 1
	}
	for shape := range last + 1 {
		if err := w.fit(shape, count); err != nil {
			return err
		}
	}
	return nil
}

// FitRound is Fit for the prompt of one round: what a book needs before it comes
// to a passage. It asks nothing if the length is already known.
func (w *Writer) FitRound(round uint64, count func(Prompt) (int, error)) error {
	last, _ := w.author.place(round)
	first := last
	if w.options.Workload == Sessions {
		first = 0
	}
	for shape := first; shape <= last; shape++ {
		if err := w.fit(shape, count); err != nil {
			return err
		}
	}
	return nil
}

// trial is the nonce of prompts that are only counted.
const trial = ^uint64(0)

// fit counts prompts of one shape.
func (w *Writer) fit(shape int, count func(Prompt) (int, error)) error {
	for range 2 * (attempts + padTries) { // answers that come in meanwhile may make it begin anew
		p := w.write(shape, trial)
		if p.Settled {
			return nil
		}
		tokens, err := count(p)
		if err != nil {
			return err
		}
		if tokens <= 0 {
			return fmt.Errorf("fit prompt: the server counts %d tokens", tokens)
		}
		w.learn(p.Size, tokens)
	}
	return nil
}

// learn takes the tokens that a server counted for a prompt that is not asked.
func (w *Writer) learn(s Size, tokens int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fits.learn(s, tokens)
}

// Off is by how many tokens prompts differ from what was asked, those that
// differ most; known is false while that is not settled. Of a book the passages
// that were settled count.
func (w *Writer) Off() (tokens int, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ids != nil {
		return 0, true
	}
	shapes := 1
	if w.options.Workload == Sessions {
		shapes = w.options.Rounds
	}
	return w.fits.off(shapes)
}
