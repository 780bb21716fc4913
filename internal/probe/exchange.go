package probe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// An exchange is one request and its answer, and the result that they make. Its steps stand here in their order: run
// sends the request, read reads the answer, conclude makes the result.
type exchange struct {
	target   Target
	question Question
	server   wire.Server // the type that was asked for, else the one that the answer's header names; zero if neither
	trace    *trace
	inflater *bodyInflater // nil if the answer's header names no coding
	stall    *stallTimer
	answer   *answer
	frames   *stream.Frames // of the answer; nil until it is known to be a stream
	result   *Result

	errorFrame []byte // the beginning of the first frame with an error; nil if there was none
}

// probe asks a question. Target and question hold all that a request needs: see [Member.fill].
func (t Target) probe(ctx context.Context, q Question) *Result {
	ctx, cancel := context.WithTimeoutCause(ctx, t.Timeout, failure(Timeout, ReasonNoAnswerInTime, "probe limit reached"))
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	req, err := t.probeRequest(ctx, q.Ask)
	r := t.newResult(q.Ask.Model)
	r.Began = q.began
	// So that no token frame waits for memory.
	r.Timeline.Frames = make([]timing.Frame, 0, max(0, min(q.Ask.MaxTokens, maxExpected)))
	x := &exchange{
		target: t, question: q, result: r, trace: &trace{},
		answer: newAnswer(r, q),
		stall:  newStallTimer(t.Stall, func() { stop(failure(Stalled, ReasonStreamStalled, "stall limit reached")) }),
	}
	defer x.stall.end()
	x.trace.watch = t.Transport.lookout.Watch()
	r.Start = time.Now()
	x.trace.start = r.Start
	if err != nil {
		return x.conclude(failure(Rejected, ReasonRequestRejected, "%w", err))
	}
	abandoned := *r // what is known if the exchange keeps r
	if t.Transport.stuck.bounded(ctx, func() { x.conclude(x.run(ctx, req)) }) {
		return r
	}
	x.trace.abandon()
	v, ok := interruption(ctx, "and left behind", ReasonHTTPClientStuck)
	if !ok { // it was not sent
		v = failure(Timeout, ReasonHTTPClientStuck, "earlier requests are left behind")
	}
	abandoned.Timeline.Frames = nil
	abandoned.CertExpiry = x.trace.certExpiry()
	abandoned.Elapsed = time.Since(abandoned.Start)
	v.err = fmt.Errorf("%w: the HTTP request did not return at its limit", v.err)
	if v.outcome != Canceled {
		v.reason = ReasonHTTPClientStuck
	}
	abandoned.end(v)
	return &abandoned
}

// run sends the request and reads its answer.
func (x *exchange) run(ctx context.Context, req *http.Request) verdict {
	req.Header.Set("Traceparent", "00-"+x.result.TraceID+"-"+x.result.SpanID+"-01")
	resp, done, err := x.target.Transport.send(req.WithContext(x.trace.context(req.Context())))
	if err != nil {
		x.trace.abandon()
		return noAnswer(ctx, x.trace, err)
	}
	defer done()
	defer resp.Body.Close()
	defer func() {
		if ctx.Err() != nil { // the rest of the answer is not read
			x.trace.abandon()
		}
	}()
	conn := x.trace.gotHeader()
	x.result.Status = resp.StatusCode
	x.result.gateway, _ = wire.Recognize(wire.Evidence{Answer: true, Header: resp.Header})
	x.server = x.question.Ask.Server
	if x.server.Name == "" {
		x.server = x.result.gateway
	}
	arrivals, ask := conn.arrivals(resp)
	if resp.StatusCode/100 == 2 && len(namedCodings(resp.Header)) > 0 {
		x.inflater = newBodyInflater(resp, arrivals, ask)
		arrivals, resp.Body = x.inflater.arrival, x.inflater
		resp.Header.Del("Content-Encoding") // so that nobody inflates it again
	}
	body := &openBody{ReadCloser: resp.Body, arrivals: arrivals, ask: ask, onlyLast: !conn.body.Understands()}
	resp.Body = body
	framing, v := x.noStream(ctx, resp, body)
	if framing == notFramed {
		return v
	}
	x.frames = body.frames(framing)
	v = x.read(ctx, x.frames.Next, body)
	if x.frames.Mislabeled() {
		framing = framing.other()
	}
	if framing != framingOfType(resp) {
		x.result.otherFraming = framing
		x.result.mediaType = x.target.redact(cmp.Or(mediaType(resp), "missing"))
	}
	return v
}

const maxErrorBody = 64 << 10 // bytes of an error that are read

const longestFinish = 100 // characters of a finish reason that are kept

// conclude makes the result of a verdict. Whatever the server said in it is redacted here.
func (x *exchange) conclude(v verdict) *Result {
	r, ask, expect := x.result, x.question.Ask, x.question.Expect
	if r.Elapsed == 0 {
		r.Elapsed = time.Since(r.Start)
	}
	x.trace.watch.End()
	r.Server = ask.Server.Name
	r.CertExpiry = cmp.Or(x.trace.certExpiry(), refusedExpiry(v.err))
	v = x.withMissingModel(v)
	v.err = x.target.scrub(v.err, ask)
	r.end(v)
	r.Finish = x.target.redact(format.Shorten(format.Clean(r.Finish), longestFinish))
	r.Timeline.Phases, _, r.RejectedTimestamps = x.trace.state()
	r.OtherLength = expect.otherLength(x.answer.total().Prompt)
	x.answer.settle()
	if len(r.Timeline.Frames) > 0 {
		x.target.Transport.lookout.Answered(r.Timeline.Frames[0].At, r.Timeline.Uncertain() != nil)
	}
	if x.inflater != nil {
		r.coding = x.inflater.coding
	}
	r.Cache, r.sentBefore = x.question.cacheState(r.Usage), expect.SentBefore
	r.Warnings = warnings(r, ask.MaxTokens, expect.Length)
	for i := range r.Warnings {
		r.Warnings[i].Words = x.target.redact(r.Warnings[i].Words)
	}
	return r
}

// noStream returns the verdict on an answer that is not a stream, and how it is framed if it is one.
func (x *exchange) noStream(ctx context.Context, resp *http.Response, start *openBody) (f framing, v verdict) {
	if resp.StatusCode < http.StatusOK { // 101: the body is the bare connection, without an end
		return notFramed, failure(Malformed, ReasonUnreadableData, "HTTP %d is no answer", resp.StatusCode)
	}
	if resp.StatusCode/100 == 2 {
		f = cmp.Or(framingOfType(resp), start.framing())
	}
	if f != notFramed {
		return f, verdict{}
	}
	return notFramed, x.whole(ctx, resp)
}

// whole returns the verdict on an answer that is not a stream.
func (x *exchange) whole(ctx context.Context, resp *http.Response) verdict {
	body, err := readBody(resp, maxErrorBody)
	v, interrupted := interruption(ctx, "while reading the answer", x.slowAnswerReason())
	if interrupted && err != nil {
		return v
	}
	x.result.rejected = body
	if resp.StatusCode/100 == 2 {
		return x.notStreamed(resp, body)
	}
	v = x.target.Transport.badStatus(resp, body)
	if resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed {
		v.err = fmt.Errorf("%w (%s %s)", v.err, resp.Request.Method, resp.Request.URL.Path)
	}
	return v
}

// notStreamed returns the verdict on a success whose body is no stream: that of the error in it, if there is one. The
// text shows what may not be an answer.
func (x *exchange) notStreamed(resp *http.Response, body []byte) verdict {
	e := wire.ParseBody(body)
	if e != nil {
		return x.reported(e)
	}
	kind := cmp.Or(mediaType(resp), "no content type")
	instead := fmt.Sprintf("HTTP %d with %s instead of a stream", resp.StatusCode, kind)
	inReply := reasonInReply(resp.StatusCode, body)
	switch {
	case wire.MayBeAnswer(body):
		return failure(NotStreamed, ReasonNotAStream, "%s: %d bytes, which look like an answer", instead, len(body))
	case inReply.isNoServerLeft():
		text := join(instead, join(noServerText(inReply), wire.Describe(body, "")))
		return failure(ServerError, inReply, "%s", text)
	case len(body) == 0:
		return failure(NotStreamed, ReasonNotAStream, "%s: no bytes", instead)
	}
	return failure(NotStreamed, ReasonNotAStream, "%s: %s", instead, wire.Describe(body, ""))
}

const (
	typeSSE    = "text/event-stream"
	typeNDJSON = "application/x-ndjson"
	typeJSON   = "application/json"
)

// framingOfType returns how an answer is framed by its type, whatever type was asked for.
func framingOfType(resp *http.Response) framing {
	switch mediaType(resp) {
	case typeSSE:
		return eventStream
	case typeNDJSON:
		return jsonLines
	}
	return notFramed
}

// mediaType returns the type of the answer's body, without parameters; the first if a proxy made several.
func mediaType(resp *http.Response) string {
	first, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ",")
	name, _, _ := strings.Cut(first, ";")
	const longest = 100 // characters; the ellipsis after them shows redact where a key was cut
	return format.Shorten(strings.ToLower(strings.TrimSpace(name)), longest)
}

// read reads the answer's frames to its end: that of the protocol, or that of the body if it comes first. An error in
// a frame is an end as well. It closes the connection to a server that would generate without end.
func (x *exchange) read(ctx context.Context, next func() (stream.Frame, error), body io.Reader) verdict {
	for {
		frame, delta, err := x.readFrame(next)
		switch {
		case errors.Is(err, io.EOF):
			return x.complete()
		case errors.Is(err, wire.ErrMalformed) && x.errorOverLines(frame.Data, next):
			return x.complete()
		case err != nil:
			return x.broken(ctx, err)
		case len(x.result.Timeline.Frames) == maxTokenFrames:
			return failure(Malformed, ReasonUnreadableData, "more than %d token frames", maxTokenFrames)
		}
		wasFinished := x.result.Finish != ""
		isToken := x.answer.add(frame.Arrival, delta)
		if delta.End || delta.Err != nil {
			x.awaitBodyEnd(ctx, body)
			return x.complete()
		}
		isFinish := delta.Finish != "" && !wasFinished
		if isToken || isFinish { // what is missing after it, usage or the end, may take as long as a token
			x.stall.restart()
		}
		if !isToken {
			continue
		}
		if len(x.result.Timeline.Frames) == 1 {
			x.trace.watch.AnswerBegan()
		}
		v, ok := x.tooLong()
		if ok && !isFinish {
			x.trace.abandon()
			return v
		}
	}
}

// readFrame reads a frame and what it says.
func (x *exchange) readFrame(next func() (stream.Frame, error)) (stream.Frame, wire.Delta, error) {
	frame, err := next()
	if err != nil {
		return frame, wire.Delta{}, err
	}
	delta, err := x.decode(frame)
	return frame, delta, err
}

// endAnswer notes that the answer has ended. What is read from now on is read within a moment, which is no part of the
// probe's time.
func (x *exchange) endAnswer() {
	const grace = time.Second
	x.result.Elapsed = time.Since(x.result.Start)
	if x.question.flight != nil {
		x.question.flight.answered.Store(true)
	}
	x.stall.endWithin(grace)
}

// awaitBodyEnd waits a moment for the end of the body after that of the answer, because only then the connection can
// serve another probe. Whether that end comes is no part of the answer.
func (x *exchange) awaitBodyEnd(ctx context.Context, body io.Reader) {
	const most = 64 << 10 // bytes
	x.endAnswer()
	n, err := io.Copy(io.Discard, io.LimitReader(body, most))
	switch {
	case n == most || ctx.Err() != nil:
		x.result.closing = leftOpen
		x.trace.abandon()
	case err != nil:
		x.result.closing = cutAfterEnd
	}
}

// tooLong returns the verdict on an answer that goes on after the tokens that were asked for, whether or not it gave a
// finish reason in between; ok is false if it does not, as far as is known yet. Tokens that the server counts are
// proof. Frames alone are so only if there are several times as many: a gateway may cut the text of a token into
// pieces.
func (x *exchange) tooLong() (v verdict, ok bool) {
	const overrun = 3        // tokens beyond those asked: llama-server completes a character of several tokens
	const framesPerToken = 4 // at most
	asked := x.question.Ask.MaxTokens
	most := asked + overrun
	frames := len(x.result.Timeline.Frames)
	counted := max(x.answer.tokens.reported, x.answer.tokens.counted)
	var came string
	switch {
	case asked == 0:
		return verdict{}, false
	case counted > most:
		came = fmt.Sprintf("%d tokens", max(counted, frames))
	case frames > framesPerToken*most:
		came = fmt.Sprintf("%d token frames", frames)
	default:
		return verdict{}, false
	}
	piece := x.server.PieceTokens
	if piece > 0 && asked > piece && asked%piece > 0 {
		const text = "%s and no end, asked %d: the server generates long answers in whole pieces of %d tokens, " +
			"and the probe was canceled"
		return failure(WrongLength, ReasonAnswerInPieces, text, came, asked, piece), true
	}
	const text = "%s and no end, asked %d: the server ignores the limit of an answer's length, and the probe was canceled"
	return failure(WrongLength, ReasonAnswerBeyondLimit, text, came, asked), true
}

// decode interprets a frame. An event called error is an error, whatever its data: Dynamo puts the text into a comment.
// But data with a part of the answer are that, whatever the name. An event that keeps the connection awake carries
// nothing, whatever its data, and neither does a line without a field after the finish reason.
func (x *exchange) decode(frame stream.Frame) (wire.Delta, error) {
	isIgnored := frame.Bare && x.frames != nil && !x.frames.Mislabeled()
	if isIgnored && x.result.Finish != "" {
		return wire.Delta{}, nil
	}
	switch strings.ToLower(frame.Event) {
	case "ping", "pong", "heartbeat", "keepalive", "keep-alive", "keep_alive":
		return wire.Delta{}, nil
	}
	delta, err := x.target.Dialect.Decode(x.target.Dialect.WithType(frame.Event, frame.Data))
	if x.errorFrame == nil && (delta.Err != nil || frame.Event == "error") {
		x.errorFrame = bytes.Clone(frame.Data[:min(len(frame.Data), maxErrorBody)])
	}
	hasAnswer := len(delta.Text)+len(delta.Reasoning) > 0
	if frame.Event == "error" && (err != nil || delta.Err == nil && !hasAnswer) {
		return wire.Delta{Err: wire.ParseErrorEvent(frame.Data)}, nil
	}
	isAnswer := delta.Choice && delta.Err == nil
	if x.server.TokenFrames && isAnswer && delta.Tokens == 0 {
		delta.Tokens = 1
		delta.RoleOnly = false
	}
	return delta, err
}
