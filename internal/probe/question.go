package probe

import (
	"fmt"

	"github.com/llm-prober/prober/internal/wire"
)

// A Question is one prompt, what is expected of the answer, and who wants to know what the server made of it.
type Question struct {
	Ask    wire.Ask
	Expect Expectation
	Judge  int  // the member by whose count the length is exact, and whose answers are compared with it
	Unfit  bool // the length is not known: it is not to be asked

	// Learn takes how many tokens that member's server counted; 0 if it does not count. It is safe for concurrent use.
	// Nil: nobody wants to know.
	Learn func(tokens int)
}

// An Expectation is how prompt and answer are judged. The zero value accepts every length, but no answer cut short.
type Expectation struct {
	Length       int        // prompt tokens asked for; 0: any
	Counted      int        // tokens it was calibrated to: Length, or as near as it gets; 0: not known
	Words        int        // words in the prompt: it has at least as many tokens, whatever the tokenizer
	Fresh        int        // tokens at the prompt's end that cannot be cached; 0 if a warm cache is meant
	PromptTokens wire.Count // that an answer's usage confirmed; unknown: none did
	// the server is known to cut prompts of this length: fewer tokens than PromptTokens are its fault
	Truncated   bool
	Again       bool   // the server had been sent the prompt, or what it begins with: see [Member.again]
	CacheCounts bool   // where the server counts no cached tokens there were none: see [Capabilities.countsCached]
	ExactLimit  bool   // an answer with a finish reason for its length must have [wire.Ask.MaxTokens]
	ExactOutput bool   // every answer must have [wire.Ask.MaxTokens]
	Answer      string // words that the answer must contain; empty: any answer is right
}

// warm reports whether the whole prompt is one that a cache is meant to know. It is no prompt that only makes another
// exact, or asks whether the server answers.
func (q Question) warm() bool {
	return q.Expect.Fresh == 0 && q.Expect.Words > 0 && len(q.Ask.Turns) == 0
}

// forMember returns the question for the group's member i, with output tokens to generate. All get the same text, whose
// length is exact by one member's count only: the others may have another tokenizer, and their counts are not judged.
// Salts differ, because several members may lead to one server's cache.
func (q Question) forMember(i, output int) Question {
	q.Ask.MaxTokens = output
	if i != q.Judge {
		q.Expect.PromptTokens, q.Expect.Length, q.Expect.Counted = wire.Count{}, 0, 0
	}
	if i > 0 && q.Ask.CacheSalt != "" {
		q.Ask.CacheSalt = fmt.Sprintf("%s-%d", q.Ask.CacheSalt, i)
	}
	return q
}

// tolerated is the part of a prompt's length by which a server's count may differ from it: 1/100.
const tolerated = 100

// otherLength reports whether the server's own count of the prompt differs from its length by more than 1%: then the
// probe is not what its labels say. A count that is far too small is not one of the prompt, but of something else.
func (e Expectation) otherLength(prompt wire.Count) bool {
	if e.Counted == 0 || !prompt.Known || prompt.N < min(wire.MinContext, e.Counted/4) {
		return false
	}
	return tolerated*max(prompt.N-e.Counted, e.Counted-prompt.N) > e.Counted
}

// cut reports whether so few tokens were counted that the server cut the prompt: fewer than those of before, where it
// is known to cut; else fewer than nine tenths of these, or of the words: no tokenizer joins more of words in random
// order.
func (e Expectation) cut(prompt wire.Count) bool {
	want := e.PromptTokens
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

// cost returns the number of tokens in the prompt, estimated at four bytes a token where it is unknown.
func (q Question) cost() int {
	if q.Expect.Length > 0 {
		return q.Expect.Length
	}
	bytes := len(q.Ask.Prompt)
	for _, t := range q.Ask.Turns {
		bytes += len(t.Text)
	}
	return max(q.Expect.Words, bytes/4)
}
