package prompt

import (
	"fmt"

	"github.com/llm-prober/prober/internal/wire"
)

// QuestionTokens are what a round of a session adds beside the answer: the question, and the chat template's of both turns.
const QuestionTokens = 64

// sessions are users who ask one question after another about a growing history, as in production-stack's multi-round-qa. A
// round's prompt extends the one before it, so that a prefix cache can serve all but the newest two turns. The answers in the
// history are made up here: members of a group must get the same prompt, whatever each of them answered.
type sessions struct{ Options }

// place returns the round and the user of a slot. Slot n belongs to seat n mod Users. A user who asked all rounds leaves the
// seat to a new one: one who came back would meet a warm cache (https://github.com/LMCache/LMBenchmark/issues/35). The first
// users leave early, each after another number of rounds, so that rounds are mixed.
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

func (s sessions) begin(shape int, before []observation) terms {
	if shape == 0 {
		return plainTerms(s.Tokens, 2) // one may be the system prompt
	}
	grows := s.Answer + QuestionTokens
	t := terms{want: s.Tokens + shape*grows, first: QuestionTokens / 2, least: 1, most: 2 * grows}
	if first := before[0]; first.tokens > 0 {
		t.cost = cost(first)
		t.first = max(1, int(float64(t.first)/t.cost))
	}
	if last := before[shape-1]; shape > 1 && last.tokens > 0 {
		t.first = last.size.words
	}
	return t
}

func (s sessions) write(p *Prompt, nonce uint64, history []observation) {
	p.Salt, p.Session = fmt.Sprintf("prober-%016x", s.Seed), salt(s.Seed, nonce)
	first := history[0].size
	if s.System > 0 {
		system := max(1, first.words*s.System/s.Tokens)
		first.words -= system
		p.Turns = append(p.Turns, wire.Turn{Role: "system", Text: listed(size{words: system}, ^s.Seed, 0, "")})
	}
	end, _ := ending(s.Tokens)
	p.Text = listed(first, s.Seed, nonce, end)
	answer := counting(max(1, int(float64(s.Answer)/cost(history[0])))) // about as many tokens as asked for
	for i, next := range history[1:] {
		p.Turns = append(p.Turns, wire.Turn{Role: "user", Text: p.Text}, wire.Turn{Role: "assistant", Text: answer})
		seed := s.Seed + uint64(i+1)*0x9e3779b97f4a7c15 // another order in each round
		p.Text = listed(next.size, seed, nonce, shortTail)
	}
}

// cost is about the tokens per word of a prompt; 1 if it was not counted, or the chat template explains the difference.
func cost(o observation) float64 {
	if c := float64(o.tokens) / float64(o.size.words); c >= 1.25 {
		return c
	}
	return 1
}
