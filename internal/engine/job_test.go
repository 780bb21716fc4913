package engine

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/memconn"
	"github.com/llm-prober/prober/internal/probe"
)

// A receiver is a server that keeps the last request. The model in it says what is answered: "busy" asks for a pause of
// an hour, "silent" sends nothing, "stalls" a token and nothing after it, any other a whole answer of one token.
type receiver struct {
	mu   sync.Mutex
	last string // as it arrived
}

func (s *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || strings.Contains(r.URL.Path, "tokenize") {
		http.NotFound(w, r)
		return
	}
	request, err := httputil.DumpRequest(r, true)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	s.last = string(request)
	s.mu.Unlock()
	if strings.Contains(string(request), `"model":"busy"`) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	if strings.Contains(string(request), `"model":"silent"`) {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":" x"}}]}`+"\n\n")
	if strings.Contains(string(request), `"model":"stalls"`) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return
	}
	fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`+"\n\n"+
		`data: {"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":1}}`+"\n\n"+"data: [DONE]\n\n")
}

// effects probes a receiver in memory once, as settings of the target say. It returns what came of them: the request,
// the outcome, the plan, and the pause that the prober makes after it.
func effects(t *testing.T, settings map[string]string) string {
	t.Helper()
	environ := map[string]string{
		"URL": "http://server", "API": "openai-chat", "MODEL": "m", "PROMPT_TOKENS": "20", "MAX_TOKENS": "1",
	}
	maps.Copy(environ, settings)
	variables := map[string]string{}
	for name, value := range environ {
		variables["PROBER_TARGETS_0_"+name] = value
	}
	loaded, err := config.Load(config.Options{Environ: variables})
	if err != nil {
		t.Fatal(err)
	}

	received := &receiver{}
	server := &http.Server{Handler: received, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	listener := memconn.Listen(memconn.Buffer)
	memconn.ServeOn(t, server, listener)

	connections := 0
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		connections++
		return listener.Dial(ctx, network, address)
	}
	jobs, err := Assemble(loaded.Targets, NewFiles(), dial, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	j := jobs[0]
	defer j.Close()
	results, _, err := j.Once(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := results[0]
	received.mu.Lock()
	defer received.mu.Unlock()
	paused := time.Now()
	for j.Members[0].Skipping() == probe.SkipBackoff {
		time.Sleep(time.Second)
	}
	return fmt.Sprintf("%s\n%d connections\n%s asked %s of %s: %s after %v\npaused for %v\n%s every %v\n",
		received.last, connections, r.Target, r.Prompt, r.Group, r.Outcome, r.Elapsed, time.Since(paused),
		j.Plan.Arrival, j.Plan.Interval)
}

// TestWhatIsConfiguredArrives holds that each setting has an effect on the request, the probe or the plan, and that
// there is no such effect without it.
func TestWhatIsConfiguredArrives(t *testing.T) {
	for setting, test := range map[string]struct {
		besides map[string]string // settings that it needs
		effect  string
	}{
		"URL=http://other/base":    {nil, "POST /base/chat/completions HTTP/1.1\r\nHost: other\r\n"},
		"PATH=/my/chat":            {nil, "POST /my/chat HTTP/1.1\r\n"},
		"API=openai-completions":   {nil, "POST /v1/completions HTTP/1.1\r\n"},
		"API_VERSION=2030-01-01":   {map[string]string{"API": "azure-openai"}, "?api-version=2030-01-01 HTTP/1.1\r\n"},
		"SERVER=litellm":           {nil, `"cache":{"no-cache":true}`},
		"MODEL=llama":              {nil, `"model":"llama"`},
		"PRIORITY=-5":              {nil, `"priority":-5`},
		"MAX_TOKENS=7":             {nil, `"max_completion_tokens":7`},
		"HEADERS=X-Team=search":    {nil, "\r\nX-Team: search\r\n"},
		"API_KEY=sk":               {nil, "\r\nAuthorization: Bearer sk\r\n"},
		"SESSION_HEADER=x-user-id": {map[string]string{"PROMPT": "sessions"}, "\r\nX-User-Id: "},
		"HTTP_VERSION=2":           {nil, "POST /v1/chat/completions HTTP/2.0\r\n"},
		"CONNECTION=reuse":         {nil, "\n1 connections\n"},
		"TIMEOUT=7s":               {map[string]string{"MODEL": "silent"}, "timeout after 7s"},
		"STALL_TIMEOUT=7s":         {map[string]string{"MODEL": "stalls"}, "stalled after 7s"},
		"BACKOFF_LIMIT=7s":         {map[string]string{"MODEL": "busy"}, "paused for 7s"},
		"QPS=4":                    {nil, "constant every 250ms"},
		"ARRIVAL=poisson":          {nil, "poisson every 10s"},
		"NAME=a":                   {nil, "\na asked "},
		"GROUP=g":                  {nil, " of g:"},
		"PROMPT=warm":              {nil, " asked warm "},
	} {
		t.Run(setting, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				name, value, _ := strings.Cut(setting, "=")
				settings := map[string]string{name: value}
				maps.Copy(settings, test.besides)
				with, without := effects(t, settings), effects(t, test.besides)
				if !strings.Contains(with, test.effect) || strings.Contains(without, test.effect) {
					t.Errorf("want %q. With the setting:\n%s\nWithout it:\n%s", test.effect, with, without)
				}
			})
		})
	}
}
