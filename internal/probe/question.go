package probe

import (
	"fmt"
	"net/http"

	"github.com/llm-prober/prober/internal/wire"
)

// A Question is one prompt, what is expected of the answer, and who wants to know what the server
// made of it.
type Question struct {
	Ask    wire.Ask
	Expect Expectation // by the tokenizer of the group's first member

	// Learn is told how many tokens the first member's server counted, 0 if it does
	// not count; Refuse, that the server rejected the request. Both are safe for concurrent use.
	Learn  func(tokens int)
	Refuse func()
}

// An Expectation is how prompt and answer of a probe are judged. The zero value accepts any
// prompt length, and any answer that is not cut short.
type Expectation struct {
	Length       int        // prompt tokens asked for; 0: any
	Words        int        // words in the prompt: it has at least as many tokens, whatever the tokenizer
	Fresh        int        // tokens at the prompt's end that cannot be cached; 0 if a warm cache is meant
	PromptTokens wire.Count // tokens that the server must count for the prompt; unknown: not judged
	ExactLimit   bool       // an answer with a finish reason for its length must have [wire.Ask.MaxTokens]
	ExactOutput  bool       // every answer must have [wire.Ask.MaxTokens]
	Answer       string     // words that the answer must contain; empty: any answer is right
}

// forMember is the question for the group's member i, with output tokens to generate. All get the
// same text. Its length was made exact for the first member's tokenizer, so it is expected of that
// one only; salts differ, because several members may lead to one server's cache.
func (q Question) forMember(i, output int) Question {
	q.Ask.MaxTokens = output
	if i > 0 {
		q.Expect.PromptTokens, q.Expect.Length = wire.Count{}, 0
		if q.Ask.CacheSalt != "" {
			q.Ask.CacheSalt = fmt.Sprintf("%s-%d", q.Ask.CacheSalt, i)
		}
	}
	return q
}

// cost is the number of tokens in the prompt, estimated at four bytes a token where it is unknown.
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

// report tells the prompt's writer what the first member's server made of it.
func (q Question) report(r *Result) {
	switch {
	case refused(r) || r.Status == http.StatusRequestEntityTooLarge:
		q.Refuse()
	case r.Outcome == OK || r.Outcome == WrongLength:
		q.Learn(r.Usage.Prompt.N) // 0 if the server does not count
	}
}
