package engine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/llm-prober/prober/internal/testing/memconn"
	"github.com/llm-prober/prober/internal/wire"
)

// A caching server has a prefix cache, and counts a token a word and those of its chat template. It is of no known
// type.
type caching struct {
	chat    bool // it speaks OpenAI's chat, else the Messages API
	counts  bool // it has a route that counts tokens
	remains bool // it had been sent the same prompts before the prober started

	mu    sync.Mutex
	apart bool // it counts cached tokens apart from the others, else within
	mute  bool // it counts them nowhere
	sent  [][]string
}

const templateTokens = 12

func (c *caching) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct{ Content string }
		Short    int `json:"max_tokens"`
		Limit    int `json:"max_completion_tokens"`
	}
	_ = json.NewDecoder(r.Body).Decode(&asked)
	isCounting := strings.HasSuffix(r.URL.Path, "count_tokens")
	if len(asked.Messages) == 0 || isCounting && !c.counts {
		http.NotFound(w, r)
		return
	}
	var text strings.Builder
	for _, m := range asked.Messages {
		text.WriteString(m.Content + " ")
	}
	words := strings.Fields(text.String())
	if isCounting {
		fmt.Fprintf(w, `{"input_tokens":%d}`, len(words)+templateTokens)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	prompt, cached := len(words)+templateTokens, c.cached(words)
	if c.apart {
		prompt -= cached
	}
	w.Header().Set("Content-Type", "text/event-stream")
	limit := max(asked.Short, asked.Limit)
	if c.chat {
		const token = `data: {"choices":[{"index":0,"delta":{"content":" x"}}]}` + "\n\n"
		fmt.Fprintf(w, "%s"+`data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`+"\n\n"+
			`data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,%s}}`+"\n\ndata: [DONE]\n\n",
			strings.Repeat(token, limit), prompt, limit, c.details(`"prompt_tokens_details":{"cached_tokens":%d}`, cached))
		return
	}
	writeMessage(w, fmt.Sprintf(`"input_tokens":%d,%s`, prompt, c.details(`"cache_read_input_tokens":%d`, cached)), limit)
}

// cached returns how many tokens of a prompt are in the cache, which takes the prompt.
func (c *caching) cached(words []string) int {
	longest := 0
	for _, before := range c.sent {
		n := 0
		for n < len(words) && n < len(before) && words[n] == before[n] {
			n++
		}
		longest = max(longest, n)
	}
	if c.remains {
		longest = len(words)
	}
	c.sent = append(c.sent, words)
	return longest / 16 * 16
}

// details returns the count of cached tokens, or a key that says nothing.
func (c *caching) details(format string, cached int) string {
	if c.mute {
		return `"more":null`
	}
	return fmt.Sprintf(format, cached)
}

// TestPromptsOfAServerWithACache holds that a prompt has its length in each round, that it is calibrated once, and that
// each probe after that is a sample, whether the server counts what its cache had within the prompt or apart, or
// nowhere.
func TestPromptsOfAServerWithACache(t *testing.T) {
	const sampled = "ok, prompt of 2000 tokens, judged by availability, judged by ttft, sampled"
	for name, test := range map[string]struct {
		server   *caching
		workload string
	}{
		"messages, within, a tokenizer":   {&caching{counts: true}, "warm"},
		"messages, within":                {&caching{}, "warm"},
		"messages, within, cached before": {&caching{remains: true}, "warm"},
		"messages, within, cold":          {&caching{}, "cold"},
		"messages, apart, a tokenizer":    {&caching{counts: true, apart: true}, "warm"},
		"messages, apart":                 {&caching{apart: true}, "warm"},
		"messages, apart, cached before":  {&caching{apart: true, remains: true}, "warm"},
		"messages, apart, cold":           {&caching{apart: true}, "cold"},
		"chat, within":                    {&caching{chat: true}, "warm"},
		"chat, within, cached before":     {&caching{chat: true, remains: true}, "warm"},
		"chat, apart":                     {&caching{chat: true, apart: true}, "warm"},
		"chat, apart, cached before":      {&caching{chat: true, apart: true, remains: true}, "warm"},
		"chat, apart, cold":               {&caching{chat: true, apart: true}, "cold"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := test.server.job(t, test.workload)
				got := slot(t, j, 0, 0)
				if got != "skipped: waiting" {
					t.Errorf("the first slot: %s", got)
				}
				for round := range uint64(4) {
					got := slot(t, j, 0, round)
					if got != sampled {
						t.Errorf("round %d: %s, want %s", round, got, sampled)
					}
				}
			})
		})
	}
}

// job returns the job of the server for prompts of 2,000 tokens and answers of 20.
func (c *caching) job(t *testing.T, workload string) *Job {
	t.Helper()
	api := "anthropic"
	if c.chat {
		api = "openai-chat"
	}
	return assembleJob(t, memconn.Serve(t, c).Dial, "TARGETS_0_URL=http://server", "TARGETS_0_API="+api,
		"TARGETS_0_MODEL=m", "PROMPT="+workload, "PROMPT_TOKENS=2000", "MAX_TOKENS=20")
}

// TestAServerThatCountsItsCacheOtherwise holds that a belief in how a server counts its cache heals: with the next
// answer if the server counts otherwise, and without a failed probe.
func TestAServerThatCountsItsCacheOtherwise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &caching{}
		j := server.job(t, "warm")
		slot(t, j, 0, 0) // its length is found out, with a cache for what prompts have in common
		for round, step := range []struct {
			apart, mute bool
			want        string
			belief      wire.Claim
		}{
			{false, false, "ok, prompt of 2000 tokens, judged by availability, judged by ttft, sampled", wire.Never},
			{false, false, "ok, prompt of 2000 tokens, judged by availability, judged by ttft, sampled", wire.Never},
			{true, false, "ok, prompt of 2000 tokens, judged by availability, judged by ttft, sampled", wire.Always},
			{false, false, "ok, prompt of 2000 tokens, judged by availability, judged by ttft, sampled", wire.Never},
			{true, true, "ok, prompt of 0 tokens, judged by availability, judged by ttft, sampled", wire.Never},
			{false, true, "ok, prompt of 2000 tokens, judged by availability, judged by ttft, sampled", wire.Never},
		} {
			server.mu.Lock()
			server.apart, server.mute = step.apart, step.mute
			server.mu.Unlock()
			if got := slot(t, j, 0, uint64(round)); got != step.want {
				t.Errorf("round %d: %s, want %s", round, got, step.want)
			}
			if got := j.Members[0].Knowledge().CacheApart; got != step.belief {
				t.Errorf("round %d: apart %q, want %q", round, got, step.belief)
			}
		}
	})
}

// TestACacheThatIsNotCounted holds that a warm prompt of which a server counts only what its cache lacks, without a
// count of the rest, is not taken for a cut one: neither by the prober that sent it first, nor by the next one.
func TestACacheThatIsNotCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &caching{apart: true, mute: true}
		for prober, prompts := range [][]int{{-1, 0, 0, 0, 0}, {-1, 1988, -1, 20, 20}} { // the second one gets estimates
			j := server.job(t, "warm")
			for round, tokens := range prompts {
				want := fmt.Sprintf("ok, prompt of %d tokens, judged by availability, judged by ttft, sampled", tokens)
				if tokens < 0 {
					want = "skipped: waiting"
				}
				if got := slot(t, j, 0, uint64(round)); got != want {
					t.Errorf("prober %d, round %d: %s, want %s", prober+1, round, got, want)
				}
			}
		}
	})
}
