package prompt

import (
	"fmt"

	"github.com/llm-prober/prober/internal/wire"
)

// QuestionTokens is what a round of a session adds besides the answer: the question, and the chat template's of both
// turns.
const QuestionTokens = 64

// sessions is users who ask one question after another about a growing history, as in production-stack's
// multi-round-qa. A round's prompt extends the one before it, so that a prefix cache can serve all but the newest two
// turns. The answers in the history are made up here: members of a group must get the same prompt, whatever each of
// them answered. The shape of a prompt is its round.
type sessions struct{ Options }

// slot returns the round and the user of a slot. Slot n belongs to seat n mod Users. A user who asked all rounds leaves
// the seat to a new one: one who came back would meet a warm cache
// (https://github.com/LMCache/LMBenchmark/issues/35). The first users leave early, each after another number of rounds,
// so that rounds are mixed.
func (s sessions) slot(round uint64) (shape int, nonce uint64) {
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

// start returns what the calibration of a round starts from. Only the first one has the whole length to find; in later
// ones the words of a question are tried that were right in the round before.
func (s sessions) start(shape int, before []observation) calibrationStart {
	if shape == 0 {
		return startOf(s.Tokens, 2) // one may be the system prompt
	}
	grows := s.Answer + QuestionTokens
	start := calibrationStart{want: s.Tokens + shape*grows, first: QuestionTokens / 2, least: 1, most: 2 * grows}
	first, last := before[0], before[shape-1]
	if first.tokens > 0 {
		start.wordCost = wordCost(first)
		start.first = max(1, int(float64(start.first)/start.wordCost))
	}
	if shape > 1 && last.tokens > 0 {
		start.first = last.size.words
	}
	return start
}

func (s sessions) render(p *Prompt, nonce uint64, history []observation) {
	p.Salt = fmt.Sprintf("prober-%016x", s.Seed)
	p.Session = salt(s.Seed, nonce)
	first := history[0].size
	if s.System > 0 {
		system := max(1, first.words*s.System/s.Tokens)
		first.words -= system
		p.Turns = append(p.Turns, wire.Turn{Role: "system", Text: textOf(size{words: system}, ^s.Seed, 0, "")})
	}
	end, _ := tailFor(s.Tokens)
	p.Text = textOf(first, s.Seed, nonce, end)
	words := float64(s.Answer) / wordCost(history[0]) // about as many tokens as asked for
	answer := countingText(max(1, int(words)))
	for i, next := range history[1:] {
		p.Turns = append(p.Turns, wire.Turn{Role: "user", Text: p.Text}, wire.Turn{Role: "assistant", Text: answer})
		seed := s.Seed + uint64(i+1)*0x9e3779b97f4a7c15 // another order in each round
		p.Text = textOf(next.size, seed, nonce, shortTail)
	}
}

// wordCost returns about the tokens per word of a prompt; 1 if it was not counted, or if the chat template explains the
// difference.
func wordCost(o observation) float64 {
	cost := float64(o.tokens) / float64(o.size.words)
	if cost < 1.25 {
		return 1
	}
	return cost
}
