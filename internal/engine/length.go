package engine

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/prompt"
)

// A Means is what told the length of the prompts.
type Means string

// The means, best first.
const (
	ByTokenizer Means = "tokenizer" // a route of the server that counts tokens
	ByUsage     Means = "usage"     // the usage of short answers to requests that are recorded nowhere
	ByEstimate  Means = "estimate"  // nothing: a token a word
)

// A length is what made the prompts of a job as long as asked, or keeps them from it. It is safe for concurrent use.
type length struct {
	mu         sync.Mutex
	means      Means        // empty: they are not yet
	by         int          // the member whose count it was
	requests   int          // what that took, beside the tokenizer's
	distrusted map[int]bool // members whose answers count otherwise than their tokenizer
	uncounted  map[int]bool // members that count nothing
	busy       map[int]bool // members that are being asked

	// What the usage of members told of prompts before a calibration broke off. The next one goes on from there: a quota
	// of tokens a minute, or a day, may be less than a whole one takes.
	told map[telling]int

	unknown time.Time // since when slots are skipped although no request failed; zero: none is
	warned  bool      // that it lasts
	vain    int       // attempts in which a tokenizer failed
	why     error     // the length is not known; nil: no attempt has ended
}

// A telling is a member and a prompt that it counted.
type telling struct {
	member int
	size   prompt.Size
}

func newLength() *length {
	return &length{
		distrusted: map[int]bool{}, uncounted: map[int]bool{}, busy: map[int]bool{}, told: map[telling]int{},
	}
}

// has reports whether a member is in one of the sets of l.
func (l *length) has(set map[int]bool, member int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return set[member]
}

// begin reports whether nobody else asks the member already, and marks it as asked until end.
func (l *length) begin(member int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	busy := l.busy[member]
	l.busy[member] = true
	return !busy
}

// end notes that the member is no longer asked.
func (l *length) end(member int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.busy, member)
}

// judge is the member by whose count the prompts are exact.
func (l *length) judge() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by
}

// found notes what made the prompts as long as they are.
func (l *length) found(by int, means Means, requests int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if means == ByEstimate {
		l.uncounted[by] = true
		if l.means != "" && l.means != ByEstimate {
			return
		}
	}
	l.by, l.means, l.requests = by, means, requests
	l.unknown, l.warned, l.vain, l.why = time.Time{}, false, 0, nil
	clear(l.told)
}

// failed notes why an attempt came to nothing: a request failed, which is recorded and logged as that of a probe.
func (l *length) failed(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unknown, l.warned, l.why = time.Time{}, false, why
}

// waits notes why a slot is skipped although no request failed. It reports whether it is the first in a row, and
// whether they are skipped for longer than patience, for the first time.
func (l *length) waits(why error, patience time.Duration) (first, lasts bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = l.unknown.IsZero()
	if first {
		l.unknown = time.Now()
	}
	l.why = why
	lasts = !l.warned && time.Since(l.unknown) > patience
	l.warned = l.warned || lasts
	return first, lasts
}

// inVain counts an attempt in which a tokenizer failed, where the usage does not tell either, and reports whether
// there were enough of them.
func (l *length) inVain() (enough bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.vain++
	return l.vain >= vainAttempts
}

// remember notes what the usage of a member told of a prompt that is only counted.
func (l *length) remember(member int, size prompt.Size, tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told[telling{member, size}] = tokens
}

// remembered is what the usage of a member told of such a prompt; false if it was not asked.
func (l *length) remembered(member int, size prompt.Size) (tokens int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tokens, ok = l.told[telling{member, size}]
	return tokens, ok
}

// fitted notes and logs what made the prompts as long as they are.
func (j *Job) fitted(i int, means Means, requests int) {
	j.length.found(i, means, requests)
	log := j.log.With(zap.String("target", j.Targets[i].Name))
	if means == ByEstimate {
		log.Warn("the server does not count the tokens of prompts: they are as long as asked by an " +
			"estimate, of a token a word")
		return
	}
	off, _ := j.Off()
	log.Info("the length of the prompts is known",
		zap.String("known_by", string(means)), zap.Int("calibration_requests", requests), zap.Int("tokens_off", off))
}

// waits notes and logs that the length of the prompts is not known although no request failed.
func (j *Job) waits(i int, why error) {
	first, lasts := j.length.waits(why, longWait*j.Plan.Interval)
	log := j.log.With(zap.String("target", j.Targets[i].Name), zap.Error(why))
	switch {
	case lasts:
		log.Warn("slots are still skipped: the length of the prompts is not known yet")
	case first:
		log.Info("slots are skipped until the length of the prompts is known")
	}
}

// doubt notes and logs that answers count the prompts otherwise than was found out: they are to be calibrated again.
func (j *Job) doubt(tokens, asked int) {
	j.length.mu.Lock()
	by, means := j.length.by, j.length.means
	switch means {
	case ByTokenizer:
		j.length.distrusted[by] = true
	case ByEstimate:
		delete(j.length.uncounted, by)
	}
	clear(j.length.told)
	j.length.mu.Unlock()
	j.log.Info("the server counts another length of the prompts than expected: they are calibrated again",
		zap.String("target", j.Targets[by].Name), zap.Int("counted", tokens), zap.Int("asked", asked),
		zap.String("before_by", string(means)))
}
