package sim

import (
	"context"
	"net/http"
)

// An encoder writes the frames of one answer as they are on the wire.
type encoder interface {
	opening() string            // before the first token; empty for nothing
	tokens(from, to int) string // the tokens [from, to), all of them reasoning or none
	closing() string            // behind the last token
	failure() string            // an error inside of the stream, to its end
}

// A stream is one answer on its way out: frames that wait for their write. It belongs to one goroutine.
type stream struct {
	*answer
	encoder encoder
	w       http.ResponseWriter
	control *http.ResponseController
	entry   *Sent

	together  int // tokens in one write
	frameSize int // of these, tokens in one frame

	waiting []byte
	counts  []int // tokens of each token frame in waiting
	next    int   // first token that is in no frame yet
}

// stream sends the answer. An error means that the connection is to be cut.
func (a *answer) stream(ctx context.Context, w http.ResponseWriter, e encoder) error {
	sent := Sent{ID: a.id, Prompt: a.prompt.tokens, Cached: a.cached, Start: a.start}
	s := &stream{
		answer: a, encoder: e, w: w, control: http.NewResponseController(w), entry: a.server.sentLog.open(sent),
		together: max(1, a.fault.TokensPerFrame),
	}
	s.frameSize = s.together
	if a.server.config.Profile.API == TGI {
		s.frameSize = 1
	}
	err := s.run(ctx)
	if err != nil {
		s.server.sentLog.ends(s.entry, "", "canceled")
	}
	return err
}

func (s *stream) run(ctx context.Context) error {
	err := s.headers()
	for k := 0; k < s.want && err == nil; k++ {
		why := s.fault.breaks(k)
		if why != "" {
			return s.breakOff(ctx, why, k)
		}
		err = s.token(ctx, k)
	}
	if err != nil {
		return err
	}
	s.add(s.encoder.closing(), 0)
	return s.flush()
}

func (s *stream) headers() error {
	s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if s.server.config.Profile.LateHeaders {
		return nil
	}
	s.w.WriteHeader(http.StatusOK)
	return s.control.Flush()
}

// token waits until token k is due, and sends the frame that it completes, if it does.
func (s *stream) token(ctx context.Context, k int) error {
	at, err := s.due(ctx, k)
	if err != nil {
		return err
	}
	err = s.server.sleepUntil(ctx, at)
	last := k == s.want-1
	if err != nil || (k+1)%s.together != 0 && !last {
		return err
	}
	if last {
		s.server.sentLog.ends(s.entry, s.finish, "")
	}
	s.frames(k + 1)
	return s.flush()
}

// frames encodes the tokens up to token to, behind the opening. No frame holds both reasoning and answer.
func (s *stream) frames(to int) {
	if s.next == 0 {
		s.add(s.encoder.opening(), 0)
	}
	for s.next < to {
		end := min(s.next+s.frameSize, to)
		if s.next < s.reasoning {
			end = min(end, s.reasoning)
		}
		s.add(s.encoder.tokens(s.next, end), end-s.next)
		s.next = end
	}
}

// add puts a frame behind those that wait; tokens is 0 for a frame that carries none.
func (s *stream) add(frame string, tokens int) {
	s.waiting = append(s.waiting, frame...)
	if tokens > 0 {
		s.counts = append(s.counts, tokens)
	}
}

// flush sends what waits in one Write, and notes the moment before it. An error means that the client is gone.
func (s *stream) flush() error {
	s.server.sentLog.sending(s.entry, s.counts)
	_, err := s.w.Write(s.waiting)
	s.waiting, s.counts = s.waiting[:0], s.counts[:0]
	if err != nil {
		return err
	}
	return s.control.Flush()
}

// breakOff ends the answer after k tokens in the way of a fault: "stall", "reset" or "error_frame".
func (s *stream) breakOff(ctx context.Context, why string, k int) error {
	s.frames(k)
	if why == "error_frame" {
		s.add(s.encoder.failure(), 0)
	}
	s.server.sentLog.ends(s.entry, "", why)
	err := s.flush()
	switch {
	case err != nil:
		return err
	case why == "stall": // until the client leaves
		<-ctx.Done()
		return ctx.Err()
	case why == "reset":
		return errCut
	}
	return nil
}
