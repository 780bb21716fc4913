package sim

import (
	"cmp"
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

// sentLog keeps the last answers: at most keptAnswers, and fewer when they hold more than keptFrames frames together as one
// more begins. It is safe for concurrent use.
type sentLog struct {
	mu      sync.Mutex
	answers []*Sent // guarded by mu, as is all they point to; oldest first
}

// open notes an answer that begins, which only the methods of the log change from now on.
func (l *sentLog) open(s Sent) *Sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers = append(l.answers, &s)
	frames := 0
	for i, kept := range slices.Backward(l.answers) {
		frames += len(kept.Frames)
		if len(l.answers)-i > keptAnswers || frames > keptFrames {
			l.answers = slices.Clone(l.answers[i+1:])
			break
		}
	}
	return &s
}

// sending notes the token frames of the Write that follows at once, given as tokens per frame.
func (l *sentLog) sending(s *Sent, tokens []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := len(s.Frames)
	for _, n := range tokens {
		s.Frames = append(s.Frames, SentFrame{Tokens: n})
		s.Output += n
	}
	at := time.Now() // last: the Write is not to wait for what is above
	for i := range s.Frames[old:] {
		s.Frames[old+i].At = at
	}
}

// finished notes the finish reason that the next Write carries.
func (l *sentLog) finished(s *Sent, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Finish = reason
}

// failed notes why an answer breaks off; the first reason stays.
func (l *sentLog) failed(s *Sent, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Failed = cmp.Or(s.Failed, why)
}

// all returns a copy, oldest first.
func (l *sentLog) all() []Sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Sent, 0, len(l.answers))
	for _, s := range l.answers {
		c := *s
		c.Frames = slices.Clone(s.Frames)
		out = append(out, c)
	}
	return out
}
