package check

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// A recorded server answers each path with a recording of it, and all others with 404.
type recorded struct {
	t       *testing.T
	folder  string
	answers map[string]string // files by path
}

func (s recorded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	file, ok := s.answers[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	content, err := os.ReadFile(filepath.Join(s.folder, file))
	if err != nil {
		s.t.Error(err)
		return
	}
	content = bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))
	_, answer, _ := bytes.Cut(content, []byte("HTTP/1.1 ")) // behind the request
	head, body, _ := bytes.Cut(answer, []byte("\n\n"))
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader("HTTP/1.1 "+string(head)+"\n\n")), nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	for name, values := range resp.Header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(body)
}

// TestFacts probes what real servers were recorded to answer, and holds what is found of them, what comes of the probe
// and what is advised. PROBER_FACTS names the folder of the recordings, which is not in the repository.
func TestFacts(t *testing.T) {
	folder := os.Getenv("PROBER_FACTS")
	if folder == "" {
		t.Skip("PROBER_FACTS names no folder")
	}
	const chat, completions, responses, messages = "openai-chat", "openai-completions", "openai-responses", "anthropic"
	dynamo := func(path, file string) map[string]string {
		return map[string]string{
			"/v1/models": "dynamo-1.6.1/get-v1_models.txt", "/health": "dynamo-1.6.1/get-health.txt",
			path:                        "dynamo-1.6.1/" + file,
			"/v1/messages/count_tokens": "dynamo-1.6.1/count_tokens.txt",
		}
	}
	ollama := func(path, file string) map[string]string {
		return map[string]string{
			"/v1/models": "ollama-0.17.4/get-v1_models.txt", "/api/ps": "ollama-0.17.4/get-api_ps.txt",
			"/api/version": "ollama-0.17.4/get-api_version.txt", path: "ollama-0.17.4/" + file,
		}
	}
	transformers := func(path, file string) map[string]string {
		return map[string]string{"/v1/models": "transformers-serve-5.24/get-v1_models.txt",
			path: "transformers-serve-5.24/" + file}
	}
	portkey := func(models, answer string) map[string]string {
		return map[string]string{"/v1/models": "portkey-1.15.2/" + models, "/v1/chat/completions": "portkey-1.15.2/" + answer}
	}
	for _, fact := range []struct {
		api     string
		model   string // empty: the first of the list
		answers map[string]string

		server  string
		context int
		outcome probe.Outcome
		prompt  int // tokens that the server counted; 0: none
		cache   probe.CacheState
		hint    string
	}{
		{chat, "", dynamo("/v1/chat/completions", "chat.txt"), "dynamo", 32768, probe.OK, 9, probe.CacheUnknown, ""},
		{chat, "", dynamo("/v1/chat/completions", "nvext.txt"), "dynamo", 32768, probe.OK, 9, probe.CacheUnknown, ""},
		{completions, "", dynamo("/v1/completions", "completions.txt"), "dynamo", 32768, probe.OK, 3, probe.CacheUnknown, ""},
		{messages, "", dynamo("/v1/messages", "messages.txt"), "dynamo", 32768, probe.OK, 9, probe.CacheUnknown, ""},
		{responses, "", dynamo("/v1/responses", "responses.txt"), "dynamo", 32768, probe.OK, 9, probe.CacheUnknown, ""},
		{chat, "nope", dynamo("/v1/chat/completions", "badmodel.txt"), "dynamo", 0, probe.Rejected, 0, probe.CacheUnknown,
			"does not serve this model"},

		{"ollama", "", ollama("/api/generate", "api_generate.txt"), "ollama", 32768, probe.OK, 3, probe.CacheUnknown, ""},
		{"ollama", "tiny", ollama("/api/generate", "api_generate.txt"), "ollama", 2048, probe.OK, 3, probe.CacheUnknown, ""},
		{chat, "", ollama("/v1/chat/completions", "v1_chat_completions.txt"), "ollama", 32768, probe.OK,
			8, probe.CacheUnknown, ""},
		{completions, "", ollama("/v1/completions", "v1_completions.txt"), "ollama", 32768, probe.OK,
			8, probe.CacheUnknown, ""},
		{responses, "", ollama("/v1/responses", "v1_responses.txt"), "ollama", 32768, probe.OK, 8, probe.CacheUnknown, ""},
		{messages, "", ollama("/v1/messages", "v1_messages.txt"), "ollama", 32768, probe.OK, 8, probe.CacheUnknown, ""},

		{chat, "", transformers("/v1/chat/completions", "chat.txt"), "", 0, probe.OK, 9, probe.CacheUnknown, ""},
		{completions, "", transformers("/v1/completions", "completions.txt"), "", 0, probe.OK, 3, probe.CacheUnknown, ""},
		{responses, "", transformers("/v1/responses", "responses.txt"), "", 0, probe.OK, 9, probe.CacheUnknown, ""},
		{chat, "nope", transformers("/v1/chat/completions", "badmodel.txt"), "", 0, probe.Rejected, 0, probe.CacheUnknown,
			"does not serve this model"},

		{chat, "m", map[string]string{"/v1/chat/completions": "llama-cpp-python/chat.txt"}, "", 0, probe.OK,
			0, probe.CacheUnknown, ""},
		{chat, "m", map[string]string{"/v1/chat/completions": "llama-cpp-python/toolong-chat.txt"}, "", 0, probe.Empty, 0,
			probe.CacheUnknown, "longer than the server's context"},
		{completions, "m", map[string]string{"/v1/completions": "llama-cpp-python/toolong-completions.txt"}, "", 0,
			probe.Empty, 0, probe.CacheUnknown, "longer than the server's context"},

		{chat, "", portkey("get-v1_models.txt", "chat.txt"), "vllm", 32768, probe.OK, 9, probe.CacheCold, ""},
		{chat, "m", portkey("get-models-nohdr.txt", "chat-nohdr.txt"), "", 0, probe.Rejected, 0, probe.CacheUnknown,
			"PROBER_TARGETS_n_HEADERS"},

		{chat, "tiny", map[string]string{"/v1/chat/completions": "litellm-backend-down.txt"}, "", 0, probe.ServerError, 0,
			probe.CacheUnknown, "check the server's log"},
	} {
		t.Run(strings.Join(slices.Sorted(maps.Values(fact.answers)), " ")+" by "+fact.api, func(t *testing.T) {
			server := httptest.NewServer(recorded{t, folder, fact.answers})
			defer server.Close()
			given := map[string]string{"API": fact.api, "MODEL": fact.model, "TIMESTAMPS": "user",
				"PROMPT_TOKENS": "16", "MAX_TOKENS": "4"}
			loaded, err := config.Load(config.Options{Overrides: given, URLs: []string{server.URL}})
			if err != nil {
				t.Fatal(err)
			}
			jobs, err := engine.Assemble(loaded.Targets, engine.NewFiles(), nil, "test")
			if err != nil {
				t.Fatal(err)
			}
			member := jobs[0].Members[0]
			_, _ = member.Discover(t.Context()) // a refusal shows in the probe
			found := member.Capabilities()
			r := member.Probe(t.Context(), probe.Question{
				Ask: wire.Ask{Prompt: "hello there", MaxTokens: 4}, Expect: probe.Expectation{Words: 2, Fresh: 2},
			})
			t.Logf("%s, context %d; %s", found.Server.Name, found.Context, r.Failure())
			if found.Server.Name != fact.server || found.Context != fact.context {
				t.Errorf("found %q with a context of %d, want %q and %d", found.Server.Name, found.Context,
					fact.server, fact.context)
			}
			hint := r.Hint()
			if r.Outcome != fact.outcome || r.Usage.Prompt.N != fact.prompt || r.Cache != fact.cache {
				t.Errorf("%s (%v), prompt of %d, %s; want %s, %d, %s", r.Outcome, r.Err, r.Usage.Prompt.N, r.Cache,
					fact.outcome, fact.prompt, fact.cache)
			}
			if !strings.Contains(hint, fact.hint) || (hint == "") != (fact.outcome == probe.OK) {
				t.Errorf("hint %q, want %q in it", hint, fact.hint)
			}
		})
	}
}
