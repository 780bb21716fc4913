package sim

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"
)

// engine is a continuous batching scheduler with chunked prefill. A request waits the profile's base time outside the
// engine (nothing there is exclusive), queues first in first out, and is then served in steps of
//
//	step = Σ prefill(chunk) + (B > 0 ? TPOT + (B − 1)·StepPerSequence : 0)
//
// where B is the number of sequences in decode and the chunks fill up what B leaves of StepTokens, for as many
// waiting prompts as MaxBatch has room for. At its end every sequence in decode, and each prefilled prompt, has one
// more token. So one alone has
//
//	TTFT = base + prefill(prompt)    TPOT = TPOT
//
// and many:
//
//	throughput → 1/(prefill(prompt) + answer·step(B)/B)
//
// run owns all but the inbox.
type engine struct {
	profile Profile
	inbox   chan *sequence
	waiting []*sequence // in the order in which they came
	running []*sequence
}

// newEngine returns an engine whose inbox holds more requests than can come during one step.
func newEngine(p Profile) *engine {
	return &engine{profile: p, inbox: make(chan *sequence, 1<<14)}
}

// A sequence is when the tokens of one answer are due. A server that is always alone knows all times from the start;
// else it is one request inside the engine.
type sequence struct {
	times []time.Time // of the tokens, as far as the answer has asked for them; it owns them

	ready  time.Time      // when it joins the queue
	prompt int            // tokens
	done   int            // of these, cached or prefilled
	left   int            // tokens to generate; owned by engine.run
	gone   atomic.Bool    // the client left
	made   chan time.Time // from the engine to times; has room for all tokens
}

// due waits until it is known at which moment token k, counted from 0, is ready. The error is ctx's.
func (q *sequence) due(ctx context.Context, k int) (time.Time, error) {
	for len(q.times) <= k {
		select {
		case at := <-q.made:
			q.times = append(q.times, at)
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
	return q.times[k], ctx.Err()
}

// submit queues a request whose base time starts at origin.
func (e *engine) submit(origin time.Time, prompt, cached, want int) *sequence {
	q := &sequence{
		ready:  origin.Add(e.profile.base()),
		prompt: prompt, done: cached, left: want, made: make(chan time.Time, want),
	}
	e.inbox <- q
	return q
}

// run serves until ctx ends. Its clock is the sum of its steps, so that late wake-ups do not add up.
func (e *engine) run(ctx context.Context) {
	at := time.Now()
	for {
		e.admit()
		took, prefilled := e.plan(at)
		if took == 0 && prefilled == 0 {
			var err error
			at, err = e.idle(ctx)
			if err != nil {
				return
			}
			continue
		}
		at = at.Add(took)
		if sleepUntil(ctx, at) != nil {
			return
		}
		e.finish(prefilled, at)
	}
}

// admit takes new requests, and drops those whose clients left.
func (e *engine) admit() {
	for len(e.inbox) > 0 {
		e.waiting = append(e.waiting, <-e.inbox)
	}
	isGone := func(q *sequence) bool { return q.gone.Load() }
	e.waiting = slices.DeleteFunc(e.waiting, isGone)
	e.running = slices.DeleteFunc(e.running, isGone)
}

// plan fills one step that starts at the given moment and counts its prefill chunks as done. It returns how long the
// step takes, and how many of the waiting, the first ones, are prefilled after it.
func (e *engine) plan(at time.Time) (took time.Duration, prefilled int) {
	budget := e.profile.StepTokens - len(e.running)
	room := e.profile.MaxBatch - len(e.running)
	if len(e.running) > 0 {
		took = e.profile.TPOT + time.Duration(len(e.running)-1)*e.profile.StepPerSequence
	}
	for _, q := range e.waiting {
		if budget <= 0 || room <= 0 || q.ready.After(at) {
			break
		}
		chunk := min(budget, q.prompt-q.done)
		took += e.profile.prefill(q.done, q.done+chunk)
		q.done += chunk
		budget -= chunk
		room--
		if q.done == q.prompt {
			prefilled++
		}
	}
	return took, prefilled
}

// finish ends a step: the prefilled prompts join the running ones, and each of these has one more token.
func (e *engine) finish(prefilled int, at time.Time) {
	e.running = append(e.running, e.waiting[:prefilled]...)
	e.waiting = e.waiting[prefilled:]
	for _, q := range e.running {
		q.made <- at
		q.left--
	}
	e.running = slices.DeleteFunc(e.running, func(q *sequence) bool { return q.left <= 0 })
}

// idle waits until the head of the queue is ready or a new request comes. It returns the moment to go on from.
func (e *engine) idle(ctx context.Context) (time.Time, error) {
	var due <-chan time.Time
	if len(e.waiting) > 0 {
		timer := time.NewTimer(time.Until(e.waiting[0].ready))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-due:
		return e.waiting[0].ready, nil
	case q := <-e.inbox:
		e.waiting = append(e.waiting, q)
		return time.Now(), nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}

// prefill returns the time that the tokens of a prompt from position from to position to take:
//
//	(to − from)/PrefillRate + PrefillCurve·(to² − from²)
func (p Profile) prefill(from, to int) time.Duration {
	if p.PrefillRate == 0 || to <= from {
		return 0
	}
	linear := float64(to-from) / p.PrefillRate * float64(time.Second)
	square := p.PrefillCurve * (float64(to)*float64(to) - float64(from)*float64(from))
	return time.Duration(math.Round(linear + square))
}

// base returns the part of TTFT that nothing changes: TTFT = base + prefill(PromptTokens).
func (p Profile) base() time.Duration {
	return p.TTFT - p.prefill(0, p.PromptTokens)
}

// alone returns the answer of a server that is always alone, to a prompt whose first cached tokens need no prefill:
//
//	first   = base + prefill(cached, prompt) + jitter
//	token k = first + k·TPOT + jitter(k), never before token k−1
func (p Profile) alone(origin time.Time, prompt, cached, want int, random *rand.Rand) *sequence {
	first := p.base() + p.prefill(cached, prompt) + normal(random, float64(p.TTFTJitter))
	q := &sequence{times: make([]time.Time, want)}
	at := first
	for k := range want {
		if k > 0 {
			at = max(at, first+time.Duration(k)*p.TPOT+normal(random, p.TPOTJitter*float64(p.TPOT)))
		}
		q.times[k] = origin.Add(at)
	}
	return q
}

// normal draws from a normal distribution around 0 with standard deviation sd in nanoseconds, clipped at three of them.
func normal(r *rand.Rand, sd float64) time.Duration {
	z := min(3, max(-3, r.NormFloat64()))
	return time.Duration(math.Round(z * sd))
}
