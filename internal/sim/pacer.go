package sim

import (
	"container/heap"
	"context"
	"runtime"
	"sync"
	"time"
)

const (
	// patience is how long one stream may hold up the others of a pacer.
	patience = 5 * time.Millisecond
	// nap is how long a pacer sleeps at most: so much too late may it see a stream that was given to it.
	nap = time.Millisecond
)

// pacer sends the tokens of many streams at their moments from one thread, which sleeps in the kernel in between: where
// hundreds of streams are under way, a timer and a switch of goroutines a token would cost more than the token. Time must
// be real. It runs while it has streams, at most until close. A stream whose client takes nothing holds the others up for
// patience: then another thread takes them over. It is safe for concurrent use; the zero value is ready.
type pacer struct {
	mu      sync.Mutex // guards all below, and of each paced what says so
	streams pacedHeap  // that wait for their moment
	at      *paced     // the one whose token is on its way; nil: none
	since   time.Time  // when that began
	run     uint64     // number of the thread that has the streams
	running bool
	watched bool                // watch runs
	ended   bool                // close was called: no token goes out any more
	held    map[*paced]struct{} // whose token a thread is sending; a thread that hangs keeps its own
	threads sync.WaitGroup      // pace and watch
}

// paced is a stream that a pacer has. What is not guarded by the pacer's mutex belongs to the pacer's goroutine until back
// is closed, and so does the stream.
type paced struct {
	*streaming
	ctx  context.Context
	next int           // token
	due  time.Time     // of it
	err  error         // that of the client
	back chan struct{} // closed when the pacer lets go of the stream
	slow bool          // guarded: the pacer was not patient enough
	left bool          // guarded: it is wanted back
	spot int           // guarded: index in the heap
}

// carry sends the tokens of a stream from token k on. It returns the first that was not sent, and slow if the client took
// so long that the stream must go on by itself. An error means that the client is gone.
func (p *pacer) carry(ctx context.Context, s *streaming, k int) (next int, slow bool, err error) {
	x := &paced{streaming: s, ctx: ctx, next: k, back: make(chan struct{})}
	if x.plan(); x.err != nil {
		return k, false, x.err
	}
	p.add(x)
	select {
	case <-x.back:
	case <-ctx.Done():
		p.withdraw(x)
		<-x.back
	}
	return x.next, x.slow, x.err
}

// plan finds when the next token is due.
func (x *paced) plan() { x.due, _, x.err = x.streaming.due(x.ctx, x.next, time.Time{}) }

// step sends the next token.
func (x *paced) step() {
	if x.err = x.put(x.next, x.due); x.err != nil {
		return
	}
	if x.next++; x.next < x.want {
		x.plan()
	}
}

func (p *pacer) add(x *paced) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		x.giveUp()
		return
	}
	heap.Push(&p.streams, x)
	if !p.running {
		p.running = true
		p.startLocked()
	}
	if !p.watched {
		p.watched = true
		p.threads.Go(p.watch)
	}
}

// withdraw has the pacer let go of a stream: at once, or after the token that is on its way.
func (p *pacer) withdraw(x *paced) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-x.back:
		return
	default:
	}
	if x.spot < 0 {
		x.left = true
		return
	}
	heap.Remove(&p.streams, x.spot)
	x.err = x.ctx.Err()
	close(x.back)
}

func (p *pacer) startLocked() {
	p.run++
	run := p.run
	p.threads.Go(func() { p.pace(run) })
}

// pace sends tokens until no stream is left or another thread has taken over. Its thread ends with it.
func (p *pacer) pace(run uint64) {
	runtime.LockOSThread()
	alone := runtime.GOMAXPROCS(0) == 1
	for {
		x, wait, ok := p.take(run)
		switch {
		case !ok:
			return
		case x == nil:
			napInKernel(wait, alone)
			continue
		}
		x.step()
		if !p.done(run, x) {
			return
		}
	}
}

// take returns the stream whose token is due, or else how long to sleep. It is not ok when there is nothing more to do.
func (p *pacer) take(run uint64) (x *paced, wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run != run {
		return nil, 0, false
	}
	if len(p.streams) == 0 || p.ended {
		p.running = false
		return nil, 0, false
	}
	now := time.Now()
	if wait = p.streams[0].due.Sub(now); wait > 0 {
		return nil, min(wait, nap), true
	}
	x, _ = heap.Pop(&p.streams).(*paced)
	p.at, p.since = x, now
	if p.held == nil {
		p.held = map[*paced]struct{}{}
	}
	p.held[x] = struct{}{}
	return x, 0, true
}

// done takes a stream back whose token was sent, or lets go of it. It is not ok when another thread has the streams.
func (p *pacer) done(run uint64, x *paced) (ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok = p.run == run; ok {
		p.at = nil
	}
	delete(p.held, x)
	if p.ended {
		x.giveUp()
		return false
	}
	if x.err != nil || x.left || x.slow || x.next == x.want {
		close(x.back)
	} else {
		heap.Push(&p.streams, x)
	}
	return ok
}

// watch has another thread take the streams over where the one that has them hangs.
func (p *pacer) watch() {
	tick := time.NewTicker(patience)
	defer tick.Stop()
	for now := range tick.C {
		if !p.look(now) {
			return
		}
	}
}

// look is one look of watch. It is not ok when the pacer has ended.
func (p *pacer) look(now time.Time) (ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	if p.running && p.at != nil && now.Sub(p.since) > patience {
		p.at.slow, p.at = true, nil
		p.startLocked()
	}
	p.watched = p.running
	return p.running
}

// close lets go of all streams and waits for the threads. A write that hangs, because its client does not read, ends with
// an error. Streams that come later are let go of at once. A second close does nothing.
func (p *pacer) close() {
	p.mu.Lock()
	p.ended = true
	for _, x := range p.streams {
		x.giveUp()
	}
	p.streams = nil
	for x := range p.held {
		_ = x.out.control.SetWriteDeadline(time.Now()) // not supported: no write that hangs
	}
	p.mu.Unlock()
	p.threads.Wait()
}

// giveUp lets go of a stream that the pacer sends no more of.
func (x *paced) giveUp() {
	if x.err == nil && x.next < x.want {
		x.err = context.Canceled
	}
	x.spot = -1
	close(x.back)
}

// pacedHeap has the stream whose token is due next on top.
type pacedHeap []*paced

func (h pacedHeap) Len() int           { return len(h) }
func (h pacedHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

func (h pacedHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].spot, h[j].spot = i, j
}

func (h *pacedHeap) Push(v any) {
	x, _ := v.(*paced)
	x.spot = len(*h)
	*h = append(*h, x)
}

func (h *pacedHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = nil
	*h, x.spot = (*h)[:last], -1
	return x
}
