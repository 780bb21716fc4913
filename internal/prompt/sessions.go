package prompt

import "fmt"

// QuestionTokens are the tokens by which a round of a session grows beside the
// answer: the question, and what the chat template adds to both turns.
const QuestionTokens = 64

// sessions are users who each ask one question after another about a growing
// history, as in production-stack's multi-round-qa: a shared system prompt, a
// long first question of the user's own, then answer and question in turn. A
// round's prompt strictly extends the one before it, so that a prefix cache can
// serve all but the newest two turns. The extension breaks where the length of
// an earlier round changes, that is while lengths are being found out.
//
// The answers in the history are not those that a server gave: they are made up
// here, numbers in words. Members of a group must get the same prompt, whatever
// each of them answered, and answers are never kept. A server therefore has the
// questions in its cache and not the answers.
type sessions struct{ Options }

// place says whose turn a slot is. Slot n belongs to seat n mod Users. A user who
// asked all rounds leaves the seat to one who was never there before: ids that
// come back meet a warm cache and give impossible times to first token
// (https://github.com/LMCache/LMBenchmark/issues/35). The first users of all
// seats leave early, each after another number of rounds, so that rounds are
// mixed from then on.
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

func (s sessions) begin(shape int, others *fits) terms {
	if shape == 0 {
		t := plainTerms(s.Tokens)
		t.first, t.least = max(2, t.first), 2
		return t
	}
	grows := s.Answer + QuestionTokens
	t := terms{want: s.Tokens + shape*grows, first: QuestionTokens / 2, least: 1, most: 2 * grows}
	if first := others.at(0); first.known() {
		t.cost = cost(first.best)
		t.first = max(1, int(float64(t.first)/t.cost))
	}
	if before := others.at(shape - 1); shape > 1 && before.known() {
		t.first = before.best.size.words
	}
	return t
}

func (s sessions) write(_ int, nonce uint64, history []observation) Prompt {
	first := history[0].size
	var turns []Turn
	if s.System > 0 {
		system := max(1, first.words*s.System/s.Tokens)
		first.words -= system
		order := shuffled(system, ^s.Seed, 0)
		turns = append(turns, Turn{"system", compose(piece{text: head}, piece{order: order})})
	}
	question := s.question(0, nonce, first, tailFor(s.Tokens))
	answer := counting(s.answerWords(history[0]))
	for i, next := range history[1:] {
		turns = append(turns, Turn{"user", question}, Turn{"assistant", answer})
		question = s.question(i+1, nonce, next.size, shortTail)
	}
	return Prompt{
		Turns: turns, Text: question,
		Salt: fmt.Sprintf("prober-%016x", s.Seed), Session: salt(s.Seed, nonce),
	}
}

// question is what a user says in a round.
func (s sessions) question(round int, nonce uint64, of size, tail string) string {
	seed := s.Seed + uint64(round)*0x9e3779b97f4a7c15 // another order in each round
	return compose(piece{text: head}, piece{order: shuffled(of.words, seed, nonce)}, piece{pads: of.pads}, piece{text: tail})
}

// answerWords are the words of a made-up answer: as many as tokens were asked
// for, and fewer where the first round showed that words cost more than one.
func (s sessions) answerWords(first observation) int {
	return max(1, int(float64(s.Answer)/cost(first)))
}

// cost is about the tokens of a word in a prompt that was counted, at least one;
// one if it was not.
func cost(o observation) float64 {
	if o.tokens == 0 || o.size.words == 0 {
		return 1
	}
	return max(1, whole(float64(o.tokens)/float64(o.size.words)))
}

// whole is a cost of nearly one token a word as one: then the rest is the chat
// template.
func whole(cost float64) float64 {
	if cost > 0.8 && cost < 1.25 {
		return 1
	}
	return cost
}
