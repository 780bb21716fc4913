package sim

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"
)

// dialect is one way to spell requests and answers. It is safe for concurrent use.
type dialect interface {
	// limit is the largest body in bytes.
	limit() int64
	// read understands a request, or says why it is refused.
	read(body []byte, c Config) (ask, *refusal)
	// refuse spells an error in place of an answer.
	refuse(refusal) reply
	// speak spells an answer.
	speak(*answer) script
}

// ask is what a request asks for.
type ask struct {
	prompt     digest
	max        int // tokens to generate at most, at least 1
	min        int // tokens before a natural end
	endless    bool
	uncached   bool // the prefix cache does not help
	reasoning  int  // how many of the first tokens are reasoning; may exceed the answer
	secret     bool // the reasoning is hidden, whatever the configuration says
	stream     bool
	usage      bool // send a usage frame
	continuous bool // send usage with every frame
	details    bool // TGI: send details with the last token
	timings    bool // llama-server: send timings with every frame
	ids        bool // send the ids of the tokens
	mute       bool // send no text
	bare       bool // OpenAI: send no padding
	fresh      bool // LiteLLM: do not answer from the response cache
	replay     bool // the response cache has the answer: it is due at once and touches no engine
	more       any  // what else its dialect wants to know when it speaks, of a type of the dialect's
}

// script is how a dialect spells one answer.
type script struct {
	header  map[string]string         // besides Content-Type, or in its place
	late    bool                      // headers come with the first frame
	prelude []byte                    // what is sent with acceptance; empty: nothing
	opening []byte                    // role frame; empty: none
	frame   func(from, to int) []byte // tokens [from, to), not empty, all reasoning or none; [want, want) if all are hidden; good until the next call
	most    int                       // tokens a frame can carry; 0: any number
	single  bool                      // one frame carries all tokens
	closing []byte                    // what follows the last token; empty: nothing
	failure []byte                    // what a mid-stream error is, to the end of the stream
	fail    func() []byte             // the same in place of failure, where what was sent before matters
	comment []byte                    // keeps the connection awake
	waiting []byte                    // comment at acceptance and every second until the first token; empty: none
	severs  bool                      // the connection is cut after failure
	batch   time.Duration             // frames are released so often, the first at once; 0: each at its time
	whole   func() any                // the answer as one JSON document
}

// answer is one accepted request.
type answer struct {
	call
	ask
	server  *Server
	dialect dialect
	origin  time.Time // what due times count from
	model   string
	cached  int      // prompt tokens
	want    int      // tokens to generate
	hidden  int      // of these, the first so many are in no frame
	lead    []string // what the answer proper begins with
	finish  string   // "length" or "stop"; then the last token is the invisible end of sequence
	source  source
	script  script

	first   time.Time // when the first token is due before stretching; zero: not known yet
	firstAt time.Time // when the first token was due, faults included
	lastAt  time.Time // when the latest token was due, faults included
}

// accept plans the answer to a request.
func (s *Server) accept(d dialect, c call, q ask, origin time.Time) *answer {
	a := &answer{call: c, ask: q, server: s, dialect: d, origin: origin, model: s.config.Model}
	if q.replay {
		a.prompt.blocks = nil
	}
	a.cached = s.cache.visit(a.prompt)
	if q.uncached {
		a.cached = 0
	}
	a.want, a.finish = q.length(s.config.Profile, s.config.Seed)
	a.reasoning = min(q.reasoning, a.want)
	if s.config.HideReasoning || q.secret {
		a.hidden = a.reasoning
	}
	if a.lead = q.prompt.code; c.fault.Garble {
		a.lead = garbled(a.lead)
	}
	switch {
	case q.replay:
		a.source = newFixed(Profile{}, origin, 0, 0, c.random)
	case s.engine != nil:
		a.source = s.engine.submit(c.id, origin, q.prompt.tokens, a.cached, a.want)
	default:
		a.source = newFixed(s.config.Profile, origin, q.prompt.tokens, a.cached, c.random)
	}
	a.script = d.speak(a)
	return a
}

// length is how many tokens the answer has and why it ends: at its natural length, which seed and prompt decide, if that
// is below the most that was asked for.
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

// text is the visible text of token k. Only the first of the reasoning and of the answer have no space before them.
func (a *answer) text(k int) string {
	return string(a.spell(nil, k))
}

// spell appends text.
func (a *answer) spell(b []byte, k int) []byte {
	if a.mute || a.ends(k) {
		return b
	}
	if k != 0 && k != a.reasoning {
		b = append(b, ' ')
	}
	return append(b, a.word(k)...)
}

// textOf is the visible text of the tokens [from, to).
func (a *answer) textOf(from, to int) string {
	var b []byte
	for k := from; k < to; k++ {
		b = a.spell(b, k)
	}
	return string(b)
}

// due is when token k is to be sent, faults included. It blocks as source.due does.
func (a *answer) due(ctx context.Context, k int, limit time.Time) (time.Time, bool, error) {
	at, known, err := a.source.due(ctx, k, limit)
	if err != nil || !known {
		return time.Time{}, false, err
	}
	if a.first.IsZero() {
		a.first = at
	}
	a.lastAt = a.fault.stretch(a.origin, a.first, at)
	if a.firstAt.IsZero() {
		a.firstAt = a.lastAt
	}
	return a.lastAt, true, nil
}

// whole sends the answer as one JSON document when its last token is due. An error means that the connection is to be cut.
func (a *answer) whole(ctx context.Context, w http.ResponseWriter) error {
	at := a.origin
	for k := range a.want {
		if end, ok := a.fault.breaks(k); ok {
			return a.breakWhole(ctx, w, end, at)
		}
		var err error
		if at, _, err = a.due(ctx, k, time.Time{}); err != nil {
			return err
		}
	}
	if err := a.server.sleepUntil(ctx, at); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, a.script.whole())
	return nil
}

// breakWhole ends an answer without a stream as a fault says, at the given moment.
func (a *answer) breakWhole(ctx context.Context, w http.ResponseWriter, end ending, at time.Time) error {
	if err := a.server.sleepUntil(ctx, at); err != nil {
		return err
	}
	switch end {
	case endStall:
		<-ctx.Done()
		return ctx.Err()
	case endCut:
		return errCut
	}
	a.dialect.refuse(simulated(http.StatusInternalServerError)).write(w)
	return nil
}
