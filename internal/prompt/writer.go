package prompt

import (
	"fmt"
	"sync"
)

// A Writer writes the prompts of one group of targets. It is safe for concurrent use.
//
// A prompt of a given size is always made of the same words; only their order differs. Tokenizers split
// text at white space before anything else, so every prompt of that size counts the same, and an exact size
// stays exact.
type Writer struct {
	options Options
	author  author

	mu           sync.Mutex // guards all below
	calibrations *calibrations
	ids          ids
}

// NewWriter returns a writer of prompts. Options must have been validated.
func NewWriter(o Options) *Writer {
	author := newAuthor(o)
	return &Writer{options: o, author: author, calibrations: &calibrations{
		author: author, chained: o.Workload == Sessions, known: map[int]*calibration{},
	}}
}

// Prompt writes the prompt of a round. The same round gives the same text as long as the sizes do not change.
func (w *Writer) Prompt(round uint64) Prompt {
	return w.write(w.author.place(round))
}

func (w *Writer) write(shape int, nonce uint64) Prompt {
	known, history, ids := w.known(shape)
	if ids.words != nil {
		return w.writeIDs(ids, nonce)
	}
	p := w.author.write(shape, nonce, history)
	if p.Words = p.words(); p.Salt != "" && p.Session == "" {
		p.Fresh = unshared(p.Words - fields(head))
	}
	p.Asked, p.Size = known.Asked, known.Size
	p.Tokens, p.Calibrated, p.Confirmed = known.Tokens, known.Calibrated, known.Confirmed
	return p
}

// known is a prompt of a shape but for its text, and the sizes or the ids to write that with.
func (w *Writer) known(shape int) (p Prompt, history []observation, ids ids) {
	w.mu.Lock()
	defer w.mu.Unlock() // after a panic, too: who recovers from it writes the next prompt
	c := w.calibrations.at(shape)
	history, calibrated := w.calibrations.history(shape)
	return Prompt{
		Asked: c.want, Size: Size{shape: shape, version: c.version, size: history[len(history)-1].size},
		Tokens: c.tokens(), Calibrated: calibrated, Confirmed: calibrated && (c.truncated || c.confirmed),
	}, history, w.ids
}

// Learn takes the tokens that an answer's usage counted for a prompt of a size; 0 if the server did not count.
func (w *Writer) Learn(s Size, tokens int) {
	if s.ids {
		if tokens > 0 {
			w.judgeIDs(tokens == w.options.Tokens)
		}
		return
	}
	w.change(s, func(c *calibration) {
		c.observe(s.size, tokens)
		c.confirm(s.size, tokens)
	})
}

// Refuse takes that the server rejected a prompt of a size.
func (w *Writer) Refuse(s Size) {
	if s.ids {
		w.judgeIDs(false)
		return
	}
	w.change(s, func(c *calibration) { c.refuse(s.size) })
}

func (w *Writer) change(s Size, by func(*calibration)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calibrations.change(s, by)
}

// Calibrate asks count for the tokens of prompts until their length is exact, or as near as it gets: for
// sessions that of all rounds, for a book that of its first passage. A tokenizer may count otherwise than usage
// does, so this alone confirms no length. Calibrate returns count's error, and then has learned nothing wrong.
//
// The prompts that it has counted are never asked, so that a server which caches what it counts has nothing
// of those that are.
func (w *Writer) Calibrate(count func(Prompt) (int, error)) error {
	for shape := range w.shapes() {
		if err := w.calibrate(shape, count); err != nil {
			return err
		}
	}
	return nil
}

// shapes is how many shapes are calibrated in advance.
func (w *Writer) shapes() int {
	if w.options.Workload == Sessions {
		return w.options.Rounds
	}
	return 1
}

// CalibrateRound is [Writer.Calibrate] for the prompt of one round, as a book needs it before each passage.
// It counts nothing if the length is known.
func (w *Writer) CalibrateRound(round uint64, count func(Prompt) (int, error)) error {
	shape, _ := w.author.place(round)
	return w.calibrate(shape, count)
}

// trial is the nonce of prompts that are only counted.
const trial = ^uint64(0)

func (w *Writer) calibrate(shape int, count func(Prompt) (int, error)) error {
	for range 2 * (attempts + padTries) { // answers that come in meanwhile may make it begin anew
		p := w.write(shape, trial)
		if p.Calibrated {
			return nil
		}
		tokens, err := count(p)
		if err != nil {
			return err
		}
		if tokens <= 0 {
			return fmt.Errorf("calibrate prompt: the server counts %d tokens", tokens)
		}
		w.change(p.Size, func(c *calibration) { c.observe(p.Size.size, tokens) })
	}
	return nil
}

// Off is by how many tokens prompts differ from what was asked, those that differ most; known is false
// during calibration. Of a book, calibrated passages count.
func (w *Writer) Off() (tokens int, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ids.words != nil {
		return 0, true
	}
	return w.calibrations.off(w.shapes())
}
