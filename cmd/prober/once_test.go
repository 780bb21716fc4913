package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A limited server is a vLLM that asks for a pause on one of its paths.
type limited struct {
	path   string
	status int
	after  string // Retry-After

	probes atomic.Int64 // that it was sent, answered or not
}

func (l *limited) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if r.URL.Path == "/v1/chat/completions" {
		l.probes.Add(1)
	}
	if r.URL.Path == l.path {
		w.Header().Set("Retry-After", l.after)
		w.WriteHeader(l.status)
		fmt.Fprint(w, `{"error":{"message":"slow down","type":"rate_limit_error"}}`)
		return
	}
	switch r.URL.Path {
	case "/v1/models":
		fmt.Fprint(w, `{"object":"list","data":[{"id":"m","owned_by":"vllm","max_model_len":4096}]}`)
	case "/tokenize":
		fmt.Fprint(w, `{"count":80,"max_model_len":4096,"tokens":null}`)
	case "/v1/chat/completions":
		w.Header().Set("Content-Type", "text/event-stream")
		for n := 1; n <= 2; n++ {
			fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"content":" x"},"finish_reason":null}],`+
				`"usage":{"prompt_tokens":80,"completion_tokens":%d,"total_tokens":%d}}`+"\n\n", n, 80+n)
		}
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`+"\n\ndata: [DONE]\n\n")
	default:
		http.NotFound(w, r)
	}
}

// TestOnceProbesWhateverPauseWasAskedFor holds that a server which asks for a pause is probed nevertheless where
// somebody asks for one probe, and what is said of its refusal: who answered what, how long to wait, what to do.
func TestOnceProbesWhateverPauseWasAskedFor(t *testing.T) {
	t.Setenv("PROBER_TIMESTAMPS", "user")
	const lower, queue = "lower PROBER_QPS (--qps) or raise the quota of this key", "other clients are rejected as well"
	hour := time.Now().Add(time.Hour + 30*time.Second).UTC().Format(http.TimeFormat)
	for name, test := range map[string]struct {
		server *limited
		probed bool   // a probe was sent
		once   string // in the headline of once
		advice string // printed by both; empty: none
	}{
		"429 of the probe": {&limited{path: "/v1/chat/completions", status: 429, after: "30"}, true,
			"rate_limited", "target answered 429 and asked to wait 30 s: " + lower},
		"503 of the probe": {&limited{path: "/v1/chat/completions", status: 503, after: "2.5"}, true,
			"overloaded", "target answered 503 and asked to wait 3 s: " + queue},
		"429 with a date": {&limited{path: "/v1/chat/completions", status: 429, after: hour}, true,
			"rate_limited", "target answered 429 and asked to wait 36"},
		"429 of the tokenizer": {&limited{path: "/tokenize", status: 429, after: "30"}, true, "ok", ""},
		"503 of the tokenizer": {&limited{path: "/tokenize", status: 503, after: hour}, true, "ok", ""},
		"429 of the model list": {&limited{path: "/v1/models", status: 429, after: "30"}, false, "rate_limited",
			"target answered 429 and asked to wait 30 s: " + lower},
		"503 of the model list": {&limited{path: "/v1/models", status: 503, after: "30"}, false, "overloaded",
			"target answered 503 and asked to wait 30 s: " + queue},
		"429 without a pause": {&limited{path: "/v1/chat/completions", status: 429}, true, "rate_limited", lower},
		"503 whose pause is odd": {&limited{path: "/v1/chat/completions", status: 503, after: "soon"},
			true, "overloaded", queue},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(test.server)
			defer server.Close()
			for _, command := range []string{"once", "check"} {
				var out bytes.Buffer
				test.server.probes.Store(0)
				cmd := newRoot()
				cmd.SetArgs([]string{command, "target=" + server.URL, "--prompt-tokens", "80", "--max-tokens", "2"})
				cmd.SetOut(&out)
				cmd.SetErr(io.Discard)
				_ = cmd.Execute() // the exit code is of TestExitCodes
				printed := strings.Join(strings.Fields(out.String()), " ")
				if command == "once" && !strings.HasPrefix(printed, "target "+test.once) ||
					!strings.Contains(printed, test.advice) {
					t.Errorf("%s: no %s and %q in %s", command, test.once, test.advice, printed)
				}
				if probed := test.server.probes.Load() > 0; probed != test.probed || strings.Contains(printed, "backoff") {
					t.Errorf("%s: probed: %t: %s", command, probed, printed)
				}
			}
		})
	}
}
