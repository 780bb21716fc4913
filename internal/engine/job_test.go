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
// of connections, the outcome, the pause that the prober makes after it, and the plan.
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
	return fmt.Sprintf("%s\n%d connections\n%s asked %s of %s: %s after %v\npaused for %v\n%s every %v\n",
		received.last.Load(), connections, r.Target, r.Prompt, r.Group, r.Outcome, r.Elapsed, time.Since(pauseBegun),
		j.Plan.Pattern, j.Plan.Interval)
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

// TestWhatIsConfiguredArrives holds that each setting has an effect on the request, the probe or the plan, and that
// there is no such effect without it.
func TestWhatIsConfiguredArrives(t *testing.T) {
	for setting, test := range map[string]struct{ effect, needs string }{
		"URL=http://other/base":    {effect: "POST /base/chat/completions HTTP/1.1\r\nHost: other\r\n"},
		"PATH=/my/chat":            {effect: "POST /my/chat HTTP/1.1\r\n"},
		"API=openai-completions":   {effect: "POST /v1/completions HTTP/1.1\r\n"},
		"API_VERSION=2030-01-01":   {effect: "?api-version=2030-01-01 HTTP/1.1\r\n", needs: "API=azure-openai"},
		"SERVER=litellm":           {effect: `"cache":{"no-cache":true}`},
		"MODEL=llama":              {effect: `"model":"llama"`},
		"PRIORITY=-5":              {effect: `"priority":-5`},
		"MAX_TOKENS=7":             {effect: `"max_completion_tokens":7`},
		"HEADERS=X-Team=search":    {effect: "\r\nX-Team: search\r\n"},
		"API_KEY=sk":               {effect: "\r\nAuthorization: Bearer sk\r\n"},
		"SESSION_HEADER=x-user-id": {effect: "\r\nX-User-Id: ", needs: "PROMPT=sessions"},
		"HTTP_VERSION=2":           {effect: "POST /v1/chat/completions HTTP/2.0\r\n"},
		"CONNECTION=reuse":         {effect: "\n1 connections\n"},
		"TIMEOUT=7s":               {effect: "timeout after 7s", needs: "MODEL=silent"},
		"STALL_TIMEOUT=7s":         {effect: "stalled after 7s", needs: "MODEL=stalls"},
		"BACKOFF_LIMIT=7s":         {effect: "paused for 7s", needs: "MODEL=busy"},
		"QPS=4":                    {effect: "constant every 250ms"},
		"ARRIVAL=poisson":          {effect: "poisson every 10s"},
		"NAME=a":                   {effect: "\na asked "},
		"GROUP=g":                  {effect: " of g:"},
		"PROMPT=warm":              {effect: " asked warm "},
	} {
		t.Run(setting, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var needs []string
				if test.needs != "" {
					needs = append(needs, test.needs)
				}
				without, with := effects(t, needs...), effects(t, append(needs, setting)...)
				if !strings.Contains(with, test.effect) || strings.Contains(without, test.effect) {
					t.Errorf("want %q. With the setting:\n%s\nWithout it:\n%s", test.effect, with, without)
				}
			})
		})
	}
}
