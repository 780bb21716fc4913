package sim

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// engine is a continuous batching scheduler with chunked prefill. A request waits the profile's base time outside the
// engine (nothing there is exclusive), queues first in first out, and is then served in steps of
//
//	step = PrefillFixed (if there is any prefill) + Σ prefill(chunk) + (B > 0 ? TPOT + (B − 1)·StepPerSequence : 0)
//
// where B is the number of sequences in decode and the chunks fill up what B leaves of StepTokens, for as many waiting
// prompts as MaxBatch has room for. At the end of a step every sequence in decode has one more token, and each prompt
// whose last chunk was done has its first. So one request alone has
//
//	TTFT = base + PrefillFixed + prefill(prompt)    TPOT = TPOT    and many: throughput → 1/(prefill(prompt) + answer·step(B)/B)
//
// With PrefillShare and PrefillEvery a step may have no chunks although prompts wait, see holds.
//
// engine is safe for concurrent use; run owns all but the inbox.
type engine struct {
	profile Profile

	mu    sync.Mutex
	inbox []*sequence // guarded by mu

	wake    chan struct{} // one slot: something is in the inbox
	waiting []*sequence   // by ready, then id
	running []*sequence
	since   int // steps without prefill since the last one with
}

// sequence is one request inside the engine. It implements source.
type sequence struct {
	id     uint64
	ready  time.Time // when it joins the queue
	prompt int       // tokens
	done   int       // of these, cached or prefilled
	want   int       // tokens to generate
	made   int       // of these, generated; owned by run
	gone   atomic.Bool
	notify chan struct{} // one slot: times grew

	mu    sync.Mutex
	times []time.Time // guarded by mu; when each token was ready
}

func newEngine(p Profile) *engine {
	return &engine{profile: p, wake: make(chan struct{}, 1)}
}

// submit queues a request whose base time starts at origin. id breaks ties between requests of one moment.
func (e *engine) submit(id uint64, origin time.Time, prompt, cached, want int) *sequence {
	q := &sequence{
		id: id, ready: origin.Add(e.profile.base()),
		prompt: prompt, done: cached, want: want,
		notify: make(chan struct{}, 1),
	}
	e.mu.Lock()
	e.inbox = append(e.inbox, q)
	e.mu.Unlock()
	poke(e.wake)
	return q
}

// run serves until ctx ends. Its clock is the sum of its steps, so that late wake-ups do not add up.
func (e *engine) run(ctx context.Context) {
	at := time.Now()
	for {
		e.admit()
		s := e.plan(at)
		if s.took == 0 && s.fresh == 0 {
			var err error
			if at, err = e.idle(ctx); err != nil {
				return
			}
			continue
		}
		at = at.Add(s.took)
		if sleepUntil(ctx, at) != nil {
			return
		}
		e.finish(s, at)
	}
}

// admit moves the inbox into the queue and drops those whose client has left.
func (e *engine) admit() {
	e.mu.Lock()
	came := len(e.inbox) > 0
	e.waiting = append(e.waiting, e.inbox...)
	e.inbox = nil
	e.mu.Unlock()
	left := func(q *sequence) bool { return q.gone.Load() }
	e.waiting = slices.DeleteFunc(e.waiting, left)
	e.running = slices.DeleteFunc(e.running, left)
	if !came {
		return
	}
	slices.SortFunc(e.waiting, func(a, b *sequence) int {
		return cmp.Or(a.ready.Compare(b.ready), cmp.Compare(a.id, b.id))
	})
}

// step is what one turn of the engine does.
type step struct {
	took  time.Duration
	fresh int // the first so many of waiting complete their prefill
}

// plan fills one step that starts at the given moment and counts its prefill chunks as done.
func (e *engine) plan(at time.Time) step {
	var s step
	budget := e.profile.StepTokens - len(e.running)
	room := e.profile.MaxBatch - len(e.running)
	if b := len(e.running); b > 0 {
		s.took = e.profile.TPOT + time.Duration(b-1)*e.profile.StepPerSequence
	}
	e.since++
	if e.holds(at) {
		return s
	}
	for _, q := range e.waiting {
		if budget <= 0 || room <= 0 || q.ready.After(at) {
			break
		}
		chunk := min(budget, q.prompt-q.done)
		s.took += e.profile.prefill(q.done, q.done+chunk)
		q.done += chunk
		budget -= chunk
		room--
		if e.since > 0 {
			e.since = 0
			s.took += e.profile.PrefillFixed
		}
		if q.done == q.prompt {
			s.fresh++
		}
	}
	return s
}

// holds reports whether the waiting prompts are too few yet to stop the running answers for them: fewer than PrefillShare
// of those, counting only the prompts that MaxBatch has room for, and less than PrefillEvery steps since the last prefill.
func (e *engine) holds(at time.Time) bool {
	p := e.profile
	if e.since >= p.PrefillEvery {
		return false
	}
	ready := slices.IndexFunc(e.waiting, func(q *sequence) bool { return q.ready.After(at) })
	if ready < 0 {
		ready = len(e.waiting)
	}
	return min(ready, p.MaxBatch-len(e.running)) < int(p.PrefillShare*float64(len(e.running)))
}

// finish hands out the tokens of a step that ended at the given moment.
func (e *engine) finish(s step, at time.Time) {
	e.running = append(e.running, e.waiting[:s.fresh]...)
	e.waiting = e.waiting[s.fresh:]
	for _, q := range e.running {
		q.emit(at)
	}
	e.running = slices.DeleteFunc(e.running, func(q *sequence) bool { return q.made >= q.want })
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
	case <-e.wake:
		return time.Now(), nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
}

// emit notes one more token.
func (q *sequence) emit(at time.Time) {
	q.made++
	q.mu.Lock()
	q.times = append(q.times, at)
	q.mu.Unlock()
	poke(q.notify)
}

// token returns when token k was ready, if it is.
func (q *sequence) token(k int) (time.Time, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if k >= len(q.times) {
		return time.Time{}, false
	}
	return q.times[k], true
}

func (q *sequence) due(ctx context.Context, k int, limit time.Time) (time.Time, bool, error) {
	var late <-chan time.Time
	if !limit.IsZero() {
		timer := time.NewTimer(time.Until(limit))
		defer timer.Stop()
		late = timer.C
	}
	for {
		if at, ok := q.token(k); ok {
			return at, true, ctx.Err()
		}
		select {
		case <-q.notify:
		case <-late:
			return time.Time{}, false, ctx.Err()
		case <-ctx.Done():
			return time.Time{}, false, ctx.Err()
		}
	}
}

func (q *sequence) close() { q.gone.Store(true) }

// poke leaves a note in a channel of one slot unless one is there.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
