package sim

import (
	"cmp"
	"context"
	"net/http"
	"time"
)

// outlet is the sending end of one streamed answer: frames that wait for their write. It belongs to one goroutine.
type outlet struct {
	w       http.ResponseWriter
	control *http.ResponseController
	sentLog *sentLog
	entry   *entry

	waiting []byte
	tokens  []int // of each token frame in waiting
}

func newOutlet(a *answer, w http.ResponseWriter, e *entry) *outlet {
	return &outlet{w: w, control: http.NewResponseController(w), sentLog: a.server.sentLog, entry: e}
}

// add puts a frame behind those that wait; tokens is 0 for a frame that carries none.
func (o *outlet) add(frame string, tokens int) {
	o.waiting = append(o.waiting, frame...)
	if tokens > 0 {
		o.tokens = append(o.tokens, tokens)
	}
}

// flush sends what waits in one Write. An error means that the client is gone.
func (o *outlet) flush() error {
	if len(o.waiting) == 0 {
		return nil
	}
	err := o.send()
	o.waiting, o.tokens = o.waiting[:0], o.tokens[:0]
	if err != nil {
		return err
	}
	return o.control.Flush()
}

// withheld is how many bytes net/http keeps until Flush, whatever it speaks.
const withheld = 2048

// send gives the bytes to net/http, and notes the moment: as late as can be, but before the first of them leaves.
func (o *outlet) send() error {
	if len(o.waiting) >= withheld {
		o.sentLog.sending(o.entry, o.tokens)
		_, err := o.w.Write(o.waiting)
		return err
	}
	_, err := o.w.Write(o.waiting)
	o.sentLog.sending(o.entry, o.tokens)
	return err
}

// streaming is the state of one answer on its way out.
type streaming struct {
	*answer
	out     *outlet
	group   int           // tokens a frame
	batch   time.Duration // between releases; 0: each frame at its time
	began   time.Time     // when the first frame was due; releases count from it
	release time.Time     // when what waits is released; zero: nothing waits
	from    int           // first token that is in no frame yet
	opened  bool          // the role frame is out
}

// stream sends the answer frame by frame. An error means that the connection is to be cut.
func (a *answer) stream(ctx context.Context, w http.ResponseWriter) error {
	entry := a.server.sentLog.open(Sent{
		ID: a.id, Prompt: a.prompt.tokens, Cached: a.cached, Hidden: a.hidden, Start: a.start,
	})
	s := &streaming{
		answer: a,
		out:    newOutlet(a, w, entry),
		group:  max(1, a.fault.TokensPerFrame),
		batch:  cmp.Or(time.Duration(a.fault.Batch), a.encoder.format.Every),
		from:   a.hidden,
	}
	err := s.run(ctx)
	switch {
	case err == nil:
	case a.server.isClosed():
		s.out.sentLog.failed(entry, "closed")
	default:
		s.out.sentLog.failed(entry, "canceled")
	}
	return err
}

func (s *streaming) run(ctx context.Context) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	for k := range s.want {
		if end, ok := s.fault.breaks(k); ok {
			return s.breakOff(ctx, end, k)
		}
		at, err := s.await(ctx, k)
		if err != nil {
			return err
		}
		if err := s.put(k, at); err != nil {
			return err
		}
	}
	s.out.add(s.encoder.closing(), 0)
	return s.out.flush()
}

// open sends the headers, what the dialect sends with acceptance, and the role frame if it is to be early.
func (s *streaming) open(ctx context.Context) error {
	h := s.out.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	format := s.encoder.format
	if format.ContentType != "" {
		h.Set("Content-Type", format.ContentType)
	}
	for name, template := range format.Headers {
		h.Set(name, s.encoder.fill(template))
	}
	if !s.server.config.Profile.LateHeaders && !format.LateHeaders {
		s.out.w.WriteHeader(http.StatusOK)
		if err := s.out.control.Flush(); err != nil {
			return err
		}
	}
	s.out.add(s.encoder.fill(format.Prelude), 0)
	if err := s.out.flush(); err != nil {
		return err
	}
	if err := s.keepWaiting(ctx); err != nil {
		return err
	}
	return s.openEarly(ctx)
}

// openEarly sends the role frame before the first token, if a fault says so: at once where an engine decides when that is.
func (s *streaming) openEarly(ctx context.Context) error {
	if s.fault.RoleEarly == 0 || s.encoder.format.Role == "" {
		return nil
	}
	if s.server.engine == nil {
		first, _, err := s.due(ctx, 0, time.Time{})
		if err != nil {
			return err
		}
		if err := s.server.sleepUntil(ctx, first.Add(-time.Duration(s.fault.RoleEarly))); err != nil {
			return err
		}
	}
	s.opened = true
	s.out.add(s.encoder.role(), 0)
	return s.out.flush()
}

// keepWaiting sends the comments that some gateways send at acceptance and every second until the first token is due.
func (s *streaming) keepWaiting(ctx context.Context) error {
	waiting := s.encoder.format.Waiting
	if waiting == "" {
		return nil
	}
	for at := s.origin; ; at = at.Add(time.Second) {
		if first, known, err := s.due(ctx, 0, at); err != nil || known && !at.Before(first) {
			return err
		}
		if err := s.server.sleepUntil(ctx, at); err != nil {
			return err
		}
		s.out.add(waiting, 0)
		if err := s.out.flush(); err != nil {
			return err
		}
	}
}

// await waits until token k is due, releasing what waits in between. A frame that is due at the moment of a release
// goes with it.
func (s *streaming) await(ctx context.Context, k int) (time.Time, error) {
	for {
		at, known, err := s.due(ctx, k, s.release)
		if err != nil {
			return at, err
		}
		if known && (s.release.IsZero() || !s.release.Before(at)) {
			return at, s.server.sleepUntil(ctx, at)
		}
		release := s.release
		if err := s.server.sleepUntil(ctx, release); err != nil {
			return at, err
		}
		s.release = time.Time{}
		if err := s.out.flush(); err != nil {
			return at, err
		}
	}
}

// put takes token k, due at the given moment, into a frame and the frame to its write.
func (s *streaming) put(k int, at time.Time) error {
	last := k == s.want-1
	if k < s.hidden && !last || (k+1)%s.group != 0 && !last {
		return nil
	}
	if last {
		s.out.sentLog.finished(s.out.entry, s.finish)
	}
	s.frames(k + 1)
	if s.batch == 0 || s.began.IsZero() {
		s.began = at
		return s.out.flush()
	}
	if s.release.IsZero() {
		s.release = s.began.Add((at.Sub(s.began) + s.batch - 1) / s.batch * s.batch)
	}
	return nil
}

// frames encodes the tokens up to token to, the role frame before the first. No frame holds both reasoning and answer.
func (s *streaming) frames(to int) {
	if !s.opened {
		s.opened = true
		s.out.add(s.encoder.role(), 0)
	}
	size := s.group
	if s.encoder.format.SingleToken {
		size = 1
	}
	for s.from < to {
		next := min(s.from+size, to)
		if s.from < s.reasoning {
			next = min(next, s.reasoning)
		}
		s.out.add(s.encoder.tokens(s.from, next), next-s.from)
		s.from = next
	}
	if to == s.want && s.hidden == s.want {
		s.out.add(s.encoder.tokens(to, to), 0)
	}
}

// breakOff ends the answer as a fault says after exactly k tokens.
func (s *streaming) breakOff(ctx context.Context, end ending, k int) error {
	s.frames(k)
	if end == endError {
		s.out.add(s.encoder.fill(s.encoder.format.Failure), 0)
	}
	s.out.sentLog.failed(s.out.entry, string(end))
	if err := s.out.flush(); err != nil {
		return err
	}
	switch end {
	case endReset:
		return errCut
	case endStall:
		return s.stall(ctx)
	case endError:
		if s.encoder.format.Cuts {
			return errCut
		}
	}
	return nil
}

// stall is silent until ctx ends, whose error it returns; with comments it sends one every second.
func (s *streaming) stall(ctx context.Context) error {
	if !s.fault.Comments {
		<-ctx.Done()
		return ctx.Err()
	}
	began := time.Now()
	for n := 1; ; n++ {
		at := began.Add(time.Duration(n) * time.Second)
		if err := s.server.sleepUntil(ctx, at); err != nil {
			return err
		}
		s.out.add(s.encoder.format.Comment, 0)
		if err := s.out.flush(); err != nil {
			return err
		}
	}
}
