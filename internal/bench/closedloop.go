package bench

import (
	"context"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// closedLoop asks one member without a clock: as soon as a request has ended, the
// next begins.
func (s *Step) closedLoop(ctx context.Context, first uint64, member int) (next uint64) {
	q := &queue{next: first, requests: s.load.Requests}
	workers := s.load.Concurrency
	if workers == 0 || q.requests > 0 && workers > q.requests {
		workers = q.requests
	}
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	ready.Add(workers)
	for range workers {
		done.Go(func() { s.work(ctx, member, q, &ready, gate) })
	}
	ready.Wait()
	q.begin(time.Now(), s.load.Limit)
	close(gate)
	done.Wait()
	return q.next
}

// work makes one request after another. All workers begin together, when each has its
// first question ready.
func (s *Step) work(ctx context.Context, member int, q *queue, ready *sync.WaitGroup, gate <-chan struct{}) {
	question, round, ok := s.prepare(ctx, q)
	ready.Done()
	<-gate
	due := q.began
	for ok && ctx.Err() == nil {
		r := s.group.Turn(ctx, member, func() probe.Question { return question }, round, due)
		if r == nil || !s.hold(ctx, r) {
			return
		}
		question, round, ok = s.prepare(ctx, q)
		due = time.Now()
	}
}

// failureHold is how long a failed request keeps its slot at least, where only time
// ends the step, so that a server that rejects at once is not hammered.
const failureHold = time.Second

// hold waits until the slot of a request may be given to the next. It returns false as
// soon as ctx is done.
func (s *Step) hold(ctx context.Context, r *probe.Result) bool {
	if s.load.Requests > 0 || r.Outcome == probe.OK {
		return true
	}
	timer := time.NewTimer(failureHold - r.Elapsed)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// prepare takes a round and writes its question. ok is false if there is none.
func (s *Step) prepare(ctx context.Context, q *queue) (question probe.Question, round uint64, ok bool) {
	if round, ok = q.take(time.Now()); !ok {
		return question, 0, false
	}
	s.ready(ctx, round)
	return s.group.Ask(round), round, true
}

// A queue is the rounds that were not taken yet. It is safe for concurrent use.
type queue struct {
	mu       sync.Mutex
	next     uint64
	taken    int
	requests int       // 0: without end
	began    time.Time // set once, by begin
	end      time.Time // zero: never
}

// begin sets when the requests began; no round is taken when limit has passed since.
// 0 is no limit.
func (q *queue) begin(now time.Time, limit time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.began = now
	if limit > 0 {
		q.end = now.Add(limit)
	}
}

// take takes the next round. ok is false if there is none, or it is too late.
func (q *queue) take(now time.Time) (round uint64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.requests > 0 && q.taken == q.requests || !q.end.IsZero() && !now.Before(q.end) {
		return 0, false
	}
	q.taken++
	q.next++
	return q.next - 1, true
}
