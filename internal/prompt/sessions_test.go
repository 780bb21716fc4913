package prompt

import (
	"cmp"
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
	if err := w.CalibrateAll(false, func(p Prompt) (int, error) { return servers[1].tokens(p), nil }); err != nil {
		t.Fatal(err)
	}
	return w
}

// conversation is all that a prompt says, as turns.
func conversation(p Prompt) []wire.Turn {
	return append(slices.Clone(p.Turns), wire.Turn{Role: "user", Text: p.Text})
}

// TestSessionsStrictlyExtend holds that users follow one another slot by slot, each round of theirs with all that was
// said before, that they leave after their rounds and never come back, and that rounds are mixed.
func TestSessionsStrictlyExtend(t *testing.T) {
	o := session(1)
	w := calibrated(t, o)
	before, rounds, seats := map[string][]wire.Turn{}, map[string]int{}, make([]string, o.Users)
	for slot := range uint64(200) {
		p := w.Prompt(slot)
		now, then := conversation(p), before[p.Session]
		if want := then; !slices.Equal(now[:len(want)], want) {
			t.Fatalf("slot %d does not extend what %s asked before", slot, p.Session)
		}
		if grown := now[len(then):]; then != nil &&
			(len(grown) != 2 || grown[0].Role != "assistant" || grown[1].Role != "user" ||
				len(strings.Fields(grown[0].Text)) != o.Answer || !strings.HasPrefix(grown[0].Text, "one two three ")) {
			t.Fatalf("slot %d adds %v", slot, grown)
		}
		if then == nil && (len(now) != 2 || now[0].Role != "system") {
			t.Fatalf("slot %d begins %s in the middle", slot, p.Session)
		}
		if want := o.Tokens + rounds[p.Session]*(o.Answer+QuestionTokens); p.Asked != want || servers[1].tokens(p) != want {
			t.Errorf("slot %d counts %d, asked %d, want %d", slot, servers[1].tokens(p), p.Asked, want)
		}
		seat := slot % uint64(o.Users)
		if left := seats[seat]; left != p.Session && (then != nil || slot > 30 && rounds[left] != o.Rounds) {
			t.Errorf("slot %d: %s takes the turn of %s, who left after %d rounds", slot, p.Session, left, rounds[left])
		}
		seats[seat] = p.Session
		before[p.Session] = now
		rounds[p.Session]++
		if rounds[p.Session] > o.Rounds {
			t.Errorf("slot %d: %s stays for %d rounds", slot, p.Session, rounds[p.Session])
		}
	}
	mixed := map[int]bool{}
	for _, user := range seats {
		mixed[rounds[user]] = true
	}
	if len(mixed) != o.Users {
		t.Errorf("%d users are in %d different rounds", o.Users, len(mixed))
	}
}

// TestSessionIDsAreNeverUsedTwice holds that no user of any run has the name of another one, or asks the same.
func TestSessionIDsAreNeverUsedTwice(t *testing.T) {
	asks, asker := map[string]string{}, map[string]string{}
	for seed := range uint64(20) {
		w := calibrated(t, session(seed))
		for slot := range uint64(120) {
			p := w.Prompt(slot)
			first := p.Turns[0].Text + conversation(p)[1].Text
			text, user := cmp.Or(asks[p.Session], first), cmp.Or(asker[first], p.Session)
			if text != first || user != p.Session {
				t.Fatalf("%s stands for two users, or asks what %s asks", p.Session, user)
			}
			asks[p.Session], asker[first] = first, p.Session
		}
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
	if !w.Learn(first.Size, first.Tokens+7) {
		t.Error("a usage that contradicts the tokenizer is no reason to calibrate again")
	}
	if counted, _ := w.Known(4); counted || w.Prompt(4).Calibrated {
		t.Error("a round is calibrated though the one before it is not")
	}
	w.Learn(late.Size, late.Tokens)
	server := servers[1]
	server.turn += 5
	if err := w.CalibrateAll(false, func(p Prompt) (int, error) { return server.tokens(p), nil }); err != nil {
		t.Fatal(err)
	}
	for slot := range uint64(24) {
		check(t, server, w, slot)
	}
}

// TestSessionsNeedFewCounts holds that a round learns from the one before it:
// each count is a request with all of the history.
func TestSessionsNeedFewCounts(t *testing.T) {
	for _, s := range servers[:4] {
		o, calls := session(1), 0
		o.Rounds = 100
		count := func(p Prompt) (int, error) {
			calls++
			return s.tokens(p), nil
		}
		if err := NewWriter(o).CalibrateAll(false, count); err != nil {
			t.Fatal(err)
		}
		if calls > 110 {
			t.Errorf("%s: %d counts for 100 rounds", s.name, calls)
		}
	}
}
