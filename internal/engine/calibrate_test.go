package engine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/testing/memconn"
	"github.com/llm-prober/prober/internal/wire"
)

// A costly server speaks Anthropic's API, and refuses what its context does not hold, in vLLM's words.
type costly struct {
	perWord  int // tokens of a word
	template int // tokens of the chat template
	context  int
	listed   bool // the list of models names the context
	counts   bool // it has a route that counts tokens
	forgets  bool // that route leaves out the chat template

	longest atomic.Int64 // prompt that it was sent, in tokens
	counted atomic.Int64 // requests to count tokens
	short   atomic.Int64 // requests for short answers
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
	counting := strings.HasSuffix(r.URL.Path, "count_tokens")
	if len(asked.Messages) == 0 || counting && !c.counts {
		http.NotFound(w, r)
		return
	}
	words := c.perWord * len(strings.Fields(asked.Messages[0].Content))
	tokens := words + c.template
	c.longest.Store(max(c.longest.Load(), int64(tokens)))
	switch {
	case tokens+asked.Limit > c.context:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"BadRequestError","message":"This model's maximum context `+
			`length is %d tokens. However, your prompt contains at least %d input tokens."}}`, c.context, c.context+1)
	case counting:
		c.counted.Add(1)
		if c.forgets {
			tokens = words
		}
		fmt.Fprintf(w, `{"input_tokens":%d}`, tokens)
	default:
		if asked.Limit == length.ShortAnswer {
			c.short.Add(1)
		}
		writeMessage(w, fmt.Sprintf(`"input_tokens":%d,"output_tokens":0`, tokens), asked.Limit)
	}
}

// writeMessage answers by the Messages API with that many tokens. Usage is the members of the first usage.
func writeMessage(w http.ResponseWriter, usage string, tokens int) {
	const token = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" x"}}` + "\n\n"
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"type":"message_start","message":{"usage":{%s}}}`+"\n\n%s"+
		`data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"},"usage":{"output_tokens":%d}}`+"\n\n"+
		`data: {"type":"message_stop"}`+"\n\n", usage, strings.Repeat(token, tokens), tokens)
}

// job returns the job of the server for prompts of a length and answers of 20 tokens. All that a probe needs is
// configured.
func (c *costly) job(t *testing.T, tokens int) *Job {
	t.Helper()
	return assembleJob(t, memconn.Serve(t, c).Dial, "TARGETS_0_URL=http://server", "TARGETS_0_API=anthropic",
		"TARGETS_0_MODEL=m", fmt.Sprintf("PROMPT_TOKENS=%d", tokens), "MAX_TOKENS=20")
}

// TestCalibrationStaysWithinTheContext holds that prompts become exact although the context is hardly longer than they
// are and a word costs more tokens than usual: no guess is longer than the prompt, whether a route counts tokens or the
// usage of answers does.
func TestCalibrationStaysWithinTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, counts := range []bool{true, false} {
			server := &costly{perWord: 4, template: 12, context: 7920, counts: counts, listed: true}
			j := server.job(t, 7900)
			results, next, err := j.Once(t.Context())
			if err != nil || next != 1 {
				t.Fatalf("counts tokens: %t: %d rounds, %v", counts, next, err)
			}
			if r := results[0]; r.Outcome != probe.OK || r.Usage.Prompt != wire.Tokens(7900) {
				t.Errorf("counts tokens: %t: %s, prompt of %+v tokens", counts, report.Failure(r), r.Usage.Prompt)
			}
			if longest := server.longest.Load(); longest != 7900 {
				t.Errorf("counts tokens: %t: a prompt of %d tokens was sent", counts, longest)
			}
			// Nothing else had to be asked, and what the server is was found out all the same.
			if known := j.Members[0].Knowledge(); known.Limits.Context != 7920 || known.Type.Name != "vllm" {
				t.Errorf("counts tokens: %t: %s with a context of %d", counts, known.Type.Name, known.Limits.Context)
			}
		}
	})
}

// TestAContextThatIsTooShortIsLearnt holds that the context of a server that does not list it is learned from a
// refusal, of the tokenizer or of the probe where nothing counts tokens, and that no prompt is shorter than asked.
func TestAContextThatIsTooShortIsLearnt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, counts := range []bool{true, false} {
			server := &costly{perWord: 4, template: 12, context: 5000, counts: counts}
			j := server.job(t, 8000)
			err := j.Length.Prompts[0].CountByTokenizer(t.Context(), 0)
			if counts && probe.ReasonOf(err) != probe.ReasonLongerThanContext {
				t.Errorf("the tokenizer refused, and the error is %v", err)
			}
			results, _, err := j.Once(t.Context())
			if err != nil || results[0].Outcome != probe.Rejected {
				t.Errorf("counts tokens: %t: %s (%v)", counts, results[0].Outcome, err)
			}
			text := j.Lengths(j.Targets[0], 0).Misfit(j.Members[0].Knowledge().Limits, nil)
			if !strings.Contains(text, "context of 5,000: one of 4980 ") {
				t.Errorf("counts tokens: %t: %q", counts, text)
			}
			if longest := server.longest.Load(); longest < 7500 || longest > 8000 {
				t.Errorf("counts tokens: %t: a prompt of %d tokens was sent", counts, longest)
			}
		}
	})
}
