package length

import (
	"fmt"
	"runtime/debug"
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

// survive makes an event of a panic of the prober, so that everything else goes on. It is deferred by what is done for
// member i.
func (q *Questions) survive(i int, doing string) {
	p := recover()
	if p != nil {
		q.Events(Event{Kind: EventPanic, Member: i, Doing: doing, Err: fmt.Errorf("%v", p), Stack: debug.Stack()})
	}
}
