package sim

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Sent is the truth about one answer: what left the server when.
type Sent struct {
	ID     uint64      `json:"id"`               // counts the requests for answers from 1, as their handlers were entered
	Prompt int         `json:"prompt"`           // tokens, template included
	Cached int         `json:"cached"`           // of these, what the prefix cache had
	Start  time.Time   `json:"start"`            // when the handler was entered
	Frames []SentFrame `json:"frames"`           // token frames in order: not role, usage, end, error
	Output int         `json:"output"`           // tokens sent so far
	Finish string      `json:"finish,omitempty"` // the finish reason, once it was sent
	// Failed says what broke the answer off: "stall", "reset", "error_frame" (a fault), "canceled" (the client left),
	// "closed" (the server did); empty otherwise. A stall is noted when it starts.
	Failed string `json:"failed,omitempty"`
}

// SentFrame is one token frame.
type SentFrame struct {
	At     time.Time `json:"at"` // right before the Write that carried it: frames of one Write share it
	Tokens int       `json:"tokens"`
}

// sentLog keeps the last answers. It is safe for concurrent use.
type sentLog struct {
	mu      sync.Mutex
	answers []*Sent // guarded by mu, as is all they point to; oldest first
}

// open notes an answer that begins, which only the methods of the log change from now on.
func (l *sentLog) open(s Sent) *Sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	const keptAnswers = 1000
	l.answers = append(l.answers, &s)
	l.answers = l.answers[max(0, len(l.answers)-keptAnswers):]
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

// ends notes the finish reason that the next Write carries, or why the answer breaks off; the first of either stays.
func (l *sentLog) ends(s *Sent, finish, failed string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Finish, s.Failed = cmp.Or(s.Finish, finish), cmp.Or(s.Failed, failed)
}

// all returns copies, oldest first.
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
