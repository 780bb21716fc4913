package probe

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// A served is a server type by one of its APIs: what it says of itself, where it is asked, and a stream of wire's
// testdata that it answers with.
type served struct {
	server    string
	tells     routes // the replies that it is recognized by
	given     string // the API, where it is configured; empty: auto finds it
	api, path string
	fixture   string
	tokenizer string // path of the route that counts tokens; empty: there is none
	want      string // the source of the tokens of a frame, what is said of the cache, and two claims
}

// listing is a model list whose entry has these members besides the id.
func listing(members string) routes {
	return routes{"/v1/models": reply(200, `{"object":"list","data":[{"id":"m",`+members+`}]}`)}
}

// ownedBy is a model list of an owner.
func ownedBy(owner string) routes { return listing(`"owned_by":"` + owner + `"`) }

// and is a server's replies with one more.
func (h routes) and(path, body string) routes {
	h[path] = reply(200, body)
	return h
}

// refusing answers for the model list with a status and a body.
func refusing(status int, body string) routes {
	return routes{"/v1/models": reply(status, body), "/openai/v1/models": reply(status, body)}
}

// hostedAt are the URLs of the server types that are recognized by their host alone.
var hostedAt = map[string]string{
	"bedrock": "http://bedrock-runtime.us-east-1.amazonaws.com/openai/v1",
	"gemini":  "http://generativelanguage.googleapis.com/v1beta/openai",
}

const (
	onChat        = "/v1/chat/completions"
	onCompletions = "/v1/completions"
)

// servedTypes returns every server type and every dialect at least once.
func servedTypes() []served {
	tgiSelf := func() routes {
		info := `{"model_id":"m","max_input_tokens":4000,"max_total_tokens":4096}`
		return listing(`"created":0,"owned_by":"m"`).and("/info", info)
	}
	ray := listing(`"owned_by":"organization-owner","metadata":{"input_modality":"text"}`)
	kserve := routes{"/openai/v1/models": reply(200, `{"object":"list","data":[{"id":"m","owned_by":""}]}`)}
	azure := refusing(404, `{"error":{"code":"404","message":"Resource not found"}}`)
	anthropic := refusing(401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
	index := func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		reply(200, `[{"name":"m","version":"1","state":"READY"}]`)(w, r)
	}
	triton := routes{"/v2": reply(200, `{"name":"triton","version":"2.60.0"}`), "/v2/repository/index": index}
	return []served{
		{"vllm", ownedBy("vllm"), "", "openai-chat", onChat, "vllm/continuous-usage", "/tokenize",
			"tokens by usage, cache unknown, exact output yes, salt yes"},
		{"vllm", ownedBy("vllm"), "openai-responses", "openai-responses", "/v1/responses", "vllm/responses", "/tokenize",
			"tokens by total, cache cold, exact output no, salt yes"},
		{"production-stack", ownedBy("vllm").and("/engines", `[{"engine_id":"a"}]`),
			"openai-completions", "openai-completions", onCompletions, "production-stack/split-frames", "/tokenize",
			"tokens by usage, cache cold, exact output yes, salt yes"},
		{"nim", ownedBy("vllm").and("/v1/metadata", `{"version":"2.0.1","modelInfo":[]}`), "", "openai-chat", onChat,
			"nim/usage-on-each", "/tokenize", "tokens by usage, cache unknown, exact output yes, salt yes"},
		{"ray-serve", ray, "", "openai-chat", onChat, "ray-serve/nulls", "",
			"tokens by usage, cache unknown, exact output yes, salt yes"},
		{"kserve", kserve, "openai-completions", "openai-completions", "/openai/v1/completions", "kserve/transformers", "",
			"tokens by none, cache unknown, exact output yes, salt yes"},
		{"sglang", ownedBy("sglang"), "", "openai-chat", onChat, "sglang/chat-nulls", "",
			"tokens by usage, cache unknown, exact output yes, salt yes"},
		{"lmdeploy", ownedBy("lmdeploy"), "", "openai-chat", onChat, "lmdeploy/output-ids", "",
			"tokens by ids, cache cold, exact output yes, salt no"},
		{"trtllm", ownedBy("tensorrt_llm"), "", "openai-chat", onChat, "trtllm/chat", "",
			"tokens by usage, cache cold, exact output yes, salt no"},
		{"dynamo", ownedBy("nvidia"), "", "openai-chat", onChat, "dynamo/annotations", "",
			"tokens by total, cache unknown, exact output yes, salt yes"},
		{"llama-server", ownedBy("llamacpp"), "", "openai-chat", onChat, "llama-server/chat-timings", "",
			"tokens by usage, cache warm, exact output yes, salt no"},
		{"llama-server", ownedBy("llamacpp"), "llama-server", "llama-server", "/completion", "llama-server/completion",
			"/tokenize", "tokens by usage, cache cold, exact output yes, salt no"},
		{"llama-cpp-python", ownedBy("me"), "", "openai-completions", onCompletions, "llama-cpp-python/completion",
			"/extras/tokenize", "tokens by none, cache unknown, exact output no, salt no"},
		{"ollama", ownedBy("library"), "", "ollama", "/api/generate", "ollama/generate", "",
			"tokens by none, cache unknown, exact output no, salt no"},
		{"tgi", tgiSelf(), "", "tgi", "/generate_stream", "tgi/generate", "/tokenize",
			"tokens by ids, cache unknown, exact output no, salt no"},
		{"tgi", listing(`"created":0,"owned_by":"m"`), "", "openai-chat", onChat, "tgi/chat", "",
			"tokens by ids, cache unknown, exact output no, salt no"},
		{"triton", triton, "", "triton", "/v2/models/m/generate_stream", "triton/vllm", "",
			"tokens by ids, cache unknown, exact output yes, salt no"},
		{"anthropic", anthropic, "", "anthropic", "/v1/messages", "anthropic/cache-and-thinking", "/v1/messages/count_tokens",
			"tokens by none, cache warm, exact output no, salt no"},
		{"azure-openai", azure, "", "azure-openai", "/openai/deployments/m/chat/completions",
			"azure-openai/filter-frames", "",
			"tokens by none, cache cold, exact output no, salt no"},
		{"openai", ownedBy("openai"), "", "openai-chat", onChat, "openai/obfuscation-hidden-reasoning", "",
			"tokens by none, cache cold, exact output no, salt no"},
		{"openai", ownedBy("openai"), "openai-responses", "openai-responses", "/v1/responses", "openai-responses/incomplete",
			"/v1/responses/input_tokens", "tokens by none, cache cold, exact output no, salt no"},
		{"bedrock", routes{}, "", "openai-chat", "/openai/v1/chat/completions", "bedrock/chat", "",
			"tokens by none, cache unknown, exact output no, salt no"},
		{"gemini", routes{"/v1beta/openai/models": reply(200, `{"object":"list","data":[{"id":"m","owned_by":"google"}]}`)},
			"", "openai-chat", "/v1beta/openai/chat/completions", "gemini/chat", "",
			"tokens by usage, cache unknown, exact output no, salt no"},
		{"openrouter", listing(`"supported_parameters":[]`), "", "openai-chat", onChat, "openrouter/processing", "",
			"tokens by none, cache cold, exact output no, salt no"},
		{"litellm", listing(`"owned_by":"openai","max_input_tokens":32768`), "", "openai-chat", onChat, "litellm/rebuilt", "",
			"tokens by total, cache warm, exact output yes, salt yes"},
	}
}

// TestEveryServerOverHTTP holds for each server type and each dialect what a probe finds over HTTP: the type and the
// API by what the server tells, the path it asks, the counts of the answer, and whether a route counts the tokens of
// prompts.
func TestEveryServerOverHTTP(t *testing.T) {
	for _, s := range servedTypes() {
		inBubble(t, s.server+"/"+s.api+s.path, func(t *testing.T) { s.check(t) })
	}
}

// check probes the server once.
func (s served) check(t *testing.T) {
	stream := readFixture(t, "../wire/testdata/"+s.fixture+".want")
	s.tells[s.path] = s.stream(stream.Framing)
	if s.tokenizer != "" {
		s.tells[s.tokenizer] = s.counts
	}
	target := serve(t, s.tells.ServeHTTP)
	target.Key, target.Dialect = "sk-sesame", nil
	target.URL = cmp.Or(hostedAt[s.server], target.URL)
	if s.given != "" {
		target.Dialect = must(wire.Lookup(s.given))
	}
	m := NewMember(target, "m", 1)
	if _, err := m.Identify(t.Context(), AnyAge); err != nil {
		t.Fatal(err)
	}
	tokens := stream.Tokens
	if stream.N != nil {
		tokens = *stream.N
	}
	q := question(tokens)
	r := m.Probe(t.Context(), q)
	if r.Outcome != OK {
		t.Fatalf("%s: %v", r.Outcome, r.Err)
	}
	found := m.Knowledge()
	equal(t, "type and API", []string{s.server, s.api}, []string{found.Type.Name, r.API})
	equal(t, "prompt tokens", stream.Prompt, known(r.Usage.Prompt))
	if stream.N != nil {
		equal(t, "generated tokens", stream.N, known(r.Usage.Generated()))
	}
	frames := stream.Tokens
	if found.Type.TokenFrames && s.api != "tgi" { // also without a text
		frames = *stream.N
	}
	equal(t, "token frames", frames, len(r.Timeline.Frames))
	claims := map[string]wire.Claim{}
	for _, a := range found.Abilities() {
		claims[a.Name] = a.Claim
	}
	equal(t, "found", s.want, fmt.Sprintf("tokens by %s, cache %s, exact output %s, salt %s",
		r.Source, r.Cache, claims["exact_output"], claims["cache_salt"]))
	count, err := m.Tokenize(t.Context(), q.Ask)
	if want := s.tokenizer != ""; count.Known != want || want && count.N != 3 || err != nil {
		t.Errorf("the tokenizer counts %+v (%v)", count, err)
	}
}

// stream answers with the fixture, a frame each millisecond, to who sends the key.
func (s served) stream(framing string) http.HandlerFunc {
	text, kind, end := string(must(os.ReadFile("../wire/testdata/"+s.fixture+".txt"))), "text/event-stream", "\n\n"
	if framing == "ndjson" {
		kind, end = "application/x-ndjson", "\n"
	}
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		key := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") + r.Header.Get("Api-Key")
		if strings.TrimPrefix(key, "Bearer ") != "sk-sesame" {
			http.Error(w, "no key", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", kind)
		for frame := range strings.SplitAfterSeq(text, end) {
			time.Sleep(ms)
			_, _ = io.WriteString(w, frame)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// counts answers as a tokenizer whose prompts have three tokens, in the words of the server type.
func (s served) counts(w http.ResponseWriter, r *http.Request) {
	body := must(io.ReadAll(r.Body))
	switch {
	case !bytes.Contains(body, []byte(`"p"`)): // the prompt
		http.Error(w, "no prompt", http.StatusBadRequest)
	case s.server == "tgi":
		reply(200, `[{"id":1,"text":"a"},{"id":2,"text":"b"},{"id":3,"text":"c"}]`)(w, r)
	case s.server == "llama-server", s.server == "llama-cpp-python":
		reply(200, `{"tokens":[1,2,3]}`)(w, r)
	case s.server == "anthropic", s.server == "openai":
		reply(200, `{"input_tokens":3}`)(w, r)
	default:
		reply(200, `{"count":3,"max_model_len":4096,"tokens":[1,2,3]}`)(w, r)
	}
}

// TestTheContextOfTheFirstModelIsKnown holds that a server that lists its context is not asked for it again.
func TestTheContextOfTheFirstModelIsKnown(t *testing.T) {
	inBubble(t, "first of two", func(t *testing.T) {
		target := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models" {
				http.NotFound(w, r)
				return
			}
			reply(200, `{"data":[{"id":"m","max_model_len":4096},{"id":"other","max_model_len":1}]}`)(w, r)
		})
		m := NewMember(target, "", 1)
		_ = must(m.Identify(t.Context(), 0))
		equal(t, "context", 4096, m.Knowledge().Limits.Context)
	})
}
