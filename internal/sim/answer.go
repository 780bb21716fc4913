package sim

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"
)

// An answer is what is said to one question, and when. It belongs to one goroutine.
type answer struct {
	call
	question
	server *Server
	origin time.Time // what due times count from
	cached int       // tokens of the prompt that the prefix cache had
	want   int       // tokens to generate
	lead   []string  // what the answer proper begins with
	finish string    // "length" or "stop"; then the last token is the invisible end of sequence
	tokens *sequence

	first time.Time // when the first token is due before stretching; zero: not known yet
}

// accept begins an answer: it looks the prompt up in the prefix cache, and plans or queues the tokens.
func (s *Server) accept(c call, q question, origin time.Time) *answer {
	a := &answer{call: c, question: q, server: s, origin: origin}
	known := s.cache.visit(q.prompt.blocks)
	a.cached = max(0, min(known, (q.prompt.tokens-1)/blockSize)) * blockSize // the last token must be computed
	a.want, a.finish = q.length(s.config.Profile, s.config.Seed)
	a.reasoning = min(q.reasoning, a.want)
	for _, word := range q.prompt.code {
		if c.fault.WrongAnswer {
			word = strings.Repeat("x", len(word))
		}
		a.lead = append(a.lead, word)
	}
	if s.engine != nil {
		a.tokens = s.engine.submit(c.id, origin, q.prompt.tokens, a.cached, a.want)
	} else {
		a.tokens = s.config.Profile.alone(origin, q.prompt.tokens, a.cached, a.want, c.random)
	}
	return a
}

// length is how many tokens the answer has and why it ends: at its natural length, which seed and prompt decide, or
// the limit.
func (q question) length(p Profile, seed uint64) (tokens int, finish string) {
	if q.endless || p.MaxAnswer <= 0 {
		return q.max, "length"
	}
	low := max(1, p.MinAnswer)
	natural := low + rand.New(rand.NewPCG(seed, q.prompt.sum)).IntN(max(1, p.MaxAnswer-low+1))
	natural = max(natural, q.min)
	if natural < q.max {
		return natural, "stop"
	}
	return q.max, "length"
}

// textOf is the visible text of the tokens [from, to). The first of the reasoning and of the answer have no space
// before them.
func (a *answer) textOf(from, to int) string {
	var b strings.Builder
	for k := from; k < to && !a.ends(k); k++ {
		if k != 0 && k != a.reasoning {
			b.WriteByte(' ')
		}
		b.WriteString(a.word(k))
	}
	return b.String()
}

// word is token k without the space before it. The answer says the code words in place of its first three.
func (a *answer) word(k int) string {
	if k >= a.reasoning {
		k -= a.reasoning
		if k < len(a.lead) {
			return a.lead[k]
		}
	}
	return answerWords[k%len(answerWords)]
}

// ends reports whether token k is the invisible end of sequence.
func (a *answer) ends(k int) bool { return a.finish == "stop" && k == a.want-1 }

// due waits until it is known when token k is to be sent, faults included. The error is ctx's.
func (a *answer) due(ctx context.Context, k int) (time.Time, error) {
	at, err := a.tokens.due(ctx, k)
	if err != nil {
		return time.Time{}, err
	}
	if a.first.IsZero() {
		a.first = at
	}
	at = a.fault.stretch(a.origin, a.first, at)
	if a.fault.Stall > 0 && k >= a.fault.Stall {
		at = at.Add(time.Duration(a.fault.StallFor))
	}
	return at, nil
}
