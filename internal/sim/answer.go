package sim

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// A protocol is how a route is asked for an answer, and how the answer is written.
type protocol interface {
	// parse reads a request, or says why it is refused.
	parse(body []byte) (question, *refusal)
	// opening, token and closing return what stands before the first token, the frame of token k, and what follows the
	// last one.
	opening(a *answer) string
	token(a *answer, k int) string
	closing(a *answer) string
}

// A question is what a request asks for.
type question struct {
	prompt     prompt
	most       int  // tokens of the answer, at least 1
	endless    bool // the answer has no natural end
	calls      bool // the answer is a call of a function
	json       bool // the answer is JSON
	reasoning  int  // how many of the first tokens are reasoning
	usage      bool // the client wants the token counts
	continuous bool // in every frame
}

// An answer is what is said to one question, and when. It belongs to one goroutine.
type answer struct {
	call
	question

	cached   int      // tokens of the prompt that the prefix cache had
	texts    []string // of the tokens
	finish   string   // "length" or "stop"; then the last token is the invisible end of sequence
	schedule *sequence
}

// accept begins an answer: it looks the prompt up in the prefix cache, and plans or queues the tokens.
func (s *Server) accept(c call, q question) *answer {
	a := &answer{call: c, question: q}
	known := s.cache.visit(q.prompt.blocks)
	a.cached = min(known, (q.prompt.tokens-1)/blockSize) * blockSize // the last token must be computed
	length, finish := q.length(s.config.Profile, s.config.Seed)
	var object []string // the tokens of JSON
	if q.calls || q.json {
		object = a.object()
		length = min(q.most, q.reasoning+len(object)+1)
		finish = "stop"
		if length <= q.reasoning+len(object) {
			finish = "length"
		}
	}
	a.finish = finish
	a.reasoning = min(q.reasoning, length)
	a.texts = append(say(a.reasoning, nil), say(length-a.reasoning, a.firstWords())...)
	copy(a.texts[a.reasoning:], object)
	if a.fault.Degenerate {
		for k := range a.texts {
			a.texts[k] = "!"
		}
	}
	if a.finish == "stop" {
		a.texts[length-1] = ""
	}
	if s.engine != nil {
		a.schedule = s.engine.submit(c.start, q.prompt.tokens, a.cached, length)
	} else {
		a.schedule = s.config.Profile.alone(c.start, q.prompt.tokens, a.cached, length, c.random)
	}
	return a
}

// length returns how many tokens the answer has and why it ends: at its natural length, which seed and prompt decide,
// or at the limit.
func (q question) length(p Profile, seed uint64) (tokens int, finish string) {
	if q.endless {
		return q.most, "length"
	}
	natural := p.MinAnswer + rand.New(rand.NewPCG(seed, q.prompt.hash)).IntN(p.MaxAnswer-p.MinAnswer+1)
	if natural < q.most {
		return natural, "stop"
	}
	return q.most, "length"
}

// firstWords returns the words that the answer begins with: the code words of the prompt, or other ones.
func (a *answer) firstWords() []string {
	if !a.fault.WrongAnswer {
		return a.prompt.code
	}
	var wrong []string
	for _, word := range a.prompt.code {
		wrong = append(wrong, strings.Repeat("x", len(word)))
	}
	return wrong
}

// object returns the tokens of the JSON that the prompt asks for, as the fault has it.
func (a *answer) object() []string {
	first, second, final := a.prompt.values[0], a.prompt.values[1], a.prompt.values[2]
	switch {
	case a.fault.WrongAnswer:
		second = strings.Repeat("x", len(second))
	case a.fault.BrokenJSON:
		return []string{`{"`, `first`, `":`, ` "`, first, `",`, ` "`, `second`, `"`} // and no more
	}
	return []string{
		`{"`, `first`, `":`, ` "`, first, `",`, ` "`, `second`, `":`, ` "`, second, `",`, ` "`, `final`, `":`, ` ` + final,
		`}`,
	}
}

// answerWords is what the simulated model says, over and over: one token each.
var answerWords = strings.Fields(`the river runs past a quiet mill and under an old stone bridge where people stop to
	watch small boats drift along in warm light while birds call from tall trees on the far bank`)

// say returns the texts of n tokens, the first ones of which are given. All but the first begin with a space.
func say(n int, first []string) []string {
	texts := make([]string, n)
	for k := range texts {
		word := answerWords[k%len(answerWords)]
		if k < len(first) {
			word = first[k]
		}
		if k > 0 {
			word = " " + word
		}
		texts[k] = word
	}
	return texts
}

// isLast reports whether token k is the last one.
func (a *answer) isLast(k int) bool { return k == len(a.texts)-1 }

// due waits until it is known when token k is to be sent, faults included. The error is ctx's.
func (a *answer) due(ctx context.Context, k int) (time.Time, error) {
	at, err := a.schedule.due(ctx, k)
	if err != nil {
		return time.Time{}, err
	}
	first := a.schedule.times[0]
	return a.start.Add(scale(a.fault.TTFT, first.Sub(a.start)) + scale(a.fault.ITL, at.Sub(first))), nil
}

// stream sends an answer, each token in a frame of its own. An error means that the connection is to be cut.
func (s *Server) stream(ctx context.Context, w http.ResponseWriter, p protocol, a *answer) error {
	sent := s.note(Sent{Prompt: a.prompt.tokens, Cached: a.cached, Start: a.start})
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if !s.config.Profile.LateHeaders {
		err := send(w, "")
		if err != nil {
			return err
		}
	}
	opening := p.opening(a)
	for k := range a.texts {
		if k > 0 && k == a.fault.Stall { // until the client leaves
			<-ctx.Done()
			return ctx.Err()
		}
		frame := opening + p.token(a, k)
		opening = ""
		at, err := a.due(ctx, k)
		if err != nil {
			return err
		}
		err = s.sleepUntil(ctx, at)
		if err != nil {
			return err
		}
		s.noteToken(sent)
		err = send(w, frame)
		if err != nil {
			return err
		}
	}
	return send(w, p.closing(a))
}

// send writes a text at once, behind the headers if they were not written yet.
func send(w http.ResponseWriter, text string) error {
	_, err := io.WriteString(w, text)
	if err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}
