package engine

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/prompt"
)

// A CountMethod is how the tokens of prompts are counted, so that these are as long as configured.
type CountMethod string

// The methods, best first.
const (
	ByTokenizer CountMethod = "tokenizer" // a route of the server that counts tokens
	ByUsage     CountMethod = "usage"     // the usage of short answers to requests that are recorded nowhere
	ByEstimate  CountMethod = "estimate"  // nobody counts them: one token per word is assumed
)

// A length is what is known about the length of a job's prompts: what made them as long as configured, or why they are
// not. Members are indexes of [Job.Members]. It is safe for concurrent use.
type length struct {
	mu         sync.Mutex
	method     CountMethod  // empty as long as the prompts are not as long as configured
	by         int          // the member that counted
	requests   int          // requests with short answers that it took
	distrusted map[int]bool // members whose answers contradict their tokenizer
	uncounted  map[int]bool // members that count nothing
	busy       map[int]bool // members that are being asked

	// trials are the tokens that members counted, by their usage, in a calibration that broke off. The next one goes on
	// from there, because a quota of tokens per minute or day may be less than a whole calibration takes.
	trials map[trial]int

	skippedSince time.Time // since when slots are skipped although no request failed; zero if none is skipped
	warned       bool      // it was logged that slots are still skipped
	vainAttempts int       // attempts in which a tokenizer failed
	why          error     // why the length is not known; nil before the end of the first attempt
}

// A trial is a prompt of a size that a member counted.
type trial struct {
	member int
	size   prompt.Size
}

// newLength returns a length of which nothing is known.
func newLength() *length {
	return &length{
		distrusted: map[int]bool{},
		uncounted:  map[int]bool{},
		busy:       map[int]bool{},
		trials:     map[trial]int{},
	}
}

// has reports whether a member is in one of the sets of l.
func (l *length) has(set map[int]bool, member int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return set[member]
}

// begin marks a member as being asked, until end. It reports whether the member was not being asked already.
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

// setMethod notes how a member counted. An estimate does not replace a count.
func (l *length) setMethod(by int, method CountMethod, requests int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if method == ByEstimate {
		l.uncounted[by] = true
		if l.method != "" && l.method != ByEstimate {
			return
		}
	}
	l.by, l.method, l.requests = by, method, requests
	l.stopWaiting()
	l.vainAttempts = 0
	l.why = nil
	clear(l.trials)
}

// setFailed notes a request that failed. The request is recorded and logged as a probe, so the slot is not skipped.
func (l *length) setFailed(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopWaiting()
	l.why = why
}

// stopWaiting ends a row of skipped slots. The lock is held.
func (l *length) stopWaiting() {
	l.skippedSince = time.Time{}
	l.warned = false
}

// setSkipped notes why a slot is skipped although no request failed. It reports whether the slot is the first of a row,
// and whether it is the first that is skipped after more than patience.
func (l *length) setSkipped(why error, patience time.Duration) (first, lasts bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = l.skippedSince.IsZero()
	if first {
		l.skippedSince = time.Now()
	}
	l.why = why
	lasts = !l.warned && time.Since(l.skippedSince) > patience
	l.warned = l.warned || lasts
	return first, lasts
}

// failedTooOften notes that a tokenizer failed while answers reported no usage. It reports whether that has happened so
// often that the length is to be estimated.
func (l *length) failedTooOften() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.vainAttempts++
	return l.vainAttempts >= vainAttempts
}

// remember notes how many tokens a member counted in a prompt that was sent only to be counted.
func (l *length) remember(member int, size prompt.Size, tokens int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trials[trial{member, size}] = tokens
}

// remembered returns what [length.remember] noted; ok is false if it noted nothing.
func (l *length) remembered(member int, size prompt.Size) (tokens int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	tokens, ok = l.trials[trial{member, size}]
	return tokens, ok
}

// noteFitted notes and logs how member i counted the prompts, and how many requests that took.
func (j *Job) noteFitted(i int, method CountMethod, requests int) {
	j.length.setMethod(i, method, requests)
	log := j.log.With(zap.String("target", j.Targets[i].Name))
	if method == ByEstimate {
		log.Warn("the server does not count the tokens of prompts: their length is estimated, at one token per word")
		return
	}
	off, _ := j.Off()
	log.Info("the length of the prompts is known",
		zap.String("known_by", string(method)), zap.Int("calibration_requests", requests), zap.Int("tokens_off", off))
}

// noteSkipped notes and logs that a slot is skipped because the length of the prompts is not known.
func (j *Job) noteSkipped(i int, why error) {
	first, lasts := j.length.setSkipped(why, longWait*j.Plan.Interval)
	log := j.log.With(zap.String("target", j.Targets[i].Name), zap.Error(why))
	switch {
	case lasts:
		log.Warn("slots are still skipped: the length of the prompts is not known yet")
	case first:
		log.Info("slots are skipped until the length of the prompts is known")
	}
}

// noteContradiction notes and logs that an answer counted its prompt otherwise than expected, so that the prompts are
// calibrated again.
func (j *Job) noteContradiction(tokens, asked int) {
	j.length.mu.Lock()
	by, method := j.length.by, j.length.method
	switch method {
	case ByTokenizer:
		j.length.distrusted[by] = true
	case ByEstimate:
		delete(j.length.uncounted, by)
	}
	clear(j.length.trials)
	j.length.mu.Unlock()
	j.log.Info("the server counts the prompts otherwise than expected: they are calibrated again",
		zap.String("target", j.Targets[by].Name), zap.Int("counted", tokens), zap.Int("asked", asked),
		zap.String("before_by", string(method)))
}
