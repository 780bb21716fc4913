package sim

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

type answer struct {
	call
	ask
	server *Server
	origin time.Time // what due times count from
	model  string
	cached int      // prompt tokens
	want   int      // tokens to generate
	hidden int      // of these, the first so many are in no frame
	lead   []string // what the answer proper begins with
	finish string   // "length" or "stop"; then the last token is the invisible end of sequence
	tokens *sequence
	format *answerFormat
	name   string // the id in its frames, if there is one
	events int    // numbered so far

	first   time.Time // when the first token is due before stretching; zero: not known yet
	firstAt time.Time // when the first token was due, faults included
	lastAt  time.Time // when the latest token was due, faults included
}

func (s *Server) accept(g *generation, c call, q ask, origin time.Time) *answer {
	a := &answer{call: c, ask: q, server: s, origin: origin, model: s.config.Model, format: &g.Answer}
	if !q.replay {
		known := s.cache.visit(a.prompt.blocks)
		a.cached = max(0, min(known, (a.prompt.tokens-1)/blockSize)) * blockSize // the last token must be computed
	}
	if q.flags["uncached"] {
		a.cached = 0
	}
	a.want, a.finish = q.length(s.config.Profile, s.config.Seed)
	a.reasoning = min(q.reasoning, a.want)
	if s.config.HideReasoning || a.format.HidesAll {
		a.hidden = a.reasoning
	}
	for _, word := range q.prompt.code {
		if c.fault.WrongAnswer {
			word = strings.Repeat("x", len(word))
		}
		a.lead = append(a.lead, word)
	}
	switch {
	case q.replay:
		a.tokens = Profile{}.alone(origin, 0, 0, a.want, c.random)
	case s.engine != nil:
		a.tokens = s.engine.submit(c.id, origin, q.prompt.tokens, a.cached, a.want)
	default:
		a.tokens = s.config.Profile.alone(origin, q.prompt.tokens, a.cached, a.want, c.random)
	}
	a.name = a.fill(a.format.ID, frame{})
	return a
}

// length is how many tokens the answer has and why it ends: at its natural length, which seed and prompt decide, or the limit.
func (q ask) length(p Profile, seed uint64) (int, string) {
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

// textOf is the visible text of the tokens [from, to). The first of the reasoning and of the answer have no space before them.
func (a *answer) textOf(from, to int) string {
	var b []byte
	for k := from; k < to && !a.flags["mute"] && !a.ends(k); k++ {
		if k != 0 && k != a.reasoning {
			b = append(b, ' ')
		}
		b = append(b, a.word(k)...)
	}
	return string(b)
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

// tokenIDs are the ids of the tokens [from, to), never nil.
func (a *answer) tokenIDs(from, to int) []uint32 {
	ids := make([]uint32, 0, to-from)
	for k := from; k < to; k++ {
		id := uint32(endID)
		if !a.ends(k) {
			id = idOf(a.word(k))
		}
		ids = append(ids, id)
	}
	return ids
}

func (a *answer) ends(k int) bool { return a.finish == "stop" && k == a.want-1 }

// due is when token k is to be sent, faults included. It blocks as sequence.due does.
func (a *answer) due(ctx context.Context, k int, limit time.Time) (time.Time, bool, error) {
	at, known, err := a.tokens.due(ctx, k, limit)
	if err != nil || !known {
		return time.Time{}, false, err
	}
	if a.first.IsZero() {
		a.first = at
	}
	a.lastAt = a.fault.stretch(a.origin, a.first, at)
	if a.fault.Stall > 0 && k >= a.fault.Stall {
		a.lastAt = a.lastAt.Add(time.Duration(a.fault.StallFor))
	}
	if a.firstAt.IsZero() {
		a.firstAt = a.lastAt
	}
	return a.lastAt, true, nil
}

// whole sends the answer as one document, the same for all servers, when its last token is due.
func (a *answer) whole(ctx context.Context, w http.ResponseWriter) error {
	at := a.origin
	for k := range a.want {
		var err error
		if at, _, err = a.due(ctx, k, time.Time{}); err != nil {
			return err
		}
	}
	if err := a.server.sleepUntil(ctx, at); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"object": "simulated", "model": a.model, "text": a.textOf(a.reasoning, a.want), "finish_reason": a.finish,
		"usage": map[string]int{"prompt_tokens": a.prompt.tokens, "completion_tokens": a.want},
	})
	return nil
}
