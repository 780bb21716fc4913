package probe

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/wire"
)

// TestWhenNoCachedTokensAreBelieved holds what a server's count of cached tokens is worth, answer by answer: a 0 counts
// once the server has counted some, or where its type is known to count and has not failed to for a prompt that it had
// been sent before. A prompt that was not sent before is cold, and never missed.
func TestWhenNoCachedTokensAreBelieved(t *testing.T) {
	cold := Question{Ask: wire.Ask{Prompt: "a", CacheSalt: "s"}, Expect: Expectation{Length: 1000, Words: 990, Uncacheable: 980}}
	warm := Question{Ask: wire.Ask{Prompt: "a"}, Expect: Expectation{Length: 1000, Words: 990, Repeated: 990}}
	other := Question{Ask: wire.Ask{Prompt: "b"}, Expect: Expectation{Length: 1000, Words: 990}}
	short := Question{Ask: wire.Ask{Prompt: "a"}} // only asks whether the server answers
	begins := Question{Ask: wire.Ask{Prompt: "a", Session: "u"}, Expect: Expectation{Length: 1000, Words: 990}}
	goesOn := begins
	goesOn.Expect.Shared, goesOn.Expect.Repeated = 90, 890
	goesOn.Ask.Turns = []wire.Turn{{Role: "user", Text: "a"}, {Role: "assistant", Text: "b"}}
	type turn struct {
		ask    Question
		cached int // -1: the server does not tell
		want   CacheState
	}
	for name, test := range map[string]struct {
		server string // type
		turns  []turn
		claim  wire.Claim // whether it reports its cached tokens, in the end
	}{
		"unknown type, cold": {"", []turn{{cold, 0, CacheUnknown}, {cold, 0, CacheUnknown}}, wire.Unknown},
		"unknown type, it counts": {"", []turn{{cold, 0, CacheUnknown}, {cold, 16, CacheCold}, {cold, 0, CacheCold}},
			wire.Always},
		"unknown type, contaminated": {"", []turn{{cold, 992, CacheContaminated}, {cold, 0, CacheCold}}, wire.Always},
		"unknown type, warm": {"", []turn{{warm, 0, CacheUnknown}, {warm, 992, CacheWarm}, {warm, 0, CacheMissed}},
			wire.Always},
		"unknown type, never a hit":   {"", []turn{{warm, 0, CacheUnknown}, {warm, 0, CacheUnknown}}, wire.Unknown},
		"Ollama's Responses":          {"ollama", []turn{{cold, 0, CacheUnknown}, {warm, 0, CacheUnknown}}, wire.Never},
		"Ollama that reports nothing": {"ollama", []turn{{cold, -1, CacheUnknown}}, wire.Never},
		"vLLM, cold":                  {"vllm", []turn{{cold, 0, CacheCold}, {cold, 0, CacheCold}}, wire.Always},
		"vLLM without details":        {"vllm", []turn{{cold, -1, CacheUnknown}}, wire.Never},
		"vLLM, warm": {"vllm", []turn{{warm, 0, CacheCold}, {warm, 992, CacheWarm}, {warm, 0, CacheMissed}},
			wire.Always},
		"vLLM without a cache": {"vllm", []turn{{warm, 0, CacheCold}, {warm, 0, CacheUnknown}, {warm, 0, CacheUnknown}},
			wire.Unknown},
		"vLLM, found later": {"vllm", []turn{{warm, 0, CacheCold}, {warm, 0, CacheUnknown}, {warm, 992, CacheWarm},
			{warm, 0, CacheMissed}}, wire.Always},
		"another prompt each time": {"vllm", []turn{{warm, 0, CacheCold}, {other, 0, CacheCold}, {warm, 0, CacheCold}},
			wire.Always},
		"a short question before": {"vllm", []turn{{short, 0, CacheCold}, {warm, 0, CacheCold}}, wire.Always},
		"sessions": {"vllm", []turn{{begins, 0, CacheCold}, {goesOn, 992, CacheWarm},
			{begins, 0, CacheCold}, {goesOn, 0, CacheMissed}}, wire.Always},
		"another prompt after a hit": {"vllm", []turn{{warm, 0, CacheCold}, {warm, 992, CacheWarm}, {other, 0, CacheCold}},
			wire.Always},
		"sessions whose system prompt is cached": {"vllm", []turn{{begins, 0, CacheCold}, {begins, 80, CacheCold},
			{goesOn, 80, CacheMissed}, {goesOn, 880, CacheWarm}}, wire.Always},
		"sessions without a cache": {"vllm", []turn{{begins, 0, CacheCold}, {goesOn, 0, CacheUnknown},
			{begins, 0, CacheUnknown}}, wire.Unknown},
		"LiteLLM": {"litellm", []turn{{warm, 0, CacheUnknown}, {warm, 992, CacheWarm}}, wire.Always},
	} {
		inBubble(t, name, func(t *testing.T) {
			cached := 0
			target := serve(t, func(w http.ResponseWriter, r *http.Request) {
				details := ""
				if cached >= 0 {
					details = fmt.Sprintf(`,"prompt_tokens_details":{"cached_tokens":%d}`, cached)
				}
				tokens(2, ms).then(0, limit, `{"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":2`+
					details+`}}`, done).stream(w, r)
			})
			if test.server != "" {
				target.Server = must(wire.LookupServer(test.server))
			}
			m := NewMember(target, "m", 1)
			for i, turn := range test.turns {
				cached = turn.cached
				turn.ask.Ask.MaxTokens = 2
				if r := m.Probe(t.Context(), turn.ask); r.Outcome != OK || r.Cache != turn.want {
					t.Errorf("answer %d: %s (%v), %s, want %s", i+1, r.Outcome, r.Err, r.Cache, turn.want)
				}
			}
			for _, a := range m.Knowledge().Abilities() {
				if a.Name == "cached_tokens" && a.Claim != test.claim {
					t.Errorf("reports its cached tokens: %s, want %s", a.Claim, test.claim)
				}
			}
		})
	}
}

// TestWholePrompt holds how long a prompt should be of which some tokens may have come from a cache, and that its count
// is unknown if the cache may have the rest.
func TestWholePrompt(t *testing.T) {
	usage := func(prompt, read, written int) wire.Usage {
		return wire.Usage{Prompt: wire.Tokens(prompt), Cached: wire.Tokens(read), Written: wire.Tokens(written)}
	}
	exactly := func(tokens int) Question { return Question{Expect: Expectation{Counted: tokens, Words: tokens}} }
	words := func(n int) Question { return Question{Words: n} }
	counted := words(250)
	counted.known.Uncached = server.CountedPrompt{Tokens: 165, Words: 125}
	believing := words(250)
	believing.known.CacheApart = wire.Always
	again := exactly(2000)
	again.Expect.SentBefore = true
	again.Expect.Confirmed = wire.Tokens(2000)
	againCounting := again
	againCounting.known.CacheHit = true

	for name, test := range map[string]struct {
		question Question
		usage    wire.Usage
		want     int // 0: unknown
		apart    wire.Claim
	}{
		"as calibrated":                        {exactly(2000), usage(16, 1984, 0), 2000, wire.Always},
		"within, by an answer without a cache": {counted, usage(290, 160, 0), 290, wire.Never},
		"apart, by an answer without a cache":  {counted, usage(190, 100, 0), 290, wire.Always},

		"fewer tokens than words":      {words(250), usage(130, 160, 0), 290, wire.Always},
		"fewer than words in any case": {words(1000), usage(300, 100, 0), 300, ""},
		"as many tokens as words":      {words(250), usage(290, 160, 0), 290, ""},
		"as many, and a belief":        {believing, usage(290, 160, 0), 450, ""},
		"more written than counted":    {words(25), usage(25, 0, 150), 25, ""},
		"a data set":                   {Question{Expect: Expectation{Words: 1000}}, usage(600, 600, 0), 1200, wire.Always},

		"a cache that is not counted":         {again, usage(16, 0, 0), 0, ""},
		"a cache that is counted has nothing": {againCounting, usage(1600, 0, 0), 1600, ""},
		"fewer tokens of a new prompt":        {exactly(2000), usage(1600, 0, 0), 1600, ""},
	} {
		got, apart := test.question.wholePrompt(test.usage)
		if got.N != test.want || got.Known != (test.want > 0) || apart != test.apart {
			t.Errorf("%s: %+v, apart %q, want %d, %q", name, got, apart, test.want, test.apart)
		}
	}
}
