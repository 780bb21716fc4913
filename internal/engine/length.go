package engine

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/prompt"
)

// A Means is how the length of the prompts was found out.
type Means string

// The means, best first.
const (
	ByTokenizer Means = "tokenizer" // a route of the server that counts tokens
	ByUsage     Means = "usage"     // the usage of short answers to requests that are recorded nowhere
	ByEstimate  Means = "estimate"  // not at all: a token a word
)

// A length is what is known about the length of a job's prompts: what made them as long as configured, or why they are
// not. Members are numbers of [Job.Members]. It is safe for concurrent use.
type length struct {
	mu         sync.Mutex
	means      Means        // empty: they are not as long as configured yet
	by         int          // the member whose count it was
	requests   int          // requests with short answers that it took
	distrusted map[int]bool // members whose answers count otherwise than their tokenizer
	uncounted  map[int]bool // members that count nothing
	busy       map[int]bool // members that are being asked

	// Counts by the usage of members, from a calibration that broke off. The next one goes on from there: a quota of
	// tokens a minute or a day may be less than a whole calibration takes.
	counts map[countedBy]int

	unknown time.Time // since when slots are skipped although no request failed; zero: none is
	warned  bool      // it was logged that slots are still skipped
	vain    int       // attempts in which a tokenizer failed
	why     error     // why the length is not known; nil: no attempt has ended
}

// A countedBy is a member and the size of a prompt that it counted.
type countedBy struct {
	member int
	size   prompt.Size
}

// newLength returns what is known at first: nothing.
func newLength() *length {
	return &length{
		distrusted: map[int]bool{},
		uncounted:  map[int]bool{},
		busy:       map[int]bool{},
		counts:     map[countedBy]int{},
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

// judge returns the member by whose count the prompts are exact.
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
	clear(l.counts)
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

// remember notes how many tokens a member counted, by its usage, in a prompt that was sent for that alone.
func (l *length) remember(member int, size prompt.Size, tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[countedBy{member, size}] = tokens
}

// remembered returns what [length.remember] noted; ok is false if it noted nothing.
func (l *length) remembered(member int, size prompt.Size) (tokens int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tokens, ok = l.counts[countedBy{member, size}]
	return tokens, ok
}

// fitted notes and logs what made the prompts as long as they are: the count of member i, after so many requests.
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

// doubt notes and logs that an answer counts its prompt otherwise than expected: prompts are calibrated again.
func (j *Job) doubt(tokens, asked int) {
	j.length.mu.Lock()
	by, means := j.length.by, j.length.means
	switch means {
	case ByTokenizer:
		j.length.distrusted[by] = true
	case ByEstimate:
		delete(j.length.uncounted, by)
	}
	clear(j.length.counts)
	j.length.mu.Unlock()
	j.log.Info("the server counts another length of the prompts than expected: they are calibrated again",
		zap.String("target", j.Targets[by].Name), zap.Int("counted", tokens), zap.Int("asked", asked),
		zap.String("before_by", string(means)))
}
