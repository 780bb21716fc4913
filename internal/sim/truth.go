package sim

import (
	"slices"
	"sync"
	"time"
)

// What the sentLog keeps at most.
const (
	keptAnswers = 1000
	keptFrames  = 1 << 20
)

// Sent is the truth about one streamed answer: what left the server when.
type Sent struct {
	// ID counts the compute requests of the server from 1, in the order in which their handlers were entered.
	ID uint64 `json:"id"`
	// Prompt is the prompt's length in tokens, template included.
	Prompt int `json:"prompt"`
	// Cached is how many of them the prefix cache had.
	Cached int `json:"cached"`
	// Hidden is how many of the answer's first tokens are in no frame: reasoning that only usage counts.
	Hidden int `json:"hidden,omitempty"`
	// Start is when the request's handler was entered.
	Start time.Time `json:"start"`
	// Frames are the token frames in order; frames that carry no token (role, usage, end, error) are not among them.
	Frames []SentFrame `json:"frames"`
	// Output is the number of tokens sent so far.
	Output int `json:"output"`
	// Finish is the finish reason that was sent; empty while none was.
	Finish string `json:"finish,omitempty"`
	// Failed says what broke the answer off: "stall", "reset", "error_frame" (a fault), "canceled" (the client left),
	// "closed" (the server did); empty otherwise. A stall is noted when it starts.
	Failed string `json:"failed,omitempty"`
}

// SentFrame is one token frame.
type SentFrame struct {
	// At is the moment right before the Write that carried the frame; frames of one Write share it.
	At time.Time `json:"at"`
	// Tokens is how many tokens the frame carries, at least 1.
	Tokens int `json:"tokens"`
}

// sentLog keeps the last answers: at most keptAnswers, and fewer when they hold more than keptFrames frames together.
// It is safe for concurrent use.
type sentLog struct {
	mu      sync.Mutex
	answers []*entry // guarded by mu, as is all they point to; oldest first
	frames  int      // guarded by mu; of all answers
}

// entry is an answer in the sentLog, changed by its methods only.
type entry struct {
	Sent
	forgotten bool
}

func (l *sentLog) open(s Sent) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &entry{Sent: s}
	l.answers = append(l.answers, e)
	l.trimLocked()
	return e
}

// sending notes the token frames of the Write that follows at once, given as tokens per frame.
func (l *sentLog) sending(e *entry, tokens []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.forgotten {
		return
	}
	old := len(e.Frames)
	for _, n := range tokens {
		e.Frames = append(e.Frames, SentFrame{Tokens: n})
		e.Output += n
	}
	l.frames += len(tokens)
	l.trimLocked()
	at := time.Now() // last: the Write is not to wait for what is above
	for i := range e.Frames[old:] {
		e.Frames[old+i].At = at
	}
}

// finished notes the finish reason that the next Write carries.
func (l *sentLog) finished(e *entry, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Finish = reason
}

// failed notes why an answer breaks off; the first reason stays.
func (l *sentLog) failed(e *entry, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Failed == "" {
		e.Failed = why
	}
}

// all returns a copy, oldest first.
func (l *sentLog) all() []Sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Sent, 0, len(l.answers))
	for _, e := range l.answers {
		c := e.Sent
		c.Frames = slices.Clone(e.Frames)
		out = append(out, c)
	}
	return out
}

// trimLocked forgets the oldest answers. The newest always stays.
func (l *sentLog) trimLocked() {
	for len(l.answers) > 1 && (len(l.answers) > keptAnswers || l.frames > keptFrames) {
		l.frames -= len(l.answers[0].Frames)
		l.answers[0].forgotten = true
		l.answers[0] = nil
		l.answers = l.answers[1:]
	}
}
