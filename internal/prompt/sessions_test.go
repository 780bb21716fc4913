package prompt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/wire"
)

// session returns options of small sessions.
func session(seed uint64) Options {
	return Options{Workload: Sessions, Tokens: 300, Seed: seed, Answer: 20, Users: 4, Rounds: 6, System: 50}
}

// conversation returns all that a prompt says, as turns.
func conversation(p Prompt) []wire.Turn {
	return append(slices.Clone(p.Turns), wire.Turn{Role: "user", Text: p.Text})
}

// TestUsersTakeTurns holds who asks in each slot, and in which of their rounds: users sit in four seats and ask one
// after another. The first ones leave early, each after another number of rounds; all others ask all rounds, and
// nobody comes back.
func TestUsersTakeTurns(t *testing.T) {
	s := sessions{session(1)}
	var got []string
	for visit := range uint64(9) {
		var users []string
		for seat := range uint64(s.Users) {
			round, user := s.slot(visit*uint64(s.Users) + seat)
			users = append(users, fmt.Sprintf("%d asks %d", user, round))
		}
		got = append(got, strings.Join(users, ", "))
	}
	want := []string{
		"0 asks 0, 1 asks 0, 2 asks 0, 3 asks 0",
		"0 asks 1, 1 asks 1, 2 asks 1, 3 asks 1",
		"0 asks 2, 1 asks 2, 2 asks 2, 7 asks 0",
		"0 asks 3, 1 asks 3, 6 asks 0, 7 asks 1",
		"0 asks 4, 1 asks 4, 6 asks 1, 7 asks 2",
		"0 asks 5, 5 asks 0, 6 asks 2, 7 asks 3",
		"4 asks 0, 5 asks 1, 6 asks 3, 7 asks 4",
		"4 asks 1, 5 asks 2, 6 asks 4, 7 asks 5",
		"4 asks 2, 5 asks 3, 6 asks 5, 11 asks 0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestARoundExtendsTheOneBefore holds that a user's prompt begins with all that was said before, and adds an answer of
// the configured length and a question.
func TestARoundExtendsTheOneBefore(t *testing.T) {
	o := session(1)
	w := calibrated(t, o, chatTemplate)
	before := conversation(w.Prompt(0))
	for round := 1; round < o.Rounds; round++ {
		now := conversation(w.Prompt(uint64(round * o.Users))) // of the same user
		if len(now) != len(before)+2 || !slices.Equal(now[:len(before)], before) {
			t.Fatalf("round %d does not extend the one before", round)
		}
		answer, question := now[len(before)], now[len(before)+1]
		if answer.Role != "assistant" || question.Role != "user" {
			t.Errorf("round %d adds turns of %s and %s", round, answer.Role, question.Role)
		}
		if words := strings.Fields(answer.Text); len(words) != o.Answer || words[2] != "three" {
			t.Errorf("round %d has the answer %q", round, answer.Text)
		}
		before = now
	}
}

// TestSessionsGrow holds how long the prompts of each round are.
func TestSessionsGrow(t *testing.T) {
	o := session(1)
	w := calibrated(t, o, chatTemplate)
	for round := range o.Rounds {
		p := w.Prompt(uint64(round * o.Users))
		want := o.Tokens + round*(o.Answer+QuestionTokens)
		if tokens := chatTemplate.tokens(p); p.Asked != want || tokens != want {
			t.Errorf("round %d has %d tokens, asked %d, want %d", round, tokens, p.Asked, want)
		}
	}
}

// TestWhatUsersShare holds that users of a run share its salt and its system prompt and nothing else, and that users of
// other runs share nothing.
func TestWhatUsersShare(t *testing.T) {
	w := calibrated(t, session(1), chatTemplate)
	a, b, other := w.Prompt(0), w.Prompt(1), calibrated(t, session(2), chatTemplate).Prompt(0)
	same := func(x, y Prompt) map[string]bool {
		return map[string]bool{
			"salt": x.Salt == y.Salt, "system": x.Turns[0] == y.Turns[0],
			"user": x.Session == y.Session, "text": x.Text == y.Text,
		}
	}
	sameRun := map[string]bool{"salt": true, "system": true, "user": false, "text": false}
	if diff := cmp.Diff(sameRun, same(a, b)); diff != "" {
		t.Errorf("two users of a run share (-want +got):\n%s", diff)
	}
	otherRun := map[string]bool{"salt": false, "system": false, "user": false, "text": false}
	if diff := cmp.Diff(otherRun, same(a, other)); diff != "" {
		t.Errorf("users of two runs share (-want +got):\n%s", diff)
	}
	if a.Salt == "" || a.Session == "" {
		t.Errorf("the salt is %q and the user %q", a.Salt, a.Session)
	}
}

// TestSystemPrompt holds that it has about the tokens that are configured, and is left out for none.
func TestSystemPrompt(t *testing.T) {
	o := session(1)
	system := calibrated(t, o, chatTemplate).Prompt(0).Turns[0]
	if words := len(strings.Fields(system.Text)); system.Role != "system" || words < 35 || words > 51 {
		t.Errorf("the first turn is of the role %s and has %d words, want about 50", system.Role, words)
	}
	o.System = 0
	if p := calibrated(t, o, chatTemplate).Prompt(0); len(p.Turns) != 0 {
		t.Errorf("without a system prompt there are %d turns", len(p.Turns))
	}
}

// TestSessionsBeginAnewWithAnEarlierRound holds that a round whose history changed is calibrated again, and that late
// answers to the old history teach nothing.
func TestSessionsBeginAnewWithAnEarlierRound(t *testing.T) {
	w := calibrated(t, session(1), chatTemplate)
	first, late := w.Prompt(0), w.Prompt(4)
	if !w.Learn(first.Size, first.Tokens+7) {
		t.Error("a usage that contradicts the tokenizer is no reason to calibrate again")
	}
	if counted, _ := w.Known(4); counted || w.Prompt(4).Calibrated {
		t.Error("a round is calibrated though the one before it is not")
	}
	w.Learn(late.Size, late.Tokens)
	changed := chatTemplate
	changed.turn += 5
	if err := w.CalibrateAll(false, changed.countTokens); err != nil {
		t.Fatal(err)
	}
	for round := range 6 {
		p := w.Prompt(uint64(round * 4))
		if tokens := changed.tokens(p); tokens != p.Asked || p.Tokens != p.Asked {
			t.Errorf("round %d has %d tokens and says %d, asked %d", round, tokens, p.Tokens, p.Asked)
		}
	}
}

// TestSessionsNeedFewCounts holds that a round learns from the one before it: each count is a request with all of the
// history.
func TestSessionsNeedFewCounts(t *testing.T) {
	for _, s := range []server{tokenAWord, chatTemplate, eightLetters, sixLetters} {
		o := session(1)
		o.Rounds = 100
		if counts := runCalibration(t, o, s).counts; counts > 110 {
			t.Errorf("%s: %d counts for 100 rounds", s.name, counts)
		}
	}
}
