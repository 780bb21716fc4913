package sim

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"
)

// streaming is one answer on its way out: frames that wait for their write. It belongs to one goroutine.
type streaming struct {
	*answer
	w       http.ResponseWriter
	control *http.ResponseController
	entry   *Sent

	waiting []byte
	counts  []int         // tokens of each token frame in waiting
	group   int           // tokens a frame
	batch   time.Duration // between releases; 0: each frame at its time
	began   time.Time     // when the first frame was due; releases count from it
	release time.Time     // when what waits is released; zero: nothing waits
	from    int           // first token that is in no frame yet
	opened  bool          // the role frame is out
}

// add puts a frame behind those that wait; tokens is 0 for a frame that carries none.
func (s *streaming) add(frame string, tokens int) {
	s.waiting = append(s.waiting, frame...)
	if tokens > 0 {
		s.counts = append(s.counts, tokens)
	}
}

// flush sends what waits in one Write, and notes the moment before it. An error means that the client is gone.
func (s *streaming) flush() error {
	if len(s.waiting) == 0 {
		return nil
	}
	s.server.sentLog.sending(s.entry, s.counts)
	_, err := s.w.Write(s.waiting)
	s.waiting, s.counts = s.waiting[:0], s.counts[:0]
	if err != nil {
		return err
	}
	return s.control.Flush()
}

func (a *answer) stream(ctx context.Context, w http.ResponseWriter) error {
	entry := a.server.sentLog.open(Sent{
		ID: a.id, Prompt: a.prompt.tokens, Cached: a.cached, Hidden: a.hidden, Start: a.start,
	})
	s := &streaming{
		answer: a, w: w, control: http.NewResponseController(w), entry: entry,
		group: max(1, a.fault.TokensPerFrame),
		batch: cmp.Or(time.Duration(a.fault.Batch), a.format.Every),
		from:  a.hidden,
	}
	err := s.run(ctx)
	if errors.Is(context.Cause(ctx), errClosed) {
		s.server.sentLog.ends(entry, "", "closed")
	} else if err != nil {
		s.server.sentLog.ends(entry, "", "canceled")
	}
	return err
}

func (s *streaming) run(ctx context.Context) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	for k := range s.want {
		if why := s.fault.breaks(k); why != "" {
			return s.breakOff(ctx, why, k)
		}
		at, err := s.await(ctx, k)
		if err != nil {
			return err
		}
		if err := s.put(k, at); err != nil {
			return err
		}
	}
	s.add(s.closing(), 0)
	return s.flush()
}

// open sends the headers, what the dialect sends with acceptance, and the role frame if it is to be early.
func (s *streaming) open(ctx context.Context) error {
	h, format := s.w.Header(), s.format
	h.Set("Content-Type", cmp.Or(format.ContentType, "text/event-stream; charset=utf-8"))
	for name, template := range format.Headers {
		h.Set(name, s.fill(template, frame{}))
	}
	if !s.server.config.Profile.LateHeaders && !format.LateHeaders {
		s.w.WriteHeader(http.StatusOK)
		if err := s.control.Flush(); err != nil {
			return err
		}
	}
	if err := s.sendAt(ctx, s.origin, s.fill(format.Prelude, frame{})); err != nil {
		return err
	}
	if err := s.keepWaiting(ctx); err != nil {
		return err
	}
	return s.openEarly(ctx)
}

// openEarly sends the role frame before the first token, if a fault says so: at once where an engine decides when that is.
func (s *streaming) openEarly(ctx context.Context) error {
	if s.fault.RoleEarly == 0 || s.format.Role == "" {
		return nil
	}
	at := s.origin
	if s.server.engine == nil {
		first, _, err := s.due(ctx, 0, time.Time{})
		if err != nil {
			return err
		}
		at = first.Add(-time.Duration(s.fault.RoleEarly))
	}
	s.opened = true
	return s.sendAt(ctx, at, s.role())
}

// keepWaiting sends the comments that some gateways send at acceptance and every second until the first token is due.
func (s *streaming) keepWaiting(ctx context.Context) error {
	if s.format.Waiting == "" {
		return nil
	}
	for at := s.origin; ; at = at.Add(time.Second) {
		if first, known, err := s.due(ctx, 0, at); err != nil || known && !at.Before(first) {
			return err
		}
		if err := s.sendAt(ctx, at, s.format.Waiting); err != nil {
			return err
		}
	}
}

func (s *streaming) sendAt(ctx context.Context, at time.Time, text string) error {
	if err := s.server.sleepUntil(ctx, at); err != nil {
		return err
	}
	s.add(text, 0)
	return s.flush()
}

// await waits until token k is due, releasing what waits in between. A frame that is due then goes with it.
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
		s.release = time.Time{}
		if err := s.sendAt(ctx, release, ""); err != nil {
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
		s.server.sentLog.ends(s.entry, s.finish, "")
	}
	s.frames(k + 1)
	if s.batch == 0 || s.began.IsZero() {
		s.began = at
		return s.flush()
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
		s.add(s.role(), 0)
	}
	size := s.group
	if s.format.SingleToken {
		size = 1
	}
	for s.from < to {
		next := min(s.from+size, to)
		if s.from < s.reasoning {
			next = min(next, s.reasoning)
		}
		s.add(s.tokenFrames(s.from, next), next-s.from)
		s.from = next
	}
	if to == s.want && s.hidden == s.want {
		s.add(s.tokenFrames(to, to), 0)
	}
}

func (s *streaming) breakOff(ctx context.Context, why string, k int) error {
	s.frames(k)
	failed := why == "error_frame"
	if failed {
		s.add(s.fill(s.format.Failure, frame{}), 0)
	}
	s.server.sentLog.ends(s.entry, "", why)
	err := s.flush()
	switch {
	case err != nil:
		return err
	case why == "stall":
		return s.stall(ctx)
	case failed && !s.format.Cuts:
		return nil
	}
	return errCut
}

// stall is silent until ctx ends, whose error it returns; with comments it sends one every second.
func (s *streaming) stall(ctx context.Context) error {
	comment := ""
	if s.fault.Comments {
		comment = s.format.Comment
	}
	for at := time.Now().Add(time.Second); ; at = at.Add(time.Second) {
		if err := s.sendAt(ctx, at, comment); err != nil {
			return err
		}
	}
}

// Sent is the truth about one streamed answer: what left the server when.
type Sent struct {
	ID     uint64      `json:"id"`               // counts the compute requests of the server from 1, as their handlers were entered
	Prompt int         `json:"prompt"`           // tokens, template included
	Cached int         `json:"cached"`           // of these, what the prefix cache had
	Hidden int         `json:"hidden,omitempty"` // first tokens that are in no frame: reasoning that only usage counts
	Start  time.Time   `json:"start"`            // when the handler was entered
	Frames []SentFrame `json:"frames"`           // token frames in order: not role, usage, end, error
	Output int         `json:"output"`           // tokens sent so far
	Finish string      `json:"finish,omitempty"` // the finish reason, once it was sent
	// Failed says what broke the answer off: "stall", "reset", "error_frame" (a fault), "canceled" (the client left),
	// "closed" (the server did); empty otherwise. A stall is noted when it starts.
	Failed string `json:"failed,omitempty"`
}

// SentFrame is one token frame.
type SentFrame struct {
	At     time.Time `json:"at"` // right before the Write that carried it: frames of one Write share it
	Tokens int       `json:"tokens"`
}

// sentLog keeps the last answers. It is safe for concurrent use.
type sentLog struct {
	mu      sync.Mutex
	answers []*Sent // guarded by mu, as is all they point to; oldest first
}

// open notes an answer that begins, which only the methods of the log change from now on.
func (l *sentLog) open(s Sent) *Sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	const keptAnswers = 1000
	l.answers = append(l.answers, &s)
	l.answers = l.answers[max(0, len(l.answers)-keptAnswers):]
	return &s
}

// sending notes the token frames of the Write that follows at once, given as tokens per frame.
func (l *sentLog) sending(s *Sent, tokens []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := len(s.Frames)
	for _, n := range tokens {
		s.Frames = append(s.Frames, SentFrame{Tokens: n})
		s.Output += n
	}
	at := time.Now() // last: the Write is not to wait for what is above
	for i := range s.Frames[old:] {
		s.Frames[old+i].At = at
	}
}

// ends notes the finish reason that the next Write carries, or why the answer breaks off; the first of either stays.
func (l *sentLog) ends(s *Sent, finish, failed string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Finish, s.Failed = cmp.Or(s.Finish, finish), cmp.Or(s.Failed, failed)
}

func (l *sentLog) all() []Sent {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]Sent, 0, len(l.answers))
	for _, s := range l.answers {
		c := *s
		c.Frames = slices.Clone(s.Frames)
		out = append(out, c)
	}
	return out
}
