package prompt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llm-prober/prober/internal/wire"
)

// QuestionTokens is about what a later prompt of a session adds besides the answer: the question, and the chat
// template's tokens of both turns.
const QuestionTokens = 64

// questionWords are the words of the list in a later question, if a word is a token. With the head, the tail and the
// chat template it has about QuestionTokens.
const questionWords = QuestionTokens / 2

// turnOf returns who asks in a round of sessions, and how many questions this user has asked before. Users sit in
// seats: round n belongs to seat n mod Users. A user who asked all questions leaves the seat to a new one: one who came
// back would meet a warm cache (https://github.com/LMCache/LMBenchmark/issues/35). The first users leave early, each
// after another number of questions, so that short and long histories are mixed.
func (o Options) turnOf(round uint64) (user uint64, question int) {
	users, questions := uint64(o.Users), uint64(o.Rounds)
	seat, visit := round%users, round/users
	early := seat * questions / users
	visit += early
	generation := visit / questions
	question = int(visit % questions)
	if generation == 0 {
		question -= int(early)
	}
	return generation*users + seat, question
}

// sessionPrompt writes a user's question after that many others, as in production-stack's multi-round-qa. It extends
// the prompt before it, so that a prefix cache can serve all but the newest two turns. The first one has the size. A
// later one grows by about an answer and a question, and nobody counts on how long it is: the usage says it. The
// answers in the history are made up here: members of a group must get the same prompt, whatever each of them answered.
func sessionPrompt(o Options, user uint64, question int, s Size) Prompt {
	p := Prompt{
		Salt:    fmt.Sprintf("prober-%016x", o.Seed),
		Session: salt(o.Seed, user),
		Tokens:  o.Tokens + question*(o.Answer+QuestionTokens),
	}
	first := s
	if o.System > 0 {
		system := max(1, s.Words*o.System/o.Tokens)
		first.Words -= system
		p.Turns = append(p.Turns, wire.Turn{Role: "system", Text: textOf(Size{Words: system}, ^o.Seed, 0, "")})
		p.Shared = countFields(p.Turns[0].Text)
	}
	p.Text = textOf(first, o.Seed, user, tailFor(o.Tokens))

	perWord := tokensPerWord(o, s)
	answer := countingText(max(1, int(float64(o.Answer)/perWord)))
	next := Size{Words: max(1, int(questionWords/perWord))}
	for i := range question {
		p.Repeated = p.words() // all but the newest two turns
		p.Turns = append(p.Turns, wire.Turn{Role: "user", Text: p.Text}, wire.Turn{Role: "assistant", Text: answer})
		seed := o.Seed + uint64(i+1)*0x9e3779b97f4a7c15 // another order in each question
		p.Text = textOf(next, seed, user, shortTail)
	}
	return p
}

// tokensPerWord returns about the tokens of a word, if prompts of a size have the tokens that were asked for; 1 if the
// chat template explains the difference.
func tokensPerWord(o Options, s Size) float64 {
	perWord := float64(o.Tokens) / float64(s.Words)
	if perWord < 1.25 {
		return 1
	}
	return perWord
}

// numbers are what an answer counts to, over and over. The list is only read.
var numbers = strings.Fields(`one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
	sixteen seventeen eighteen nineteen twenty`)

// countingText returns n words of an answer that counts.
func countingText(n int) string {
	return strings.Join(slices.Repeat(numbers, n/len(numbers)+1)[:n], " ")
}
