package check

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/engine"
	"github.com/llm-prober/prober/internal/files"
	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/testing/golden"
	"github.com/llm-prober/prober/internal/testing/memconn"
)

const providersPage = "../../docs/integrations/providers.md"

// documented are the requests for an answer as the documentation of each provider has them, by the name of the target
// of the page: URL and header, in which KEY is the key.
var documented = map[string][2]string{
	// https://platform.openai.com/docs/api-reference/chat/create
	"openai": {"https://api.openai.com/v1/chat/completions", "Authorization: Bearer KEY"},
	// https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle: what OpenAI's client sends to that base
	"azure": {"https://RESOURCE.openai.azure.com/openai/v1/chat/completions", "Authorization: Bearer KEY"},
	// https://docs.anthropic.com/en/api/messages
	"anthropic": {"https://api.anthropic.com/v1/messages", "X-Api-Key: KEY Anthropic-Version: 2023-06-01"},
	// https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html
	"bedrock": {
		"https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/chat/completions", "Authorization: Bearer KEY",
	},
	// https://ai.google.dev/gemini-api/docs/openai
	"gemini": {
		"https://generativelanguage.googleapis.com/v1beta/openai/chat/completions", "Authorization: Bearer KEY",
	},
	// https://cloud.google.com/vertex-ai/generative-ai/docs/migrate/openai/examples
	"vertex": {
		"https://us-central1-aiplatform.googleapis.com/v1/projects/PROJECT/locations/us-central1/endpoints/openapi" +
			"/chat/completions", "Authorization: Bearer KEY",
	},
}

// A cloud is all providers. It answers each as its documentation says, and keeps what it was asked.
type cloud struct {
	models  map[string]string // the reply to the list of models, by host; others have none
	answers map[string]string // the stream of an answer, by host

	mu       sync.Mutex
	requests []string // method, URL, headers with keys
}

// newCloud returns the providers of the page.
func newCloud(t *testing.T) *cloud {
	t.Helper()
	read := func(fixture string) string {
		text, err := os.ReadFile("../wire/testdata/" + fixture)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), `"length"`, `"stop"`) // whatever the limit
	}
	list := func(entry string) string { return `{"object":"list","data":[{"object":"model",` + entry + `}]}` }
	gemini := read("gemini/chat.txt")
	return &cloud{
		models: map[string]string{
			"api.openai.com":                    list(`"id":"MODEL","owned_by":"system"`),
			"RESOURCE.openai.azure.com":         list(`"id":"DEPLOYMENT","owned_by":"system"`),
			"api.anthropic.com":                 `{"data":[{"type":"model","id":"MODEL","display_name":"M"}],"has_more":false}`,
			"generativelanguage.googleapis.com": list(`"id":"MODEL","owned_by":"google"`),
		},
		answers: map[string]string{
			"api.openai.com":                          read("openai/chat.txt"),
			"RESOURCE.openai.azure.com":               read("azure-openai/filter-frames.txt"),
			"api.anthropic.com":                       anthropicAnswer,
			"bedrock-runtime.us-east-1.amazonaws.com": read("bedrock/chat.txt"),
			"generativelanguage.googleapis.com":       gemini,
			"us-central1-aiplatform.googleapis.com":   gemini,
		},
	}
}

// anthropicAnswer is a stream of https://docs.anthropic.com/en/docs/build-with-claude/streaming.
const anthropicAnswer = `event: message_start
data: {"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" a b"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" c d e"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

`

// ServeHTTP answers a request, a frame each millisecond. Each word of a prompt is a token.
func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.note(r)
	tokens := wordsOf(body)
	isAnthropic := r.Host == "api.anthropic.com"
	switch {
	case isAnthropic && r.Header.Get("X-Api-Key") == "":
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"x-api-key header is required"}}`)
	case !isAnthropic && r.Header.Get("Authorization") == "":
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") && c.models[r.Host] != "":
		if r.Host == "RESOURCE.openai.azure.com" {
			w.Header().Set("Apim-Request-Id", "x")
		}
		_, _ = io.WriteString(w, c.models[r.Host])
	case r.Method == http.MethodGet:
		http.NotFound(w, r)
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		fmt.Fprintf(w, `{"input_tokens":%d}`, tokens)
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		for frame := range strings.SplitAfterSeq(withPrompt(c.answers[r.Host], tokens), "\n\n") {
			time.Sleep(time.Millisecond)
			_, _ = io.WriteString(w, frame)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// note keeps a request, once.
func (c *cloud) note(r *http.Request) {
	var header []string
	for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key", "Anthropic-Version"} {
		if value := r.Header.Get(name); value != "" {
			header = append(header, name+": "+value)
		}
	}
	request := fmt.Sprintf("%s https://%s%s\n%s\n", r.Method, r.Host, r.URL, strings.Join(header, " "))
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.requests, request) {
		c.requests = append(c.requests, request)
	}
}

// wordsOf returns the number of words in the messages of a request.
func wordsOf(body []byte) (words int) {
	var request struct {
		Messages []struct{ Content string }
	}
	_ = json.Unmarshal(body, &request) // others have no messages
	for _, m := range request.Messages {
		words += len(strings.Fields(m.Content))
	}
	return words
}

// withPrompt returns a stream whose usage counts that many tokens of the prompt.
func withPrompt(stream string, tokens int) string {
	old := regexp.MustCompile(`"(?:prompt|input)_tokens":(\d+)`).FindStringSubmatch(stream)
	was, _ := strconv.Atoi(old[1])
	return regexp.MustCompile(`"(prompt|input|total)_tokens":\d+`).ReplaceAllStringFunc(stream, func(pair string) string {
		key, value, _ := strings.Cut(pair, ":")
		count, _ := strconv.Atoi(value)
		return fmt.Sprintf("%s:%d", key, count-was+tokens)
	})
}

// loadProviders returns the configuration of the page. The key of each target is its name.
func loadProviders(t *testing.T, f *files.Files) *config.Config {
	t.Helper()
	page, err := os.ReadFile(providersPage)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^```yaml\n(# targets.yaml\n.*?)^```$").FindSubmatch(page)
	if block == nil {
		t.Fatal("the page has no targets file")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name := range documented {
		write("keys/"+name, "key-of-"+name)
	}
	write("targets.yaml", string(block[1]))
	loaded, err := config.Load(config.Options{ReadFile: f.Read, Environ: map[string]string{
		"PROBER_TARGETS_FILE": filepath.Join(dir, "targets.yaml"),
		"PROBER_TIMESTAMPS":   "user",
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range loaded.Targets {
		loaded.Targets[i].InsecureSkipVerify = true // the certificate is a test's
	}
	return loaded
}

// isAskedBy returns whether a request, as note keeps it, goes to the server of a target.
func isAskedBy(request string) func(*Target) bool {
	_, asked, _ := strings.Cut(request, "https://")
	asked, _, _ = strings.Cut(asked, "/")
	return func(t *Target) bool {
		u, err := url.Parse(t.URL)
		return err == nil && u.Host == asked
	}
}

// TestProviders checks the targets of docs/integrations/providers.md. It holds that requests go where the providers
// document, with the header that they document, what is found out about each, and what it costs a day.
func TestProviders(t *testing.T) {
	withCertificate := httptest.NewTLSServer(nil)
	withCertificate.Close()
	certificates := &tls.Config{Certificates: withCertificate.TLS.Certificates}
	synctest.Test(t, func(t *testing.T) {
		providers := newCloud(t)
		memory := memconn.Listen(memconn.Buffer)
		memconn.ServeOn(t, &http.Server{Handler: providers}, tls.NewListener(memory, certificates))
		f := files.New()
		jobs, err := engine.Assemble(loadProviders(t, f).Targets, f, length.NewBook(), memory.Dial, "test")
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		r := Run(t.Context(), jobs, Options{Lines: &text})
		for _, j := range jobs {
			j.Close()
		}
		golden.Equal(t, "testdata/providers.golden", text.String())
		slices.SortStableFunc(providers.requests, func(a, b string) int { // they are asked side by side
			return cmp.Compare(slices.IndexFunc(r.Targets, isAskedBy(a)), slices.IndexFunc(r.Targets, isAskedBy(b)))
		})
		golden.Equal(t, "testdata/providers.http", strings.Join(providers.requests, "\n"))
		for name, want := range documented {
			request := "POST " + want[0] + "\n" + strings.ReplaceAll(want[1], "KEY", "key-of-"+name) + "\n"
			if !slices.Contains(providers.requests, request) {
				t.Errorf("not sent:\n%s", request)
			}
		}
		if len(r.Targets) != len(documented) {
			t.Errorf("%d targets, want %d", len(r.Targets), len(documented))
		}
	})
}
