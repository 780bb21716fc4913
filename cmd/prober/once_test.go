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
)

// A limited server is a vLLM that asks for a pause on one of its paths.
type limited struct {
	path   string
	status int
	after  string // Retry-After

	probes atomic.Int64 // how many it received, answered or not
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

// TestOnceGoesOnWithoutABudget holds that a target whose token budget does not allow a probe keeps none of those after
// it from being probed, and is named.
func TestOnceGoesOnWithoutABudget(t *testing.T) {
	t.Setenv("PROBER_TIMESTAMPS", "user")
	server := httptest.NewServer(&limited{})
	defer server.Close()
	t.Setenv("PROBER_TARGETS_0_URL", server.URL)
	t.Setenv("PROBER_TARGETS_0_NAME", "poor")
	t.Setenv("PROBER_TARGETS_0_TOKEN_BUDGET_PER_DAY", "1")
	t.Setenv("PROBER_TARGETS_1_URL", server.URL)
	t.Setenv("PROBER_TARGETS_1_NAME", "rich")
	var out, said bytes.Buffer
	code := run(t.Context(), []string{"once", "--prompt-tokens", "80", "--max-tokens", "2"}, &out, &said)
	const why = "poor was not probed: the token budget of the day is spent"
	if code != exitFailed || !strings.Contains(said.String(), why) {
		t.Errorf("exit code %d: %s", code, said.String())
	}
	if !strings.Contains(out.String(), "verdict    ok") {
		t.Errorf("rich is not probed: %s", out.String())
	}
}

// TestOnceProbesWhateverPauseWasAskedFor holds that once and check probe a server that asked for a pause, unless the
// pause keeps them from learning the model, and that they print who asked for it and what to do.
func TestOnceProbesWhateverPauseWasAskedFor(t *testing.T) {
	t.Setenv("PROBER_TIMESTAMPS", "user")
	const (
		limit = "target answered 429 and asked to wait 30 s: lower the rate of probes (--qps) or raise the quota of this key"
		busy  = "target answered 503 and asked to wait 30 s: other clients are rejected as well"
	)
	for _, test := range []struct {
		path    string
		status  int
		probed  bool
		outcome string // in the headline of once
		advice  string // printed by both; empty: none
	}{
		{"/v1/chat/completions", 429, true, "rate_limited", limit},
		{"/v1/chat/completions", 503, true, "overloaded", busy},
		{"/tokenize", 429, true, "ok", ""},
		{"/v1/models", 429, false, "rate_limited", limit},
		{"/v1/models", 503, false, "overloaded", busy},
	} {
		for _, command := range []string{"once", "check"} {
			t.Run(fmt.Sprint(command, " ", test.path, " ", test.status), func(t *testing.T) {
				limited := &limited{path: test.path, status: test.status, after: "30"}
				server := httptest.NewServer(limited)
				defer server.Close()
				var out bytes.Buffer
				args := []string{command, "target=" + server.URL, "--prompt-tokens", "80", "--max-tokens", "2"}
				run(t.Context(), args, &out, io.Discard) // TestExitCodes holds its exit code
				printed := strings.Join(strings.Fields(out.String()), " ")
				if command == "once" && !strings.HasPrefix(printed, "target "+test.outcome) {
					t.Errorf("the outcome is not %s: %s", test.outcome, printed)
				}
				if !strings.Contains(printed, test.advice) {
					t.Errorf("no %q in %s", test.advice, printed)
				}
				if probed := limited.probes.Load() > 0; probed != test.probed {
					t.Errorf("probed: %t, want %t: %s", probed, test.probed, printed)
				}
			})
		}
	}
}
