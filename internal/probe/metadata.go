package probe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

const (
	metadataTimeout = 5 * time.Second
	maxMetadata     = 8 << 20 // bytes: a tokenizer's reply holds every token of the prompt
)

// metadata sends a request that is not a probe, and returns the header and the body of the reply. If the server rejects
// the request, it returns them with the error. Credentials and prompts that the server repeats are removed from the
// error; about is the question that has the prompt.
func (t Target) metadata(
	ctx context.Context, method, path string, body []byte, about wire.Ask,
) (http.Header, []byte, error) {
	limit := min(metadataTimeout, t.Timeout)
	late := failure(Timeout, ReasonNoAnswerInTime, "no answer within %v", limit)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	req, err := t.request(ctx, method, wire.URL(t.URL, path), bytes.NewReader(body))
	if err != nil {
		return nil, nil, failure(Rejected, ReasonRequestRejected, "%w", err)
	}
	var header http.Header
	var reply []byte
	var v verdict
	returned := t.Transport.stuck.bounded(ctx, func() { header, reply, v = t.Transport.reply(ctx, req) })
	if !returned {
		const text = "%s: the HTTP request did not return at its limit"
		return nil, nil, failure(Timeout, ReasonHTTPClientStuck, text, req.URL.Path)
	}
	if v.outcome != OK {
		v.err = t.scrub(fmt.Errorf("%s: %w", req.URL.Path, v.err), about)
		return header, reply, v
	}
	return header, reply, nil
}

// reply returns the answer to a request that is not a probe, and how it ended.
func (t *Transport) reply(ctx context.Context, req *http.Request) (header http.Header, body []byte, v verdict) {
	tr := &trace{start: time.Now()}
	defer func() { v.expiry = cmp.Or(tr.certExpiry(), refusedExpiry(v.err)) }()
	resp, done, err := t.send(req.WithContext(tr.context(ctx)))
	if err != nil {
		return nil, nil, noAnswer(ctx, tr, err)
	}
	defer done()
	defer resp.Body.Close()
	success := resp.StatusCode/100 == 2
	mayNotEnd := framingOfType(resp) != notFramed && resp.ContentLength < 0
	if success && mayNotEnd || resp.StatusCode < http.StatusOK {
		kind := cmp.Or(mediaType(resp), "no content type")
		return nil, nil, failure(Rejected, ReasonRequestRejected, "HTTP %d with %s is no reply", resp.StatusCode, kind)
	}
	body, err = readBody(resp, maxMetadata)
	if err != nil {
		v, ok := interruption(ctx, "while reading the answer", ReasonNoAnswerInTime)
		if ok {
			return nil, nil, v
		}
		return nil, nil, cutBody(err, "the reply was cut")
	}
	if !success {
		return resp.Header, body, t.badStatus(resp, body)
	}
	return resp.Header, body, verdict{outcome: OK}
}

// isRejection reports whether a metadata request failed because the server answered that it does not want it, or not
// from us.
func isRejection(err error) bool {
	v, _ := errors.AsType[verdict](err)
	return v.outcome == Rejected || v.outcome == Unauthorized
}

// Tokenize asks the server for the tokens of a prompt; none if it has no route for that. If the prompt is longer than
// the server's context, or than a request may be, the reason of the error is [ReasonLongerThanContext].
func (t Target) Tokenize(ctx context.Context, ask wire.Ask) (wire.Count, error) {
	tokenizer, ok := t.Dialect.Tokenizer(ask.Server)
	if !ok {
		return wire.Count{}, nil
	}
	body, err := tokenizer.Body(ask)
	if err != nil {
		return wire.Count{}, err
	}
	_, reply, err := t.metadata(ctx, http.MethodPost, ask.Server.Prefix+tokenizer.Path, body, ask)
	if err == nil {
		return tokenizer.Read(reply), nil
	}
	v, _ := errors.AsType[verdict](err)
	limits, long := wire.TooLong(reply)
	switch {
	case long || v.status == http.StatusRequestEntityTooLarge:
		v.limits, v.reason = limits, ReasonLongerThanContext
		v.err = fmt.Errorf("longer than the server takes: %w", v.err)
		return wire.Count{}, v
	case isRejection(err):
		return wire.Count{}, nil
	}
	return wire.Count{}, err
}
