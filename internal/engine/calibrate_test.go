package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/llm-prober/prober/internal/config"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/wire"
)

// A costly server speaks Anthropic's API, counts four tokens a word, and refuses what its context does not hold, in
// vLLM's words.
type costly struct {
	context int
	listed  bool // the list of models tells the context
	counts  bool // it has a route that counts tokens

	longest atomic.Int64 // that it was ever sent, in tokens
}

func (c *costly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/models" {
		length := 0
		if c.listed {
			length = c.context
		}
		fmt.Fprintf(w, `{"object":"list","data":[{"id":"m","owned_by":"vllm","max_model_len":%d}]}`, length)
		return
	}
	var asked struct {
		Messages []struct{ Content string }
		Limit    int `json:"max_tokens"`
	}
	_ = json.NewDecoder(r.Body).Decode(&asked)
	if len(asked.Messages) == 0 || strings.HasSuffix(r.URL.Path, "count_tokens") && !c.counts {
		http.NotFound(w, r)
		return
	}
	tokens := 4*len(strings.Fields(asked.Messages[0].Content)) + 12
	c.longest.Store(max(c.longest.Load(), int64(tokens)))
	switch {
	case tokens+asked.Limit > c.context:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"BadRequestError","message":"This model's maximum context length is %d tokens. However, your prompt contains at least %d input tokens."}}`, c.context, c.context+1)
	case asked.Limit == 0:
		fmt.Fprintf(w, `{"input_tokens":%d}`, tokens)
	default:
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, `data: {"type":"message_start","message":{"usage":{"input_tokens":%d,"output_tokens":0}}}`+"\n\n", tokens)
		for range asked.Limit {
			fmt.Fprint(w, `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" x"}}`+"\n\n")
		}
		fmt.Fprintf(w, `data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":%d}}`+"\n\n"+`data: {"type":"message_stop"}`+"\n\n", asked.Limit)
	}
}

// job is the job of a server that is asked for prompts, and answers of 20 tokens, by Anthropic's API. All is configured
// that a server could be asked for.
func (c *costly) job(t *testing.T, tokens int) *Job {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	given := map[string]string{"API": "anthropic", "MODEL": "m", "PROMPT_TOKENS": fmt.Sprint(tokens), "MAX_TOKENS": "20"}
	loaded, err := config.Load(config.Options{Overrides: given, URLs: []string{server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := Assemble(loaded.Targets, NewFiles(), nil, "test")
	if err != nil {
		t.Fatal(err)
	}
	return jobs[0]
}

// TestCalibrationStaysWithinTheContext holds that a tokenizer with more tokens a word than most is no obstacle where
// the context is hardly longer than the prompt: whether a route counts tokens or the usage of answers, no guess is
// longer than the prompt.
func TestCalibrationStaysWithinTheContext(t *testing.T) {
	for _, counts := range []bool{true, false} {
		server := &costly{context: 7920, counts: counts, listed: true}
		j := server.job(t, 7900)
		results, next, err := j.Once(t.Context())
		if err != nil || results[0].Outcome != probe.OK || results[0].Usage.Prompt != wire.Tokens(7900) || next != 1 {
			t.Errorf("counts tokens: %t: %s after %d rounds (%v, %v), prompt of %+v tokens",
				counts, results[0].Outcome, next, err, results[0].Err, results[0].Usage.Prompt)
		}
		if known := j.Members[0].Capabilities(); known.Context != 7920 || known.Server.Name != "vllm" { // though nothing else was to be asked
			t.Errorf("counts tokens: %t: %s with a context of %d", counts, known.Server.Name, known.Context)
		}
		if longest := server.longest.Load(); longest != 7900 {
			t.Errorf("counts tokens: %t: a prompt of %d tokens was sent", counts, longest)
		}
	}
}

// TestAContextThatIsTooShortIsLearnt holds that a refusal of the tokenizer, or of the probe where nothing counts
// tokens, tells the context of a server that does not list it, and that a prompt is not taken for shorter than what was
// asked.
func TestAContextThatIsTooShortIsLearnt(t *testing.T) {
	for _, counts := range []bool{true, false} {
		server := &costly{context: 5000, counts: counts}
		j := server.job(t, 8000)
		if _, err := j.Calibrate(t.Context(), 0, true); counts && !errors.Is(err, probe.ErrTooLong) {
			t.Errorf("the tokenizer refused, and %v was made of it", err)
		}
		results, _, err := j.Once(t.Context())
		if err != nil || results[0].Outcome != probe.Rejected {
			t.Errorf("counts tokens: %t: %s (%v)", counts, results[0].Outcome, err)
		}
		known := j.Members[0].Capabilities()
		if text := j.Misfit(j.Targets[0], known.Limits); !strings.Contains(text, "context of 5,000: --prompt-tokens 4980 ") {
			t.Errorf("counts tokens: %t: %q of a context of %d", counts, text, known.Context)
		}
		if longest := server.longest.Load(); longest < 7500 || longest > 8000 {
			t.Errorf("counts tokens: %t: a prompt of %d tokens was sent", counts, longest)
		}
	}
}
