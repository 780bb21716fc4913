package engine

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/testing/memconn"
)

// A receiver is a server that keeps the last request as it arrived. The model in it decides about the answer: "busy"
// asks for a pause of an hour, "silent" sends nothing, "stalls" sends a token and nothing after it, any other sends a
// whole answer of one token.
type receiver struct{ last atomic.Value }

func (s *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || strings.Contains(r.URL.Path, "tokenize") {
		http.NotFound(w, r)
		return
	}
	dump, err := httputil.DumpRequest(r, true)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	request := string(dump)
	s.last.Store(request)
	switch {
	case strings.Contains(request, `"model":"busy"`):
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case strings.Contains(request, `"model":"silent"`):
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":" x"}}]}`+"\n\n")
	if strings.Contains(request, `"model":"stalls"`) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`+"\n\n"+
		`data: {"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":1}}`+"\n\n"+"data: [DONE]\n\n")
}

// effects probes a receiver once, as settings of the target say. It returns what came of them: the request, the number
// of connections, the outcome, the pause that the prober makes after it, the plan, and what the prompts are made of.
func effects(t *testing.T, settings ...string) string {
	t.Helper()
	received, listener := &receiver{}, memconn.Listen(memconn.Buffer)
	server := &http.Server{Handler: received, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	memconn.ServeOn(t, server, listener)
	connections := 0
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		connections++
		return listener.Dial(ctx, network, address)
	}

	variables := []string{"URL=http://server", "API=openai-chat", "MODEL=m", "PROMPT_TOKENS=20", "MAX_TOKENS=1"}
	variables = append(variables, settings...) // a later one replaces an earlier one
	for i := range variables {
		variables[i] = "TARGETS_0_" + variables[i]
	}
	j := assembleJob(t, dial, variables...)
	results, _, err := j.Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pauseBegun := time.Now()
	for j.Members[0].Skipping() == probe.SkipBackoff {
		time.Sleep(time.Second)
	}
	r := results[0]
	p := j.Length.Prompts[0].Prompts
	return fmt.Sprintf("%s\n%d connections\n%s asked %s of %s: %s after %v\npaused for %v\n%s every %v\n"+
		"prompts of %d tokens, %d users, %d rounds, system prompt of %d, code words at %v\n",
		received.last.Load(), connections, r.Target, r.Prompt, r.Group, r.Outcome, r.Elapsed, time.Since(pauseBegun),
		j.Plan.Pattern, j.Plan.Interval, p.Tokens, p.Users, p.Rounds, p.System, p.Depths)
}

// TestNamesForTLS holds which name a server is asked for over TLS.
func TestNamesForTLS(t *testing.T) {
	const host, ip = "URL=https://server", "URL=https://192.0.2.1:8443"
	for _, test := range []struct {
		settings []string
		want     string
	}{
		{[]string{host}, "server"},
		{[]string{host, "HEADERS=Host=other.example"}, "server"},
		{[]string{host, "TLS_SERVER_NAME=chat.example"}, "chat.example"},
		{[]string{ip}, ""},
		{[]string{ip, "HEADERS=Host=other.example"}, "other.example"},
		{[]string{ip, "HEADERS=host=other.example:8443"}, "other.example"},
		{[]string{"URL=https://[::1]:8443", "HEADERS=Host=other.example"}, "other.example"},
		{[]string{ip, "HEADERS=Host=other.example", "TLS_SERVER_NAME=chat.example"}, "chat.example"},
		{[]string{ip, "HEADERS=Host=192.0.2.2"}, ""},
	} {
		for _, version := range []string{"1.1", "2"} {
			synctest.Test(t, func(t *testing.T) {
				asked := make(chan string, 1)
				listener := memconn.Listen(memconn.Buffer)
				refusing := tls.NewListener(listener, &tls.Config{
					MinVersion: tls.VersionTLS12,
					GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
						asked <- hello.ServerName
						return nil, errors.New("no")
					},
				})
				memconn.ServeOn(t, &http.Server{ErrorLog: log.New(io.Discard, "", 0)}, refusing)
				settings := append([]string{"API=openai-chat", "MODEL=m", "HTTP_VERSION=" + version}, test.settings...)
				for i := range settings {
					settings[i] = "TARGETS_0_" + settings[i]
				}
				r := assembleJob(t, listener.Dial, settings...).Members[0].Probe(t.Context(), probe.Question{})
				if got := <-asked; got != test.want || r.Outcome != probe.TLS {
					t.Errorf("%v: asked for %q, want %q; %s", settings, got, test.want, r.Outcome)
				}
			})
		}
	}
}
