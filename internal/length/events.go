package length

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
)

// A Kind is what an [Event] is about.
type Kind string

// The kinds.
const (
	EventKnown         Kind = "known"         // a member has counted, or counts nothing: Method says which
	EventContradiction Kind = "contradiction" // an answer counts the prompt otherwise: the length is unknown again
	EventWait          Kind = "wait"          // a slot is skipped, the first of a row
	EventLongWait      Kind = "long wait"     // slots have been skipped for so long that this is worth a warning
	EventPanic         Kind = "panic"         // the prober itself failed
)

// An Event is something that happened to the length of prompts, for the log.
type Event struct {
	Kind   Kind
	Member int

	Method   Method // known: how it was counted; contradiction: how it had been counted
	Requests int    // known: with short answers, that it took
	Off      int    // known: tokens above those that were asked for

	Tokens, Asked int // contradiction: the tokens of the answer's usage, and those asked for

	Err   error  // wait, long wait: why; panic: what it said
	Doing string // panic: what was being done
	Stack []byte // panic
}

func (q *Questions) noteTrial(i int, size prompt.Size, tokens int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.memberNow(i)
	if m.record.trials == nil {
		m.record.trials = map[prompt.Size]int{}
	}
	m.record.trials[size] = tokens
	q.book.write(m.key, m.record)
}

// noteCount notes what came of a count by member i, unless another one was faster.
func (q *Questions) noteCount(i int, e event, method Method, requests int, found finding) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.memberNow(i)
	if !m.record.state.Exact() {
		m.record.state = m.record.state.after(e)
		m.record.method = method
		m.record.requests = requests
		m.record.found = found
		m.failures = 0
		m.record.trials = nil
		q.book.write(m.key, m.record)
	}
	_, isExact := q.countedBy()
	if method != ByEstimate || !isExact {
		q.by = i
		q.failure = nil
		q.endWaiting()
	}
	off := found.tokens - q.Prompts.Tokens
	q.Events(Event{Kind: EventKnown, Member: i, Method: method, Requests: requests, Off: off})
}

// noteFailed notes a request that failed, and returns it. It is recorded and logged as a probe, so the slot is not
// skipped.
func (q *Questions) noteFailed(r *probe.Result) *probe.Result {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r.Outcome != probe.Canceled {
		q.failure = requestError{r}
		q.endWaiting()
	}
	return r
}

// noteSkipped notes that a slot of member i is skipped although no request failed. The first of a row is an event, and
// the first after longWait.
func (q *Questions) noteSkipped(i int, why error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failure = why
	isFirst := q.skippedSince.IsZero()
	if isFirst {
		q.skippedSince = time.Now()
	}
	isLong := time.Since(q.skippedSince) > longWait*q.Every
	switch {
	case isLong && !q.warned:
		q.warned = true
		q.Events(Event{Kind: EventLongWait, Member: i, Err: why})
	case isFirst:
		q.Events(Event{Kind: EventWait, Member: i, Err: why})
	}
}

// endWaiting ends a row of skipped slots. The lock is held.
func (q *Questions) endWaiting() {
	q.skippedSince = time.Time{}
	q.warned = false
}

// survive makes an event of a panic of the prober, so that everything else goes on. It is deferred.
func (q *Questions) survive(doing string) {
	p := recover()
	if p != nil {
		q.Events(Event{Kind: EventPanic, Doing: doing, Err: fmt.Errorf("%v", p), Stack: debug.Stack()})
	}
}
