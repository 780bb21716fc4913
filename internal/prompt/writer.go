package prompt

import (
	"errors"
	"maps"
	"slices"
	"sync"
)

// ErrUncounted is returned by [Writer.Calibrate] for a server that does not count the tokens of prompts, or counts
// something else.
var ErrUncounted = errors.New("the server does not count the tokens of prompts")

// A Writer writes the prompts of one group of targets. It is safe for concurrent use.
//
// Prompts of a size are made of the same words, only their order differs. Tokenizers split text at white space before
// anything else, so they all count the same, and an exact size stays exact. Prompts that are to have the same length
// are of one shape: all prompts of a workload or, of sessions, those of the same round.
type Writer struct {
	options  Options
	workload workload

	mu      sync.Mutex      // guards all below
	lengths map[int]*length // by shape; a shape that nobody counted has none
	trials  uint64          // prompts that were only counted
}

// A length is what is known about how long the prompts of a shape are.
type length struct {
	asked     int         // tokens
	found     observation // its size, and what that counts; no tokens where it is an estimate
	truncated bool        // the server does not count all that it is sent
	estimated bool        // nobody counted it: one token per word is assumed
	confirmed bool        // an answer's usage agreed
	doubted   bool        // the latest answer's usage did not
}

// NewWriter returns a writer of prompts. Options must have been validated.
func NewWriter(o Options) *Writer {
	w := &Writer{options: o, lengths: map[int]*length{}}
	switch o.Workload {
	case Sessions:
		w.workload = sessions{o}
	case Dataset:
		w.workload = dataset(o.Dataset)
	case Canary:
		w.workload = canary{list{o}}
	default:
		w.workload = list{o}
	}
	return w
}

// Prompt writes the prompt of a round. The text is the same each time, until a calibration changes its size. As long as
// nobody has counted the prompt, its length is an estimate, and Calibrated is false.
func (w *Writer) Prompt(round uint64) Prompt {
	shape, nonce := w.workload.slot(round)
	p, history := w.outline(shape)
	return w.write(p, nonce, history)
}

// write writes the text of an outlined prompt.
func (w *Writer) write(p Prompt, nonce uint64, history []observation) Prompt {
	w.workload.render(&p, nonce, history)
	p.Words = p.words()
	if p.Salt != "" && p.Session == "" {
		p.Fresh = unshared(p.Words - countFields(listHead))
	}
	return p
}

// firstShape returns the shape of the earliest round that a prompt of a shape repeats: 0 in sessions, whose prompts
// repeat all rounds before them, otherwise the shape itself.
func (w *Writer) firstShape(shape int) int {
	if w.options.Workload == Sessions {
		return 0
	}
	return shape
}

// outline returns what is known about a prompt of a shape before its text is written, and the sizes for the text.
func (w *Writer) outline(shape int) (p Prompt, history []observation) {
	w.mu.Lock()
	defer w.mu.Unlock() // also after a panic: the caller may recover and ask for the next prompt
	p.Calibrated = true
	for i := w.firstShape(shape); i <= shape; i++ {
		l := w.lengths[i]
		if l == nil {
			l = w.estimate(i, history)
		}
		history = append(history, l.found)
		p.Calibrated = p.Calibrated && !l.estimated
		p.Asked, p.Truncated = l.asked, l.truncated
		p.Tokens = l.found.tokens
		if l.truncated {
			p.Tokens = l.asked
		}
		p.Confirmed = p.Calibrated && (l.confirmed || l.truncated)
		p.Size = Size{shape: i, length: l}
	}
	return p, history
}

// estimate returns the length of a shape that nobody counted.
func (w *Writer) estimate(shape int, history []observation) *length {
	start := w.workload.start(shape, history)
	words := max(start.first, start.whole)
	return &length{asked: start.want, found: observation{size: size{words: words}}, estimated: start.want > 0}
}

// Learn takes the tokens that an answer's usage counted for a prompt of a size; 0 if the server did not count. It
// reports whether the length must be calibrated again: because the usage contradicts the tokenizer, or because two
// answers in a row contradict the usage before them. A count that is far too small counts something else; it is
// ignored.
func (w *Writer) Learn(s Size, tokens int) (again bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := s.length
	if l == nil || l.asked == 0 || tokens <= l.found.size.words/maxWordsPerToken {
		return false
	}
	if w.lengths[s.shape] != l { // the shape was calibrated after the prompt was written
		return false
	}
	switch {
	case l.agrees(tokens):
		l.confirmed, l.doubted = true, false
		return false
	case l.confirmed && !l.doubted:
		l.doubted = true
		return false
	}
	w.forget(s.shape)
	return true
}

// agrees reports whether a server that counts so many tokens still counts as it did when the length was found.
func (l *length) agrees(tokens int) bool {
	if l.truncated {
		return tokens < l.asked
	}
	return tokens == l.found.tokens
}

// forget makes the length of a shape unknown, and in sessions the lengths of later rounds, whose prompts repeat it. The
// lock is held.
func (w *Writer) forget(shape int) {
	delete(w.lengths, shape)
	if w.options.Workload == Sessions {
		maps.DeleteFunc(w.lengths, func(later int, _ *length) bool { return later > shape })
	}
}

// firstTrialNonce is the nonce of the first prompt that is only counted. The nonces of further ones go down, and never
// reach those of rounds, which go up from 0.
const firstTrialNonce = ^uint64(0)

// Calibrate asks count for the tokens of prompts until the length of a round's prompt is exact, or as near as it can
// be. In sessions it does so for the rounds before as well. The prompts that were counted are never asked, because a
// server may cache what it counts. byUsage says that count is the usage of an answer, which confirms the length: a
// tokenizer may count differently.
//
// The error is that of count, or [ErrUncounted] if a count is 0 or far too small. A calibration that fails changes
// nothing. Several may run at the same time; the first to end decides.
func (w *Writer) Calibrate(round uint64, byUsage bool, count func(Prompt) (int, error)) error {
	shape, _ := w.workload.slot(round)
	return w.calibrate(w.firstShape(shape), shape, byUsage, count)
}

// CalibrateAll does what [Writer.Calibrate] does for all rounds of a session; of other workloads for the first one.
func (w *Writer) CalibrateAll(byUsage bool, count func(Prompt) (int, error)) error {
	last := 0
	if w.options.Workload == Sessions {
		last = w.options.Rounds - 1
	}
	return w.calibrate(0, last, byUsage, count)
}

// calibrate finds the lengths of the shapes from first to last that nobody has counted.
func (w *Writer) calibrate(first, last int, byUsage bool, count func(Prompt) (int, error)) error {
	for shape := first; shape <= last; shape++ {
		if w.counted(shape) {
			continue
		}
		err := w.calibrateShape(shape, byUsage, count)
		if err != nil {
			return err
		}
	}
	return nil
}

// counted reports whether a server has counted the prompts of a shape. Those of a data set may have any length.
func (w *Writer) counted(shape int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.options.Workload == Dataset {
		return true
	}
	l := w.lengths[shape]
	return l != nil && !l.estimated
}

// calibrateShape finds the length of one shape.
func (w *Writer) calibrateShape(shape int, byUsage bool, count func(Prompt) (int, error)) error {
	before, history := w.lengthsBefore(shape)
	c := &calibration{calibrationStart: w.workload.start(shape, history)}
	for range 2 * (maxWordTries + maxPadTries) {
		if c.done {
			break
		}
		s := c.next()
		tokens, err := count(w.trial(shape, append(slices.Clone(history), observation{size: s})))
		if err != nil {
			return err
		}
		if tokens <= 0 || len(c.counts) == 0 && tokens <= s.words/maxWordsPerToken {
			return ErrUncounted
		}
		c.observe(s, tokens)
	}
	w.keep(shape, before, &length{asked: c.want, found: c.best, truncated: c.truncated, confirmed: byUsage})
	return nil
}

// lengthsBefore returns the lengths and the sizes of the earlier rounds that prompts of a shape repeat.
func (w *Writer) lengthsBefore(shape int) (list []*length, history []observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := w.firstShape(shape); i < shape; i++ {
		l := w.lengths[i]
		if l == nil {
			l = w.estimate(i, history)
		}
		list, history = append(list, l), append(history, l.found)
	}
	return list, history
}

// trial returns a prompt that is only counted. It is unlike every other prompt.
func (w *Writer) trial(shape int, history []observation) Prompt {
	w.mu.Lock()
	nonce := firstTrialNonce - w.trials
	w.trials++
	w.mu.Unlock()
	tried := history[len(history)-1].size
	return w.write(Prompt{Size: Size{shape: shape, trial: tried}}, nonce, history)
}

// keep notes the length that a calibration found, unless another calibration was faster, or the earlier rounds that the
// prompts repeat were calibrated again meanwhile.
func (w *Writer) keep(shape int, before []*length, found *length) {
	w.mu.Lock()
	defer w.mu.Unlock()
	known := w.lengths[shape]
	if known != nil && !known.estimated {
		return
	}
	first := w.firstShape(shape)
	for i, l := range before {
		if w.lengths[first+i] != l {
			return
		}
	}
	w.forget(shape)
	w.lengths[shape] = found
}

// Estimate allows prompts up to that of a round to be asked with an estimated length, where nobody has counted them.
func (w *Writer) Estimate(round uint64) {
	shape, _ := w.workload.slot(round)
	w.mu.Lock()
	defer w.mu.Unlock()
	var history []observation
	for i := w.firstShape(shape); i <= shape; i++ {
		if w.lengths[i] == nil {
			w.lengths[i] = w.estimate(i, history)
		}
		history = append(history, w.lengths[i].found)
	}
}

// Known reports whether a server has counted the prompt of a round, or whether [Writer.Estimate] allowed an estimate.
func (w *Writer) Known(round uint64) (counted, estimated bool) {
	if w.options.Workload == Dataset {
		return true, false
	}
	shape, _ := w.workload.slot(round)
	w.mu.Lock()
	defer w.mu.Unlock()
	counted = true
	for i := w.firstShape(shape); i <= shape; i++ {
		l := w.lengths[i]
		if l == nil {
			return false, false
		}
		counted = counted && !l.estimated
	}
	return counted, !counted
}

// Off returns by how many tokens prompts are longer than asked, for those that differ most; negative: shorter. known is
// false as long as nobody has counted any.
func (w *Writer) Off() (tokens int, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lengths {
		if l.estimated {
			continue
		}
		known = true
		by := l.found.tokens - l.asked
		if distance(by, 0) > distance(tokens, 0) || distance(by, 0) == distance(tokens, 0) && by > tokens {
			tokens = by
		}
	}
	return tokens, known || w.options.Workload == Dataset
}
