package bench

import (
	"context"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/probe"
)

// crowd asks one member without a clock: as soon as a request has ended, the
// next begins.
func (s Step) crowd(starts, probes context.Context, member int) (next uint64) {
	q := &queue{next: s.First, requests: s.Load.Requests}
	workers := s.Load.AtOnce
	if workers == 0 || q.requests > 0 && workers > q.requests {
		workers = q.requests
	}
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	ready.Add(workers)
	for range workers {
		done.Go(func() { s.work(starts, probes, member, q, &ready, gate) })
	}
	ready.Wait()
	q.begin(time.Now(), s.Load.Limit)
	close(gate)
	done.Wait()
	return q.next
}

// work is one of so many at a time. All begin together, when each has its first
// question ready.
func (s Step) work(starts, probes context.Context, member int, q *queue, ready *sync.WaitGroup, gate <-chan struct{}) {
	question, round, ok := s.prepare(starts, q)
	ready.Done()
	<-gate
	due := q.began
	for ok && starts.Err() == nil {
		r := s.Group.Turn(probes, member, question, round, due)
		if r == nil || !s.calm(starts, r) {
			return
		}
		question, round, ok = s.prepare(starts, q)
		due = time.Now()
	}
}

// breath is how long a request that failed holds its place at least, where only
// time ends the step: a server that refuses at once is not to be stormed.
const breath = time.Second

// calm waits until the place of a request may be given away. It returns false as
// soon as ctx is done.
func (s Step) calm(ctx context.Context, r *probe.Result) bool {
	if s.Load.Requests > 0 || r.Outcome == probe.OK {
		return true
	}
	timer := time.NewTimer(breath - r.Elapsed)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// prepare takes a round and writes its question. ok is false if there is none.
func (s Step) prepare(ctx context.Context, q *queue) (question probe.Question, round uint64, ok bool) {
	if round, ok = q.take(time.Now()); !ok {
		return question, 0, false
	}
	s.Ready(ctx, round)
	return s.Group.Ask(round), round, true
}

// A queue is the rounds that nobody has taken yet. It is safe for concurrent use.
type queue struct {
	mu       sync.Mutex
	next     uint64
	taken    int
	requests int       // 0: without end
	began    time.Time // set once, by begin
	end      time.Time // zero: never
}

// begin sets when the requests began, and lets nobody take a round when limit has
// passed since; 0 is no limit.
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
