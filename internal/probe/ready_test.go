package probe

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"
)

// TestReady holds what counts as a server that can answer.
func TestReady(t *testing.T) {
	const list = `{"object":"list","data":[{"id":"m","object":"model"}]}`
	for name, test := range map[string]struct {
		health, models int // status
		ready          bool
	}{
		"healthy":                    {200, 404, true},
		"starting, its check says":   {503, 200, false},
		"starting, all is 503":       {503, 503, false},
		"broken":                     {500, 200, false},
		"too busy to say":            {429, 200, false},
		"no check, a list of models": {404, 200, true},
		"no check, starting":         {404, 503, false},
		"no check, a gateway's 502":  {404, 502, false},
		"neither check nor list":     {404, 404, true},
		"all behind a key":           {401, 401, true},
		"no GET":                     {405, 405, true},
	} {
		inBubble(t, name, func(t *testing.T) {
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				status := test.models
				if r.URL.Path == "/health" {
					status = test.health
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, list)
			})
			if got := target.Ready(t.Context()); got != test.ready {
				t.Errorf("ready is %v", got)
			}
		})
	}
}

// TestAwait holds that a server is looked at each second until it is ready, that
// a limit and an end of the context end this at once, and which of them it was.
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
		"too late":          {time.Hour, 2500 * time.Millisecond, time.Hour, 2500 * time.Millisecond, errNotReady},
		"told to stop":      {time.Hour, time.Minute, 1500 * time.Millisecond, 1500 * time.Millisecond, context.Canceled},
	} {
		inBubble(t, name, func(t *testing.T) {
			start := time.Now()
			ready := start.Add(test.ready)
			m := NewMember(serve(t, health(&ready)), "m", 1, nil)
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
