package server

import (
	"math"
	"testing"

	"github.com/llm-prober/prober/internal/wire"
)

// TestWholePrompt holds of how many tokens a prompt is, whether the server counts what a cache read or wrote within or
// apart, and whether an answer shows which.
func TestWholePrompt(t *testing.T) {
	const prompt = 2000 // tokens that are expected
	usage := func(prompt, read, written int) wire.Usage {
		return wire.Usage{Prompt: wire.Tokens(prompt), Cached: wire.Tokens(read), Written: wire.Tokens(written)}
	}
	none := Knowledge{}
	within, apart := Knowledge{CacheApart: wire.Never}, Knowledge{CacheApart: wire.Always}
	anthropic := Knowledge{Identity: Identity{Type: lookup(t, wire.LookupServer, "anthropic")}}
	for name, test := range map[string]struct {
		known       Knowledge
		least, most int
		usage       wire.Usage
		want        int // 0: unknown
		apart       wire.Claim
	}{
		"no cache":                          {none, prompt, prompt, usage(2000, 0, 0), 2000, ""},
		"no count":                          {none, prompt, prompt, wire.Usage{Cached: wire.Tokens(16)}, 0, ""},
		"within":                            {none, prompt, prompt, usage(2000, 1984, 0), 2000, wire.Never},
		"apart":                             {none, prompt, prompt, usage(16, 1984, 0), 2000, wire.Always},
		"apart, half of it written":         {none, prompt, prompt, usage(16, 984, 1000), 2000, wire.Always},
		"within, all of it written":         {none, prompt, prompt, usage(2000, 0, 2000), 2000, wire.Never},
		"within, a few more than before":    {none, prompt, prompt, usage(2010, 1984, 0), 2010, wire.Never},
		"within, a hundredth more":          {none, prompt, prompt, usage(2020, 1984, 0), 2020, wire.Never},
		"more than a hundredth":             {none, prompt, prompt, usage(2021, 1984, 0), 2021, ""},
		"apart, against a belief":           {within, prompt, prompt, usage(400, 1600, 0), 2000, wire.Always},
		"within, against a belief":          {apart, prompt, prompt, usage(2000, 400, 0), 2000, wire.Never},
		"neither, and the cache may be why": {none, prompt, prompt, usage(1200, 1000, 0), 0, ""},
		"neither, and a belief":             {apart, prompt, prompt, usage(1200, 1000, 0), 2200, ""},
		"longer in any case":                {none, prompt, prompt, usage(2300, 100, 0), 2300, ""},
		"longer in any case, and a belief":  {apart, prompt, prompt, usage(2300, 100, 0), 2400, ""},
		"between, without the cache":        {none, 165, 290, usage(165, 200, 0), 165, wire.Never},

		"nothing is expected":               {none, 0, math.MaxInt32, usage(1000, 300, 0), 1000, ""},
		"more read than counted":            {none, 0, math.MaxInt32, usage(16, 1984, 0), 2000, wire.Always},
		"nothing is expected, but its type": {anthropic, 0, math.MaxInt32, usage(1000, 300, 100), 1400, ""},
	} {
		got, apart := test.known.WholePrompt(test.usage, test.least, test.most)
		if got.N != test.want || got.Known != (test.want > 0) || apart != test.apart {
			t.Errorf("%s: %+v, apart %q, want %d, %q", name, got, apart, test.want, test.apart)
		}
	}
}

// TestPromptLength holds between how many tokens a prompt has by one of another length: between as many more as it has
// words more, and in proportion.
func TestPromptLength(t *testing.T) {
	counted := Knowledge{Uncached: CountedPrompt{Tokens: 165, Words: 125}}
	for name, test := range map[string]struct {
		known       Knowledge
		words       int
		least, most int
		ok          bool
	}{
		"the same":        {counted, 125, 165, 165, true},
		"longer":          {counted, 250, 290, 330, true},
		"shorter":         {counted, 50, 66, 90, true},
		"other words":     {counted, 0, 0, 0, false},
		"none to compare": {Knowledge{}, 250, 0, 0, false},
	} {
		least, most, ok := test.known.PromptLength(test.words)
		if least != test.least || most != test.most || ok != test.ok {
			t.Errorf("%s: from %d to %d, %t, want %+v", name, least, most, ok, test)
		}
	}
}

// TestCountsCached holds what a count of no cached tokens is worth.
func TestCountsCached(t *testing.T) {
	vllm := Identity{Type: lookup(t, wire.LookupServer, "vllm")}
	for name, test := range map[string]struct {
		known      Knowledge
		sentBefore bool
		want       bool
	}{
		"of unknown type":                       {Knowledge{}, false, false},
		"of unknown type that has counted some": {Knowledge{CacheHit: true}, true, true},
		"of a type that counts":                 {Knowledge{Identity: vllm}, false, true},
		"the same, of a prompt sent before":     {Knowledge{Identity: vllm}, true, false},
		"the same, after such a prompt":         {Knowledge{Identity: vllm, CacheMissed: true}, false, false},
	} {
		if got := test.known.CountsCached(test.sentBefore); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
