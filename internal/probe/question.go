package probe

import (
	"cmp"
	"math"
	"time"

	"github.com/llm-prober/prober/internal/server"
	"github.com/llm-prober/prober/internal/wire"
)

// A Question is one prompt, and what is expected of the answer.
type Question struct {
	Ask    wire.Ask
	Expect Expectation
	Tokens int // about how many the prompt has, for the budget; 0: unknown
	Words  int // words of the list in the prompt, of whatever length it is expected; 0: it has other words

	known    server.Knowledge // of the server when it is asked
	wasSane  bool             // see [Member.wasSane]
	isListed bool             // the model is one that the server lists; else the configured one
	began    time.Time        // see [Result.Began]
	flight   *flight          // in which it is asked; nil outside of a group's rounds
}

// An Expectation is how prompt and answer are judged. The zero value accepts every length, but no answer cut short.
type Expectation struct {
	Length      int         // prompt tokens asked for; 0: any
	Counted     int         // tokens that the server counted in such prompts: Length, or as near as it gets; 0: not known
	Confirmed   wire.Count  // these tokens, once the usage of an answer had them; unknown: none had
	Words       int         // words in the prompt: it has at least as many tokens, whatever the tokenizer
	Uncacheable int         // tokens at the prompt's end that no cache can have; 0 if a warm cache is meant
	Shared      int         // words that all prompts begin with, where a warm cache is meant
	Repeated    int         // words that the prompt begins with as an earlier one did, Shared included
	Truncated   bool        // the server is known to cut prompts of this length: fewer tokens than Confirmed are its fault
	SentBefore  bool        // the server had been sent the prompt, or what it begins with: see [Member.sentBefore]
	Code        []CodeWords // what the answer must contain; empty: any answer is right

	// Values are what the JSON in [wire.Ask.Form] must have, by field: texts, and true or false. Nil: any answer is right.
	Values map[string]any
}

// CodeWords are what a canary hides at one depth of its prompt.
type CodeWords struct {
	Depth float64 // how much of the prompt's words stands before it, 0 to 1
	Words string  // that the answer must have in their order, next to each other
}

// prompt returns the name of the prompt that the question is one of; empty outside of a group's rounds.
func (q Question) prompt() string {
	if q.flight == nil {
		return ""
	}
	return q.flight.prompt
}

// warm reports whether a cache is meant to know the whole prompt. A prompt that only helps to count another one's
// tokens, or only asks whether the server answers, expects nothing and is not warm.
func (q Question) warm() bool {
	return q.Expect.Uncacheable == 0 && q.Expect.Words > 0 && len(q.Ask.Turns) == 0
}

// lengthTolerance is the part of a prompt's length by which a server's count may differ from it: 1/100.
const lengthTolerance = 100

// otherLength reports whether the server's own count of the prompt differs from its length by more than 1%: then the
// probe is not what its labels say. A count far below the length is no count of the prompt, but of something else.
func (e Expectation) otherLength(prompt wire.Count) bool {
	if e.Counted == 0 || !prompt.Known || prompt.N < min(wire.MinContext, e.Counted/4) {
		return false
	}
	return lengthTolerance*max(prompt.N-e.Counted, e.Counted-prompt.N) > e.Counted
}

// isCut reports whether so few tokens were counted that the server must have cut the prompt. A server that is known to
// cut must count as many as were confirmed before, others nine tenths of that. If nothing was confirmed, a server must
// count nine tenths of the words: no tokenizer joins more than a tenth of words in random order.
func (e Expectation) isCut(prompt wire.Count) bool {
	want := e.Confirmed
	switch {
	case !prompt.Known:
		return false
	case want.Known && e.Truncated:
		return prompt.N < want.N
	case want.Known:
		return prompt.N < want.N-want.N/10
	}
	return prompt.N >= wire.MinContext && prompt.N < e.Words-e.Words/10
}

// cost returns the number of tokens in the prompt. Where that is unknown, it is estimated: at four bytes a token, and
// at least a token a word.
func (q Question) cost() int {
	if q.Tokens > 0 {
		return q.Tokens
	}
	bytes := len(q.Ask.Prompt)
	for _, t := range q.Ask.Turns {
		bytes += len(t.Text)
	}
	return max(q.Expect.Words, bytes/4)
}

// cacheState judges a prompt's cached tokens. A chat template begins all prompts alike: what stands before the part
// that no cache can have may be cached, and the prompt is cold all the same. So is a user's first prompt if the system
// prompt is cached, which all users share.
//
// A cache keeps whole blocks of tokens, and a template adds tokens that belong to no word. So a prompt is only missed
// if the cache has less than half of what was sent before, counted from the end of what all prompts begin with.
func (q Question) cacheState(u wire.Usage) CacheState {
	expect := q.Expect
	length := cmp.Or(expect.Length, expect.Words)
	if u.Prompt.Known {
		length = u.Prompt.N
	}
	half := (expect.Shared + expect.Repeated) / 2 // in words
	hasHalf := u.Cached.N*expect.Words >= half*length
	isFirst := q.Ask.Session != "" && !expect.SentBefore
	switch {
	case !u.Cached.Known, u.Cached.N == 0 && !q.known.CountsCached(expect.SentBefore):
		return CacheUnknown
	case expect.Uncacheable > 0 && u.Cached.N > max(0, length-expect.Uncacheable):
		return CacheContaminated
	case expect.SentBefore && !hasHalf:
		return CacheMissed
	case u.Cached.N == 0, expect.Uncacheable > 0, isFirst:
		return CacheCold
	}
	return CacheWarm
}

// wholePrompt returns the tokens of the whole prompt by the usage u of an answer, and whether the answer shows that
// cached tokens are counted apart from the others: see [server.Knowledge.WholePrompt].
func (q Question) wholePrompt(u wire.Usage) (prompt wire.Count, apart wire.Claim) {
	expect := q.Expect
	mayBeCached := expect.SentBefore || q.warm() && expect.Confirmed.Known
	saysNone := u.Cached.Known && q.known.CountsCached(expect.SentBefore)
	isUncounted := u.Cached.N+u.Written.N == 0 && !saysNone
	if mayBeCached && isUncounted && !expect.Truncated && expect.isCut(u.Prompt) {
		return wire.Count{}, "" // the cache may have the rest
	}
	least, most := q.promptBounds()
	return q.known.WholePrompt(u, least, most)
}

// promptBounds returns between how many tokens a prompt should have: as many as it was calibrated to, else as its words
// make on this server. If neither is known, the prompt has nine tenths of its words at least, see [Expectation.isCut].
func (q Question) promptBounds() (least, most int) {
	switch {
	case q.Expect.Counted > 0:
		return q.Expect.Counted, q.Expect.Counted
	case q.Expect.Confirmed.Known:
		return q.Expect.Confirmed.N, q.Expect.Confirmed.N
	}
	least, most, ok := q.known.PromptLength(q.Words)
	if ok {
		return least, most
	}
	words := max(q.Words, q.Expect.Words)
	return words - words/10, math.MaxInt32
}
