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

// TestUsersTakeTurns holds who asks in each slot, and which of their questions: users sit in four seats and ask one
// after another. The first ones leave early, each after another number of rounds; all others ask all rounds, and
// nobody comes back.
func TestUsersTakeTurns(t *testing.T) {
	o := session(1)
	var got []string
	for visit := range uint64(9) {
		var users []string
		for seat := range uint64(o.Users) {
			user, question := o.turnOf(visit*uint64(o.Users) + seat)
			users = append(users, fmt.Sprintf("%d asks %d", user, question))
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

// TestAQuestionExtendsTheOneBefore holds that a user's prompt begins with all that was said before, and adds an
// answer of about the configured length and a question. Only the first one has a length to keep.
func TestAQuestionExtendsTheOneBefore(t *testing.T) {
	o := session(1)
	for name, test := range map[string]struct {
		first                   Size // prompts of it have the 300 tokens that are asked for
		answerWords, questWords int
	}{
		"a token a word":    {Size{Words: 260}, 20, 32},
		"two tokens a word": {Size{Words: 150, Pads: 2}, 10, 16},
	} {
		before := conversation(Write(o, 0, test.first))
		for question := 1; question < o.Rounds; question++ {
			round := uint64(question * o.Users) // of the same user
			p := Write(o, round, test.first)
			now := conversation(p)
			if len(now) != len(before)+2 || !slices.Equal(now[:len(before)], before) {
				t.Fatalf("%s: question %d does not extend the one before", name, question)
			}
			answer, next := now[len(before)], now[len(before)+1]
			if answer.Role != "assistant" || next.Role != "user" {
				t.Errorf("%s: question %d adds turns of %s and %s", name, question, answer.Role, next.Role)
			}
			if words := strings.Fields(answer.Text); len(words) != test.answerWords || words[2] != "three" {
				t.Errorf("%s: question %d has the answer %q", name, question, answer.Text)
			}
			const headAndTail = 4
			if words := len(strings.Fields(next.Text)); words != test.questWords+headAndTail {
				t.Errorf("%s: question %d has %d words", name, question, words)
			}
			if want := o.Tokens + question*(o.Answer+QuestionTokens); p.Tokens != want || o.Exact(round) || !o.Exact(0) {
				t.Errorf("%s: question %d has about %d tokens, want %d", name, question, p.Tokens, want)
			}
			shared, repeated := countFields(now[0].Text), 0
			for _, turn := range before {
				repeated += countFields(turn.Text)
			}
			if p.Shared != shared || p.Repeated != repeated {
				t.Errorf("%s: question %d shares %d words and repeats %d, want %d and %d",
					name, question, p.Shared, p.Repeated, shared, repeated)
			}
			before = now
		}
	}
}

// TestWhatUsersShare holds that users of a run share its salt and its system prompt and nothing else, and that users of
// other runs share nothing.
func TestWhatUsersShare(t *testing.T) {
	s := Size{Words: 260}
	a, b, other := Write(session(1), 0, s), Write(session(1), 1, s), Write(session(2), 0, s)
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
	system := Write(o, 0, Size{Words: 260}).Turns[0]
	if words := len(strings.Fields(system.Text)); system.Role != "system" || words < 35 || words > 51 {
		t.Errorf("the first turn is of the role %s and has %d words, want about 50", system.Role, words)
	}
	o.System = 0
	if p := Write(o, 0, Size{Words: 260}); len(p.Turns) != 0 {
		t.Errorf("without a system prompt there are %d turns", len(p.Turns))
	}
}
