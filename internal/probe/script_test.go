package probe

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/testing/memconn"
	"github.com/llm-prober/prober/internal/wire"
)

const ms = time.Millisecond

// A script is what a server sends: each step after a pause, in one write.
type script []step

type step struct {
	after time.Duration
	send  string
	then  ending
}

// An ending is what a server does after a step.
type ending int

const (
	goOn ending = iota
	hang        // send nothing more, until the client leaves
	cut         // close the connection without the body's end
)

// after is a script that sends frames after a pause.
func after(pause time.Duration, frames ...string) script {
	return script{{after: pause, send: data(frames...)}}
}

// then sends frames after a pause, when s is done.
func (s script) then(pause time.Duration, frames ...string) script {
	return slices.Concat(s, after(pause, frames...))
}

// hangs is s by a server that hangs after it.
func (s script) hangs() script { return append(s, step{then: hang}) }

// stream answers with the script as an event stream.
func (s script) stream(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	}
	flush := http.NewResponseController(w).Flush
	for _, step := range s {
		select {
		case <-time.After(step.after):
		case <-r.Context().Done():
			return
		}
		_, _ = io.WriteString(w, step.send)
		_ = flush()
		switch step.then {
		case hang:
			<-r.Context().Done()
			return
		case cut:
			panic(http.ErrAbortHandler)
		}
	}
}

// withType makes a server answer with another content type than that of events.
func withType(kind string, server http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", kind)
		server(w, r)
	}
}

// answers is a server that answers with a status, a content type and a body.
func answers(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = []string{kind}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func reply(status int, json string) http.HandlerFunc {
	return answers(status, "application/json", json)
}

// data is an SSE event for each of the JSON texts.
func data(jsons ...string) string {
	var b strings.Builder
	for _, text := range jsons {
		fmt.Fprintf(&b, "data: %s\n\n", text)
	}
	return b.String()
}

// The frames of a chat completion.
const (
	role    = `{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	token   = `{"choices":[{"index":0,"delta":{"content":" x"},"finish_reason":null}]}`
	thought = `{"choices":[{"index":0,"delta":{"reasoning":"hm"},"finish_reason":null}]}`
	stop    = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	limit   = `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`
	done    = "[DONE]"
)

// counted is a token frame with continuous usage.
func counted(total int) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":" x"},"finish_reason":null}],"usage":%s}`,
		counts(80, total))
}

// usage is a usage-only frame.
func usage(prompt, output int) string {
	return fmt.Sprintf(`{"choices":[],"usage":%s}`, counts(prompt, output))
}

func counts(prompt, output int) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, prompt, output, prompt+output)
}

// tokens are n steps of a token each, a gap apart.
func tokens(n int, gap time.Duration) script {
	s := make(script, n)
	for i := range s {
		s[i] = step{after: gap, send: data(token)}
	}
	return s
}

// serve starts a server for the test's bubble and returns a target that asks it.
func serve(t testing.TB, handler http.HandlerFunc) Target {
	t.Helper()
	return serveTLS(t, &http.Server{Handler: handler}, nil)
}

// serveTLS is the same over TLS; without it if config is nil.
func serveTLS(t testing.TB, server *http.Server, config *tls.Config) Target {
	t.Helper()
	memory := memconn.Listen(memconn.Buffer)
	accepts := net.Listener(memory)
	if config != nil {
		accepts = tls.NewListener(memory, config)
	}
	memconn.ServeOn(t, server, accepts)
	target := newTarget(memory.Dial)
	t.Cleanup(target.Transport.Close)
	return target
}

// newTarget is a target with the defaults of these tests.
func newTarget(dial Dial) Target {
	chat, _ := wire.Lookup("openai-chat")
	return Target{
		Name: "t", Group: "g", URL: "http://t", Dialect: chat,
		Transport: NewTransport(Route{Dial: dial}), Timeout: 120 * time.Second, Stall: 30 * time.Second,
	}
}

// must returns what cannot be missing. Without it, the tests end.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// equal fails the test if what it wanted and what it got differ.
func equal[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// endsAs fails the test if a probe did not end as wanted, its error does not say why, or its
// reason is none of the set.
func endsAs(t *testing.T, r *Result, want Outcome, says string) {
	t.Helper()
	if r.Outcome != want || (r.Err == nil) != (want == OK) || r.Err != nil && !strings.Contains(r.Err.Error(), says) {
		t.Errorf("%s: %v; want %s: %s", r.Outcome, r.Err, want, says)
	}
	isCounted := r.Outcome != OK && r.Outcome != Canceled
	if isCounted != slices.Contains(Reasons(), r.Reason) || !isCounted && r.Reason != "" {
		t.Errorf("%s: %v: its reason is %q", r.Outcome, r.Err, r.Reason)
	}
}

// said returns the outcome of a result, with the reason in words if it failed.
func said(r *Result) string {
	if r.Err == nil {
		return string(r.Outcome)
	}
	return fmt.Sprintf("%s: %v", r.Outcome, r.Err)
}

// inBubble runs a test in virtual time. Cleanups run inside, since they wait for goroutines of the bubble.
func inBubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// known returns a count as recordings write it: nil where the server does not tell.
func known(c wire.Count) *int {
	if !c.Known {
		return nil
	}
	return &c.N
}
