package probe

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// TestReady holds what counts as a server that can answer.
func TestReady(t *testing.T) {
	const one = `{"object":"list","data":[{"id":"m","object":"model"}]}`
	for name, test := range map[string]struct {
		health, models int // status
		ready          bool

		litellm   bool
		readiness int

		list, model string // the reply, and the model that is given; empty: of one, and none
	}{
		"healthy":                    {health: 200, models: 404, ready: true},
		"starting, its check says":   {health: 503, models: 200, ready: false},
		"starting, all is 503":       {health: 503, models: 503, ready: false},
		"broken":                     {health: 500, models: 200, ready: false},
		"too busy to say":            {health: 429, models: 200, ready: false},
		"no check, a list of models": {health: 404, models: 200, ready: true},
		"no check, starting":         {health: 404, models: 503, ready: false},
		"no check, a gateway's 502":  {health: 404, models: 502, ready: false},
		"neither check nor list":     {health: 404, models: 404, ready: true},
		"all behind a key":           {health: 401, models: 401, ready: true},
		"no GET":                     {health: 405, models: 405, ready: true},
		"healthy, no model yet":      {health: 200, models: 200, list: `{"object":"list","data":[]}`, ready: false},
		"no check, no model yet":     {health: 404, models: 200, list: `{"object":"list","data":null}`, ready: false},
		"no list, its model given":   {health: 200, models: 200, list: `{"object":"list","data":[]}`, model: "m", ready: true},
		"something else, no list":    {health: 200, models: 200, list: `{"models":7}`, ready: true},
		"LiteLLM, ready":             {models: 200, litellm: true, readiness: 200, ready: true},
		"LiteLLM, starting":          {models: 200, litellm: true, readiness: 503},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				status := test.models
				if r.URL.Path == "/health" {
					status = test.health
				}
				if test.litellm {
					w.Header().Set("X-Litellm-Version", "1.80.0")
				}
				if test.litellm && r.URL.Path == "/health" {
					t.Error("asked LiteLLM to ask its models")
				}
				if r.URL.Path == "/health/readiness" {
					status = test.readiness
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, cmp.Or(test.list, one))
			})
			if got := target.Ready(t.Context(), test.model); got != test.ready {
				t.Errorf("ready is %v", got)
			}
		})
	}
}

// TestAwait holds that a server is looked at each second until it is ready, that a limit and an end of the context
// end this at once, and which of them it was.
func TestAwait(t *testing.T) {
	health := func(from *time.Time) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if time.Now().Before(*from) {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}
	}
	for name, test := range map[string]struct {
		ready, limit, end time.Duration
		took              time.Duration
		err               error
	}{
		"ready":             {0, time.Minute, time.Hour, 0, nil},
		"ready after a bit": {90500 * time.Millisecond, 2 * time.Minute, time.Hour, 91 * time.Second, nil},
		"too late":          {time.Hour, 2500 * time.Millisecond, time.Hour, 2500 * time.Millisecond, context.DeadlineExceeded},
		"told to stop":      {time.Hour, time.Minute, 1500 * time.Millisecond, 1500 * time.Millisecond, context.Canceled},
	} {
		inBubble(t, name, func(t *testing.T) {
			start := time.Now()
			ready := start.Add(test.ready)
			m := NewMember(serve(t, health(&ready)), "m", 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(test.end, cancel)
			err := m.Await(ctx, test.limit)
			if took := time.Since(start); took != test.took || !errors.Is(err, test.err) {
				t.Errorf("took %v, error %v", took, err)
			}
		})
	}
}

// TestAServerThatDoesNotTellWhatItIs holds that the result of a probe which was never sent says so, and which limit
// was over: that of the question.
func TestAServerThatDoesNotTellWhatItIs(t *testing.T) {
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		gone    bool
		sent    bool
		err     string
	}{
		"silent":      {handler: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, sent: true, err: "/v1/models: no answer within 5s while waiting for the response header"},
		"unreachable": {gone: true, err: "/v1/models: no answer within 5s while connecting"},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, test.handler)
			if test.gone {
				target = newTarget(func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() })
			}
			target.Dialect = nil
			r := NewMember(target, "", 1).Probe(t.Context(), Question{Ask: wire.Ask{Prompt: "p", MaxTokens: 1}})
			sent, ok := r.Undiscovered()
			if r.Outcome != Timeout || r.Elapsed != 5*time.Second || sent != test.sent || !ok || r.Err.Error() != test.err {
				t.Errorf("%s after %v: %v; undiscovered %v, sent %v", r.Outcome, r.Elapsed, r.Err, ok, sent)
			}
		})
	}
}

// TestWhatShowsWhoAsks holds what a result says of the credentials of its request.
func TestWhatShowsWhoAsks(t *testing.T) {
	for _, test := range []struct {
		key    string
		header http.Header
		want   Key
	}{
		{"", nil, KeyNone},
		{"", http.Header{"X-Team": {"inference"}}, KeyNone},
		{"sk-1", nil, KeyGiven},
		{"bearer sk-1", nil, KeyPrefixed},
		{"sk-1", http.Header{"Authorization": {"Basic x"}}, KeyInHeader},
		{"", http.Header{"X-Api-Key": {"sk-1"}}, KeyInHeader},
	} {
		inBubble(t, string(test.want), func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
			target.Key, target.Header = test.key, test.header
			asked := target.Probe(t.Context(), wire.Ask{Prompt: "p", MaxTokens: 1})
			target.Dialect = nil
			undiscovered := NewMember(target, "", 1).Probe(t.Context(), Question{Ask: wire.Ask{Prompt: "p", MaxTokens: 1}})
			if asked.Key != test.want || undiscovered.Key != test.want {
				t.Errorf("key %q, header %v: %s and %s, want %s", test.key, test.header, asked.Key, undiscovered.Key, test.want)
			}
		})
	}
}
