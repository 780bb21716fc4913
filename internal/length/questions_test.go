package length

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/wire"
)

// newQuestions returns the questions of members with these models, whose servers are all of one kind.
func newQuestions(book *Book, o prompt.Options, models ...string) *Questions {
	options := Options{Prompts: o}
	for _, model := range models {
		target := probe.Target{Name: model, Transport: probe.NewTransport(probe.Route{})}
		options.Members = append(options.Members, probe.NewMember(target, model, 1))
		options.Kinds = append(options.Kinds, "kind")
	}
	return New(options, book)
}

var cold = prompt.Options{Workload: prompt.Cold, Tokens: 1000, Answer: 20, Seed: 1}

// counts notes that a member has counted prompts of that many words as 1,000 tokens.
func (q *Questions) counts(i, words int) {
	q.noteCount(i, ByUsage, 3, finding{trial: trial{prompt.Size{Words: words}, 1000}})
}

// answer is the result of a probe whose usage counts that many tokens in the prompt.
func answer(tokens int) *probe.Result {
	return &probe.Result{Outcome: probe.OK, Usage: wire.Usage{Prompt: wire.Tokens(tokens)}}
}

// ask returns the question of a member in a round, whose length is known.
func ask(t *testing.T, q *Questions, i int, round uint64) probe.Question {
	t.Helper()
	question, failed, skip := q.Next(t.Context(), i, round)
	if failed != nil || skip != "" {
		t.Fatalf("member %d is not asked in round %d: %s", i, round, skip)
	}
	return question
}

// TestARoundIsTheSameForAll holds that all members get the same text in a round, also if the length is found out anew
// between the turns of two of them, and that only what the one that counted makes of its length is judged.
func TestARoundIsTheSameForAll(t *testing.T) {
	q := newQuestions(NewBook(), cold, "a", "b")
	q.counts(0, 900)
	first := ask(t, q, 0, 5)
	for range 2 {
		q.Answered(0, 5, answer(1100)) // twice in a row
	}
	if q.Ready(0) || q.Ready(1) {
		t.Fatal("the length is known although two answers in a row differ")
	}
	q.counts(1, 800)
	second := ask(t, q, 1, 5)
	if first.Ask.Prompt != second.Ask.Prompt {
		t.Error("the second member gets another prompt in the same round")
	}
	if first.Ask.CacheSalt == second.Ask.CacheSalt {
		t.Error("two members share a salt: one would warm the cache of the other")
	}
	if first.Expect.Counted != 1000 || second.Expect.Counted != 0 || second.Expect.Length != 0 {
		t.Errorf("the first one's length is %d, the second one's %d", first.Expect.Counted, second.Expect.Counted)
	}
	next := ask(t, q, 1, 6)
	if words := len(strings.Fields(next.Ask.Prompt)); words > 830 || next.Expect.Counted != 1000 {
		t.Errorf("the next round has %d words, counted as %d", words, next.Expect.Counted)
	}
	late := ask(t, q, 0, 2) // of a round before all that
	if late.Ask.Prompt == "" || len(strings.Fields(late.Ask.Prompt)) < 900 {
		t.Error("an earlier round has the size of now")
	}
}

// TestWhatAnswersTeach holds which answers make a length unknown again. An odd count of something else, one alone,
// one to a prompt from before the latest count, and that of a member that did not count throw nothing away.
func TestWhatAnswersTeach(t *testing.T) {
	for name, test := range map[string]struct {
		method  Method
		cut     bool
		answers []int         // tokens by their usage, one after another
		unknown int           // the answer that makes the length unknown, from 1; 0: none does
		outcome probe.Outcome // of the answers; empty: OK
	}{
		"the tokenizer is right":                     {method: ByTokenizer, answers: []int{1000, 1000}},
		"the tokenizer leaves out the chat template": {method: ByTokenizer, answers: []int{1028}, unknown: 1},
		"the same, of answers that are judged wrong": {
			method: ByTokenizer, answers: []int{1028}, unknown: 1, outcome: probe.WrongLength,
		},
		"answers that failed":                               {method: ByTokenizer, answers: []int{1028, 1028}, outcome: probe.Truncated},
		"the tokenizer was right and changed":               {method: ByTokenizer, answers: []int{1000, 1100, 1100}, unknown: 3},
		"the usage becomes another one":                     {method: ByUsage, answers: []int{1000, 1100, 1100}, unknown: 3},
		"two counts differ from each other and from before": {method: ByUsage, answers: []int{1001, 990}, unknown: 2},
		"odd counts are not in a row":                       {method: ByUsage, answers: []int{1000, 1100, 1000, 1100}},
		"answers without a count":                           {method: ByUsage, answers: []int{0, 0, 0}},
		"counts of something else":                          {method: ByTokenizer, answers: []int{10, 10, 10}},
		"a server that counted nothing begins to count":     {method: ByEstimate, answers: []int{0, 990}, unknown: 2},
		"it still cuts":                                     {method: ByUsage, cut: true, answers: []int{512, 640, 640}},
		"it cuts no more":                                   {method: ByUsage, cut: true, answers: []int{1000, 1000}, unknown: 2},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQuestions(NewBook(), cold, "a", "b")
			var told []Event
			q.Events = func(e Event) { told = append(told, e) }
			found := finding{trial: trial{prompt.Size{Words: 960}, 1000}}
			if test.cut {
				found = finding{trial: trial{prompt.Size{Words: 1000}, 512}, cut: true}
			}
			if test.method == ByEstimate {
				found = finding{}
			}
			q.noteCount(0, test.method, 0, found)
			unknown := 0
			for n, tokens := range test.answers {
				question := ask(t, q, 0, uint64(n))
				isConfirmed := question.Expect.Confirmed.Known
				if want := test.method == ByUsage || n > 0 && test.answers[0] == 1000; isConfirmed != want {
					t.Errorf("answer %d: confirmed %t, want %t", n+1, isConfirmed, want)
				}
				q.Answered(1, uint64(n), answer(7000))
				result := answer(tokens)
				result.Outcome = cmp.Or(test.outcome, probe.OK)
				q.Answered(0, uint64(n), result)
				if unknown == 0 && !q.Ready(0) {
					unknown = n + 1
				}
			}
			if unknown != test.unknown {
				t.Errorf("the length is unknown after answer %d, want %d", unknown, test.unknown)
			}
			isTold := func(e Event) bool { return e.Kind == EventContradiction && e.Member == 0 && e.Method == test.method }
			if slices.ContainsFunc(told, isTold) != (test.unknown > 0) {
				t.Errorf("events: %+v", told)
			}
			if distrusts := q.members[0].record.distrusted; distrusts != (test.method == ByTokenizer && test.unknown > 0) {
				t.Errorf("the tokenizer is distrusted: %t", distrusts)
			}
		})
	}
}

// TestLaterQuestionsOfASession holds that they are asked without a length that they could miss, and teach nothing.
func TestLaterQuestionsOfASession(t *testing.T) {
	o := prompt.Options{Workload: prompt.Sessions, Tokens: 1000, Answer: 100, Users: 1, Rounds: 5, Seed: 1}
	q := newQuestions(NewBook(), o, "a")
	q.counts(0, 950)
	first, later := ask(t, q, 0, 0), ask(t, q, 0, 3)
	if first.Expect.Length != 1000 || first.Expect.Counted != 1000 || !first.Expect.Confirmed.Known {
		t.Errorf("the first question: %+v", first.Expect)
	}
	if later.Expect.Length != 0 || later.Expect.Counted != 0 || later.Expect.Confirmed.Known || later.Words != 0 {
		t.Errorf("a later question: %+v", later.Expect)
	}
	if want := 1000 + 3*(100+prompt.QuestionTokens); later.Tokens != want || first.Tokens != 1000 {
		t.Errorf("the budget counts %d and %d tokens, want 1000 and %d", first.Tokens, later.Tokens, want)
	}
	for range 3 {
		q.Answered(0, 3, answer(1500))
	}
	if !q.Ready(0) || q.Snapshot(0).Off != 0 {
		t.Error("a later question makes the length unknown")
	}
}

// TestTheBook holds who shares what is known: members of the same kind with the same model, of all groups, also of one
// that comes later, and not one whose own answers differ.
func TestTheBook(t *testing.T) {
	book := NewBook()
	a := newQuestions(book, cold, "m")
	replica, other := newQuestions(book, cold, "m"), newQuestions(book, cold, "another model")
	longer := cold
	longer.Tokens = 2000
	long := newQuestions(book, longer, "m")
	a.counts(0, 900)
	reloaded := cold
	reloaded.Seed = 2
	later := newQuestions(book, reloaded, "m")
	for name, test := range map[string]struct {
		q     *Questions
		ready bool
	}{
		"itself": {a, true}, "a replica": {replica, true}, "after a reload": {later, true},
		"another model": {other, false}, "another length": {long, false},
	} {
		if got := test.q.Ready(0); got != test.ready {
			t.Errorf("%s is ready: %t", name, got)
		}
	}

	ask(t, replica, 0, 0)
	replica.Answered(0, 0, answer(1100))
	replica.Answered(0, 0, answer(1100))
	ask(t, a, 0, 0)
	a.Answered(0, 0, answer(1000)) // it still counts as before, and says so to the others
	if replica.Ready(0) || !a.Ready(0) {
		t.Errorf("a replica that counts otherwise: %t, the first one: %t", replica.Ready(0), a.Ready(0))
	}
	replica.counts(0, 800)
	if got := ask(t, a, 0, 1); len(strings.Fields(got.Ask.Prompt)) < 900 {
		t.Error("the first one takes the count of a replica that counts otherwise")
	}

	book.Keep([]*Questions{long})
	if newQuestions(book, cold, "m").Ready(0) {
		t.Error("what nobody asks is kept")
	}
}

// TestTheEndOfAWait holds that slots are skipped no longer once another group has counted: the next wait begins anew,
// and is not taken for one that lasts long, with the reason of the first.
func TestTheEndOfAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book := NewBook()
		other, q := newQuestions(book, cold, "m"), newQuestions(book, cold, "m")
		q.Every = 10 * time.Second
		var told []Kind
		q.Events = func(e Event) { told = append(told, e.Kind) }
		q.noteAttempt(0, errors.New("the tokenizer failed"))
		other.counts(0, 900)
		ask(t, q, 0, 0)
		time.Sleep(time.Hour)
		q.Answered(0, 0, answer(1100))
		q.Answered(0, 0, answer(1100))
		if s := q.Snapshot(0); s.Exact || s.Failure != nil {
			t.Errorf("after answers that count otherwise: %+v", s)
		}
		q.noteAttempt(0, ErrBudget)
		if want := []Kind{EventWait, EventContradiction, EventWait}; !slices.Equal(told, want) {
			t.Errorf("events %q, want %q", told, want)
		}
	})
}

// TestPanicsOfAMember holds that a panic is told of the member for which it happened.
func TestPanicsOfAMember(t *testing.T) {
	q := newQuestions(NewBook(), cold, "a", "b")
	q.Members[1] = nil
	var told []Event
	q.Events = func(e Event) { told = append(told, e) }
	NewRotation([]*Questions{q}, []int{1}).Prepare(t.Context(), []int{1})
	if len(told) != 1 {
		t.Fatalf("%d events, want 1", len(told))
	}
	if e := told[0]; e.Kind != EventPanic || e.Member != 1 || e.Stack == nil {
		t.Errorf("%s of member %d, with %d bytes of stack", e.Kind, e.Member, len(e.Stack))
	}
}

// TestCountsInProgress holds that others wait for a count of the same, for ten seconds at most: it may hang.
func TestCountsInProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		book, k := NewBook(), key{kind: "kind"}
		hangs, _, ok := book.begin(k)
		if !ok {
			t.Fatal("nobody else counts")
		}
		time.Sleep(hedge - 1)
		_, others, ok := book.begin(k)
		if ok {
			t.Fatal("two count side by side")
		}
		time.Sleep(time.Nanosecond)
		end, _, ok := book.begin(k)
		if !ok {
			t.Fatal("a count that hangs holds up the others")
		}
		hangs()
		<-others
		_, _, ok = book.begin(k)
		if ok {
			t.Error("the end of a count that hung ends that of another one")
		}
		end()
		_, _, ok = book.begin(k)
		if !ok {
			t.Error("a count that has ended stands in the way")
		}
	})
}

// TestABookGivesCopies holds that nobody changes what is in the book by what was written into it or read from it.
func TestABookGivesCopies(t *testing.T) {
	book, k, size := NewBook(), key{kind: "kind"}, prompt.Size{Words: 1}
	mine := record{trials: map[prompt.Size]int{}}
	book.write(k, mine)
	mine.trials[size] = 1
	book.read(k).trials[size] = 2
	if n := len(book.read(k).trials); n > 0 {
		t.Errorf("the book has %d trials that nobody wrote", n)
	}
}
