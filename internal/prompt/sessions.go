package prompt

import (
	"fmt"

	"github.com/llm-prober/prober/internal/wire"
)

// QuestionTokens are the tokens that a round of a session adds beside the answer: the question, and what
// the chat template adds to both turns.
const QuestionTokens = 64

// sessions are users who each ask one question after another about a growing history, as in
// production-stack's multi-round-qa: a shared system prompt, a long first question of the user's own, then
// answer and question in turn. A round's prompt strictly extends the one before it, so that a prefix cache
// can serve all but the newest two turns; only calibration changes earlier rounds.
//
// The answers in the history are made up here, numbers in words: members of a group must get the same prompt,
// whatever each of them answered. A server therefore has the questions in its cache and not the answers.
type sessions struct{ Options }

// place returns the round and the user of a slot. Slot n belongs to seat n mod Users. A user who asked all
// rounds leaves the seat to a new one: a user who came back would meet a warm cache and get impossible
// times to first token (https://github.com/LMCache/LMBenchmark/issues/35). The first users of all seats
// leave early, each after another number of rounds, so that rounds are mixed.
func (s sessions) place(round uint64) (shape int, nonce uint64) {
	users, rounds := uint64(s.Users), uint64(s.Rounds)
	seat, visit := round%users, round/users
	early := seat * rounds / users
	visit += early
	generation, shape := visit/rounds, int(visit%rounds)
	if generation == 0 {
		shape -= int(early)
	}
	return shape, generation*users + seat
}

func (s sessions) begin(shape int, others *calibrations) terms {
	if shape == 0 {
		t := plainTerms(s.Tokens)
		t.first, t.least = max(2, t.first), 2
		return t
	}
	grows := s.Answer + QuestionTokens
	t := terms{want: s.Tokens + shape*grows, first: QuestionTokens / 2, least: 1, most: 2 * grows}
	if first := others.at(0); first.done {
		t.cost = cost(first.best)
		t.first = max(1, int(float64(t.first)/t.cost))
	}
	if before := others.at(shape - 1); shape > 1 && before.done {
		t.first = before.best.size.words
	}
	return t
}

func (s sessions) write(_ int, nonce uint64, history []observation) Prompt {
	first := history[0].size
	var turns []wire.Turn
	if s.System > 0 {
		system := max(1, first.words*s.System/s.Tokens)
		first.words -= system
		order := shuffled(system, ^s.Seed, 0)
		turns = append(turns, wire.Turn{Role: "system", Text: compose(piece{text: head}, piece{order: order})})
	}
	question := s.question(0, nonce, first, tailFor(s.Tokens))
	answer := counting(max(1, int(float64(s.Answer)/cost(history[0])))) // about as many tokens as asked for
	for i, next := range history[1:] {
		turns = append(turns, wire.Turn{Role: "user", Text: question}, wire.Turn{Role: "assistant", Text: answer})
		question = s.question(i+1, nonce, next.size, shortTail)
	}
	return Prompt{
		Turns: turns, Text: question,
		Salt: fmt.Sprintf("prober-%016x", s.Seed), Session: salt(s.Seed, nonce),
	}
}

func (s sessions) question(round int, nonce uint64, of size, tail string) string {
	seed := s.Seed + uint64(round)*0x9e3779b97f4a7c15 // another order in each round
	return compose(piece{text: head}, piece{order: shuffled(of.words, seed, nonce)}, piece{pads: of.pads}, piece{text: tail})
}

// cost is about the tokens per word of a prompt, at least 1; 1 if it was not counted, and where the chat
// template explains the difference.
func cost(o observation) float64 {
	if o.tokens == 0 || o.size.words == 0 {
		return 1
	}
	if c := float64(o.tokens) / float64(o.size.words); c >= 1.25 {
		return c
	}
	return 1
}
