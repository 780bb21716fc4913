package probe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/stream"
	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// An exchange is one request and its answer, and the result that they make. Its steps stand here in their order: run
// sends the request, read reads the answer frame by frame, conclude makes the result. The verdicts on an answer are in
// judge.go.
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
	r.Server = q.Ask.Server.Name
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
	switch {
	case errors.Is(err, wire.ErrNoForm):
		const text = "nothing was sent by the API %s: %w"
		return x.conclude(failure(Rejected, ReasonWorkloadNotOfAPI, text, t.Dialect.Name, wire.ErrNoForm))
	case err != nil:
		return x.conclude(failure(Rejected, ReasonRequestRejected, "%w", err))
	}
	begun := *r // from here on, r belongs to run
	begun.Timeline.Frames = nil
	if t.Transport.stuck.bounded(ctx, func() { x.conclude(x.run(ctx, req)) }) {
		return r
	}
	return x.leaveBehind(ctx, &begun)
}

// leaveBehind makes the result of an exchange whose run did not return at its limit, or was not called because others
// did not return: see [stuckCount]. R is the result as it stood when the exchange began. Of what run works with, only
// the trace is used, which has a lock.
func (x *exchange) leaveBehind(ctx context.Context, r *Result) *Result {
	x.trace.abandon()
	v, wasCalled := interruption(ctx, "and left behind", ReasonHTTPClientStuck)
	if !wasCalled {
		v = failure(Timeout, ReasonHTTPClientStuck, "earlier requests are left behind")
	}
	if v.outcome != Canceled {
		v.reason = ReasonHTTPClientStuck
	}
	text := fmt.Errorf("%w: the HTTP request did not return at its limit", v.err)
	v.err = x.target.scrub(text, x.question.Ask)
	r.CertExpiry = x.trace.certExpiry()
	r.Elapsed = time.Since(r.Start)
	r.end(v)
	return r
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
	x.result.RequestID = requestID(resp.Header)
	x.result.gateway, _ = wire.Recognize(wire.Evidence{Answer: true, Header: resp.Header})
	x.server = x.question.Ask.Server
	if x.server.Name == "" {
		x.server = x.result.gateway
	}
	if resp.StatusCode < http.StatusOK { // 101: the body is the bare connection, without an end
		return failure(Malformed, ReasonUnreadableData, "HTTP %d is no answer", resp.StatusCode)
	}
	isSuccess := resp.StatusCode/100 == 2
	arrivals, ask := conn.arrivals(resp)
	if isSuccess && len(namedCodings(resp.Header)) > 0 {
		x.inflater = newBodyInflater(resp, arrivals, ask)
		arrivals, resp.Body = x.inflater.arrival, x.inflater
		resp.Header.Del("Content-Encoding") // so that nobody inflates it again
	}
	body := &openBody{ReadCloser: resp.Body, arrivals: arrivals, ask: ask, onlyLast: !conn.body.Understands()}
	resp.Body = body
	framing := notFramed
	if isSuccess {
		framing = framingOfType(resp)
	}
	if isSuccess && framing == notFramed { // not otherwise: a first line may come long before the second
		framing = body.framing()
	}
	if framing == notFramed {
		return x.whole(ctx, resp)
	}
	x.frames = body.frames(framing)
	v := x.read(ctx, x.frames.Next, body)
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

// read reads the answer's frames to its end: that of the protocol, or that of the body if it comes first. An error in
// a frame is an end as well. It closes the connection to a server that would generate without end.
func (x *exchange) read(ctx context.Context, next func() (stream.Frame, error), body io.Reader) verdict {
	for {
		frame, err := next()
		var delta wire.Delta
		if err == nil {
			delta, err = x.decode(frame)
		}
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

// decode interprets a frame. An event called error is an error, whatever its data: Dynamo puts the text into a comment.
// But data with a part of the answer are that, whatever the name. An event that keeps the connection awake carries
// nothing, whatever its data, and neither does a line without a field after the finish reason.
func (x *exchange) decode(frame stream.Frame) (wire.Delta, error) {
	isNoField := frame.Bare && !x.frames.Mislabeled()
	if isNoField && x.result.Finish != "" {
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

// addUnfielded judges what stood in an event stream outside of events: an error of the server, or of something before
// it. It is none once the answer has its finish reason: no client reads such lines.
func (x *exchange) addUnfielded() {
	if x.answer.serverErr != nil || x.result.Finish != "" {
		return
	}
	text := x.frames.Unfielded()
	failure := wire.ParseError(text)
	if failure == nil {
		failure = wire.ParseWords(text)
	}
	if failure == nil {
		x.answer.unfielded = len(text)
		return
	}
	x.answer.serverErr = failure
	x.answer.serverErrAt = cmp.Or(x.result.Elapsed, time.Since(x.result.Start))
}

// mayGoOn matches the first line of a JSON text over several lines, or of an event.
var mayGoOn = regexp.MustCompile(`^(\{|\[|event:|data:)`)

// errorOverLines reports whether a frame that is not understood is the first of several that make an error together,
// and notes that error: one that is written over several lines, or as an event among lines of JSON. It waits a moment
// for the others.
func (x *exchange) errorOverLines(first []byte, next func() (stream.Frame, error)) bool {
	if !mayGoOn.Match(first) || x.answer.serverErr != nil {
		return false
	}
	x.endAnswer()
	var text []byte
	add := func(line []byte) {
		if !bytes.HasPrefix(line, []byte("event:")) {
			text = append(text, bytes.TrimPrefix(line, []byte("data:"))...)
			text = append(text, '\n')
		}
	}
	add(first)
	for len(text) < maxErrorBody {
		frame, err := next()
		if err != nil {
			break
		}
		add(frame.Data)
	}
	add(x.frames.Unfielded())
	x.answer.serverErr = wire.ParseError(text)
	x.answer.serverErrAt = x.result.Elapsed
	if x.answer.serverErr == nil {
		return false
	}
	x.errorFrame = text
	return true
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

// conclude makes the result of a verdict. Whatever the server said in it is redacted here.
func (x *exchange) conclude(v verdict) *Result {
	r, ask, expect := x.result, x.question.Ask, x.question.Expect
	if r.Elapsed == 0 {
		r.Elapsed = time.Since(r.Start)
	}
	x.trace.watch.End()
	r.CertExpiry = cmp.Or(x.trace.certExpiry(), refusedExpiry(v.err))
	v = x.withMissingModel(v)
	v = x.withRejectedField(v)
	v.err = x.target.scrub(v.err, ask)
	r.end(v)
	const longestFinish = 100 // characters
	r.Finish = x.target.redact(format.Shorten(format.Clean(r.Finish), longestFinish))
	r.ResponseID = x.target.cleanID(r.ResponseID)
	r.RequestID = x.target.cleanID(r.RequestID)
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
	maxTokens := ask.MaxTokens
	if ask.Form != nil { // JSON has the length that it has
		maxTokens = 0
	}
	r.Warnings = warnings(r, maxTokens, expect.Length)
	for i := range r.Warnings {
		r.Warnings[i].Words = x.target.redact(r.Warnings[i].Words)
	}
	return r
}
