package prompt

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// A Writer writes the prompts of one group of targets. It is safe for concurrent use.
//
// Prompts of a size are made of the same words, only their order differs. Tokenizers split text at white space before
// anything else, so they all count the same, and an exact size stays exact.
type Writer struct {
	options Options
	author  author
	ahead   int // shapes that are calibrated before the first round

	mu     sync.Mutex           // guards all below
	known  map[int]*calibration // by shape
	latest observation          // the latest result
}

// NewWriter returns a writer of prompts. Options must have been validated.
func NewWriter(o Options) *Writer {
	w := &Writer{options: o, ahead: 1, known: map[int]*calibration{}}
	switch o.Workload {
	case Sessions:
		w.author, w.ahead = sessions{o}, o.Rounds
	case Book:
		w.author = book{o}
	case Dataset:
		w.author, w.ahead = dataset(o.Dataset), 0
	case Canary:
		w.author = canary{list{o}}
	default:
		w.author = list{o}
	}
	return w
}

// Prompt writes the prompt of a round. The same round gives the same text as long as the sizes do not change.
func (w *Writer) Prompt(round uint64) Prompt {
	return w.write(w.author.place(round))
}

func (w *Writer) write(shape int, nonce uint64) Prompt {
	p, history := w.outline(shape)
	w.author.write(&p, nonce, history)
	if p.Words = p.words(); p.Salt != "" && p.Session == "" {
		p.Fresh = unshared(p.Words - fields(head))
	}
	return p
}

// outline returns a prompt of a shape but for its text, and the sizes to write that with.
func (w *Writer) outline(shape int) (p Prompt, history []observation) {
	w.mu.Lock()
	defer w.mu.Unlock() // after a panic, too: who recovers from it writes the next prompt
	first := shape
	if w.options.Workload == Sessions { // a prompt begins with those of the rounds before it
		first = 0
	}
	var c *calibration
	p.Calibrated = true
	for i := first; i <= shape; i++ {
		if c = w.known[i]; c == nil { // it starts from the rounds before it, or where there are none from the latest of any shape
			before := history
			if before == nil {
				before = []observation{w.latest}
			}
			terms := w.author.begin(i, before)
			c = &calibration{terms: terms, done: terms.want == 0}
			w.known[i] = c
		}
		next := c.next()
		p.Size = Size{shape: i, size: next.size}
		if p.Calibrated && c.want > 0 {
			p.Size.learner = c
		}
		history, p.Calibrated = append(history, next), p.Calibrated && c.done
	}
	p.Asked, p.Tokens = c.want, c.want
	if c.done && !c.truncated {
		p.Tokens = c.best.tokens
	}
	p.Confirmed = p.Calibrated && (c.truncated || c.confirmed)
	return p, history
}

// Learn takes the tokens that an answer's usage counted for a prompt of a size; 0 if the server did not count.
func (w *Writer) Learn(s Size, tokens int) {
	w.change(s, func(c *calibration) {
		c.observe(s.size, tokens)
		c.confirmed = c.confirmed || c.done && !c.truncated && c.best == observation{s.size, tokens}
	})
}

// Refuse takes that the server rejected a prompt of a size.
func (w *Writer) Refuse(s Size) {
	w.change(s, func(c *calibration) { c.refuse(s.size) })
}

// change changes the calibration of a prompt of a size, if still in use. Rounds after a session's changed one start again.
func (w *Writer) change(s Size, by func(*calibration)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := s.learner
	if c == nil || c != w.known[s.shape] {
		return
	}
	size, done := c.best.size, c.done
	by(c)
	if c.done {
		w.latest = c.best
	}
	if w.options.Workload == Sessions && (done != c.done || done && size != c.best.size) {
		maps.DeleteFunc(w.known, func(shape int, _ *calibration) bool { return shape > s.shape })
	}
}

// trial is the nonce of prompts that are only counted.
const trial = ^uint64(0)

// Calibrate asks count for the tokens of prompts until the length of a round's prompt is exact, or as near as it gets: for
// sessions that of all rounds. A tokenizer may count otherwise than usage does, so this alone confirms no length. The prompts
// that it has counted are never asked: a server may cache what it counts. The error is count's.
func (w *Writer) Calibrate(round uint64, count func(Prompt) (int, error)) error {
	shape, _ := w.author.place(round)
	last := shape
	if w.options.Workload == Sessions {
		shape, last = 0, w.ahead-1
	}
	for ; shape <= last; shape++ {
		for range 2 * (attempts + padTries) { // answers that come in meanwhile may make it begin anew
			p := w.write(shape, trial)
			if p.Calibrated {
				break
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
	}
	return nil
}

// Off is by how many tokens prompts differ from what was asked, those that differ most; known is false during calibration.
func (w *Writer) Off() (tokens int, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	calibrated := 0
	for _, shape := range slices.Sorted(maps.Keys(w.known)) {
		c := w.known[shape]
		if !c.done {
			continue
		}
		calibrated++
		if by := c.best.tokens - c.want; distance(by, 0) > distance(tokens, 0) {
			tokens = by
		}
	}
	return tokens, calibrated >= w.ahead
}
