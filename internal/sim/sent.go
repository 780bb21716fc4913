package sim

import (
	"slices"
	"time"
)

// Sent is the truth about one answer: what left the server when.
type Sent struct {
	Start  time.Time   `json:"start"`  // when the request's handler was entered
	Prompt int         `json:"prompt"` // tokens, those of the template included
	Cached int         `json:"cached"` // of these, what the prefix cache had
	Tokens []time.Time `json:"tokens"` // the moment right before the Write of each token's frame
}

// Sent returns the truth about the last 1,000 answers, oldest first, running ones as far as they are. An answer
// stands here complete before its last byte is written. The slice is the caller's.
func (s *Server) Sent() []Sent {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Sent, 0, len(s.sent))
	for _, answer := range s.sent {
		entry := *answer
		entry.Tokens = slices.Clone(answer.Tokens)
		all = append(all, entry)
	}
	return all
}

// note adds an answer that begins. The entry that it returns is changed by noteToken only.
func (s *Server) note(entry Sent) *Sent {
	const kept = 1000
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, &entry)
	s.sent = s.sent[max(0, len(s.sent)-kept):]
	return &entry
}

// noteToken adds a token whose Write follows at once.
func (s *Server) noteToken(entry *Sent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry.Tokens = append(entry.Tokens, time.Time{})
	entry.Tokens[len(entry.Tokens)-1] = time.Now() // last: the Write is not to wait for what is above
}
