package prompt

import (
	"slices"
	"strings"
	"testing"

	"github.com/llm-prober/prober/internal/wire"
)

// session is options of small sessions.
func session(seed uint64) Options {
	return Options{Workload: Sessions, Tokens: 300, Seed: seed, Answer: 20, Users: 4, Rounds: 6, System: 50}
}

// calibrated is a writer with known lengths.
func calibrated(t testing.TB, o Options) *Writer {
	t.Helper()
	w := NewWriter(o)
	if err := w.Calibrate(0, func(p Prompt) (int, error) { return servers[1].tokens(p), nil }); err != nil {
		t.Fatal(err)
	}
	return w
}

// conversation is all that a prompt says, as turns.
func conversation(p Prompt) []wire.Turn {
	return append(slices.Clone(p.Turns), wire.Turn{Role: "user", Text: p.Text})
}

func TestSessionsStrictlyExtend(t *testing.T) {
	o := session(1)
	w := calibrated(t, o)
	before, rounds := map[string][]wire.Turn{}, map[string]int{}
	for slot := range uint64(200) {
		p := w.Prompt(slot)
		now, then := conversation(p), before[p.Session]
		if want := then; !slices.Equal(now[:len(want)], want) {
			t.Fatalf("slot %d does not extend what %s asked before", slot, p.Session)
		}
		if grown := now[len(then):]; then != nil && (len(grown) != 2 || grown[0].Role != "assistant" || grown[1].Role != "user" ||
			len(strings.Fields(grown[0].Text)) != o.Answer || !strings.HasPrefix(grown[0].Text, "one two three ")) {
			t.Fatalf("slot %d adds %v", slot, grown)
		}
		if then == nil && (len(now) != 2 || now[0].Role != "system") {
			t.Fatalf("slot %d begins %s in the middle", slot, p.Session)
		}
		if want := o.Tokens + rounds[p.Session]*(o.Answer+QuestionTokens); p.Asked != want || servers[1].tokens(p) != want {
			t.Errorf("slot %d counts %d, asked %d, want %d", slot, servers[1].tokens(p), p.Asked, want)
		}
		before[p.Session] = now
		rounds[p.Session]++
	}
}

// TestSessionsTakeTurns holds that users follow one another slot by slot, leave
// after their rounds and never come back, and that rounds are mixed.
func TestSessionsTakeTurns(t *testing.T) {
	o := session(1)
	author := sessions{o}
	asked, seats := map[uint64]int{}, make([]uint64, o.Users)
	left := map[uint64]bool{}
	for slot := range uint64(10_000) {
		shape, user := author.place(slot)
		seat := slot % uint64(o.Users)
		if slot >= uint64(o.Users) && seats[seat] != user {
			left[seats[seat]] = true
		}
		seats[seat] = user
		if left[user] || shape != asked[user] || shape >= o.Rounds {
			t.Fatalf("slot %d: user %d asks round %d after %d (left: %t)", slot, user, shape, asked[user], left[user])
		}
		asked[user]++
	}
	mixed := map[int]bool{}
	for slot := uint64(9996); slot < 10_000; slot++ {
		shape, _ := author.place(slot)
		mixed[shape] = true
	}
	if len(mixed) != o.Users {
		t.Errorf("%d users are in %d different rounds", o.Users, len(mixed))
	}
	for user := range left {
		if user >= uint64(o.Users) && asked[user] != o.Rounds {
			t.Errorf("user %d left after %d rounds", user, asked[user])
		}
	}
}

func TestSessionIDsAreNeverUsedTwice(t *testing.T) {
	first := map[string]string{}
	for seed := range uint64(20) {
		w := calibrated(t, session(seed))
		for slot := range uint64(120) {
			p := w.Prompt(slot)
			begins := p.Turns[0].Text + p.Text
			if len(p.Turns) > 1 {
				begins = p.Turns[0].Text + p.Turns[1].Text
			}
			if other, known := first[p.Session]; known && other != begins {
				t.Fatalf("%s stands for two users", p.Session)
			}
			first[p.Session] = begins
		}
	}
	texts := map[string]bool{}
	for id, text := range first {
		if texts[text] {
			t.Fatalf("%s asks what another user asks", id)
		}
		texts[text] = true
	}
}

func TestSessionsShareSystemPromptAndSalt(t *testing.T) {
	w := calibrated(t, session(1))
	a, b, other := w.Prompt(0), w.Prompt(1), calibrated(t, session(2)).Prompt(0)
	if a.Turns[0] != b.Turns[0] || a.Salt != b.Salt || a.Salt == "" || a.Session == b.Session {
		t.Error("two users of a run do not share what they should")
	}
	if words := len(strings.Fields(a.Turns[0].Text)); words < 35 || words > 51 {
		t.Errorf("the system prompt has %d words, want about 50", words)
	}
	if a.Turns[0] == other.Turns[0] || a.Salt == other.Salt {
		t.Error("two runs share system prompt or salt")
	}
	o := session(1)
	o.System = 0
	if p := calibrated(t, o).Prompt(0); len(p.Turns) != 0 {
		t.Errorf("without a system prompt there are %d turns", len(p.Turns))
	}
}

// TestSessionsBeginAnewWithAnEarlierRound holds that a round whose history
// changed is found out again, and that late answers to the old history teach
// nothing.
func TestSessionsBeginAnewWithAnEarlierRound(t *testing.T) {
	w := calibrated(t, session(1))
	first, late := w.Prompt(0), w.Prompt(4)
	if first.Size.shape != 0 || late.Size.shape != 1 {
		t.Fatalf("slots 0 and 4 are rounds %d and %d", first.Size.shape, late.Size.shape)
	}
	w.Learn(first.Size, first.Tokens+7)
	if p := w.Prompt(4); p.Calibrated {
		t.Error("a round is calibrated though the one before it is not")
	}
	w.Learn(late.Size, late.Tokens)
	server := servers[1]
	server.turn += 5
	if err := w.Calibrate(0, func(p Prompt) (int, error) { return server.tokens(p), nil }); err != nil {
		t.Fatal(err)
	}
	for slot := range uint64(24) {
		check(t, server, w, slot)
	}
}

func TestCounting(t *testing.T) {
	words := strings.Fields(counting(100_000))
	if len(words) != 100_000 || len(counting(0)) != 0 {
		t.Errorf("%d words", len(words))
	}
	for n, want := range map[int]string{
		1: "one", 19: "nineteen", 20: "twenty", 21: "twenty one", 100: "one hundred", 110: "one hundred ten",
		999: "nine hundred ninety nine", 1000: "one thousand", 20_305: "twenty thousand three hundred five",
	} {
		if got := strings.Join(spell(nil, n), " "); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

// TestSessionsNeedFewCounts holds that a round learns from the one before it:
// each count is a request with all of the history.
func TestSessionsNeedFewCounts(t *testing.T) {
	for _, s := range servers[:4] {
		o, calls := session(1), 0
		o.Rounds = 100
		if err := NewWriter(o).Calibrate(0, func(p Prompt) (int, error) { calls++; return s.tokens(p), nil }); err != nil {
			t.Fatal(err)
		}
		if calls > 110 {
			t.Errorf("%s: %d counts for 100 rounds", s.name, calls)
		}
	}
}
