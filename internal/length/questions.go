// Package length is the one owner of the question how long a prompt is: by whose count, how certainly, and since when.
// A server's tokenizer counts prompts or, where it has none, the usage of requests with short answers does; where
// nothing counts, the length is estimated. The usage of each answer then confirms the length or casts doubt on it.
//
// Read [Questions.Next] first: it is what every slot of a group begins with. A [Rotation] says which of several prompts
// a round asks; each has its own Questions. A [State] says how certain a length is, and its transitions are one table.
// The search for the size of a prompt is pure and has two worked examples (search.go).
//
// What is known is in a [Book], whose lock guards the questions of all groups. It is never held while a server is asked
// or a prompt is written. Who looks at what is known calls [Questions.update] first, once; the look itself changes
// nothing.
package length

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
	"github.com/llm-prober/prober/internal/wire"
)

// Options are whose questions are asked, and which.
type Options struct {
	Name    string // of the prompt
	Prompts prompt.Options
	Members []*probe.Member
	Kinds   []string // of each member, the kind of its server: those of a kind count alike

	// Every is the time between two of its rounds. Slots that are skipped for longer than two of them are worth a warning.
	Every time.Duration

	// Events takes what happens. It is called with the lock of the [Book] held: it must be quick, and ask nothing of any
	// questions.
	Events func(Event)
}

// Questions are what the members of a group are asked by one of its prompts, round by round, with texts as long as
// configured. All members are asked the same text in the same round, although its length is exact by the count of one
// of them: the others may have another tokenizer. They are safe for concurrent use.
type Questions struct {
	Options
	form promptForm
	book *Book

	trials   atomic.Uint64 // prompts that were only sent to be counted
	answered atomic.Bool   // the member of by has answered since the last [Questions.Ahead]

	// The book's lock guards all below.

	members []memberState
	by      int // the member whose count is, or was last, the length of the prompts
	sizes   []roundSize
	next    uint64 // the round after the latest one that was asked

	failure      error     // why the length is not known; nil before the end of the first count
	skippedSince time.Time // since when slots are skipped although no request failed; zero if none is
	warned       bool      // that slots are still skipped
}

// A memberState is what is known of how a member's server counts.
type memberState struct {
	key      key
	record   record
	busy     bool // it is being asked
	failures int  // counts in a row in which the tokenizer failed and answers had no usage

	counted wire.Count // tokens of its last prompt by the usage of the answer

	// contradicted says that its answers differed from its record: what others of its kind count holds for it no longer.
	contradicted bool
}

// A roundSize is the size of the prompts of a round, and of the rounds after it up to the next roundSize.
type roundSize struct {
	round uint64
	exact bool    // by has counted them; else the size is an estimate
	by    int     // a member
	found finding // of an estimate, only the size
}

// New returns the questions of a group. Until a member has counted their prompts, there are none but of a data set.
func New(o Options, book *Book) *Questions {
	q := &Questions{Options: o, book: book, members: make([]memberState, len(o.Members))}
	q.form = promptForm{
		workload: o.Prompts.Workload, tokens: o.Prompts.Tokens, system: o.Prompts.System,
		depths: fmt.Sprint(o.Prompts.Depths),
	}
	if q.Events == nil {
		q.Events = func(Event) {}
	}
	return q
}

// Next returns what [Rotation.Next] does, for a round of this prompt. If the length of the prompt is not known, it uses
// the slot to ask the member's server to count: then there is no question, but the reason to skip the slot, or the
// request that failed and is the result of the slot, because it shows that the server is down.
func (q *Questions) Next(
	ctx context.Context, i int, round uint64,
) (question probe.Question, failed *probe.Result, skip probe.Skip) {
	sized, isConfirmed, ok := q.sizeOf(i, round)
	if ok {
		return q.question(i, round, sized, isConfirmed), nil, ""
	}
	err := q.count(ctx, i)
	failed, skip = q.noteAttempt(i, err)
	return probe.Question{}, failed, skip
}

// sizeOf returns the size of a round's prompt, and whether the usage of an answer has confirmed how it counts. ok is
// false if member i cannot be asked. A round that was asked keeps its size, whatever is found out between the turns of
// two members: they are compared.
func (q *Questions) sizeOf(i int, round uint64) (sized roundSize, isConfirmed, ok bool) {
	q.book.mu.Lock()
	defer q.book.mu.Unlock()
	q.update()
	if !q.isReady(i) {
		return roundSize{}, false, false
	}
	if round >= q.next {
		q.next = round + 1
		q.keepSize(round)
	}
	sized = q.sizeAt(round)
	r := q.members[sized.by].record
	isConfirmed = r.found == sized.found && (r.state == Confirmed || r.state == Doubted)
	return sized, isConfirmed, true
}

// keepSize notes the size of now as that of a round that was not asked before. The lock is held.
func (q *Questions) keepSize(round uint64) {
	now := roundSize{round: round, exact: q.isExact(), by: q.by}
	if now.exact {
		now.found = q.members[q.by].record.found
	} else {
		now.found.size = q.Prompts.UsualSize()
	}
	if len(q.sizes) > 0 {
		latest := q.sizes[len(q.sizes)-1]
		if latest.by == now.by && latest.found == now.found {
			return
		}
	}
	const most = 16 // the rounds of earlier ones are long over
	if len(q.sizes) == most {
		q.sizes = slices.Delete(q.sizes, 0, 1)
	}
	q.sizes = append(q.sizes, now)
}

// sizeAt returns the size of a round that is not later than the latest one that was asked. The lock is held.
func (q *Questions) sizeAt(round uint64) roundSize {
	for k := len(q.sizes) - 1; k > 0; k-- {
		if q.sizes[k].round <= round {
			return q.sizes[k]
		}
	}
	return q.sizes[0]
}

// question returns what member i is asked in a round. All get the same text. Only what the member that counted makes of
// its length is judged.
func (q *Questions) question(i int, round uint64, sized roundSize, isConfirmed bool) probe.Question {
	p := prompt.Write(q.Prompts, round, sized.found.size)
	question := questionOf(p)
	question.Ask.MaxTokens = q.Prompts.Answer
	for k, words := range p.Code {
		code := probe.CodeWords{Depth: q.Prompts.Depths[k], Words: words}
		question.Expect.Code = append(question.Expect.Code, code)
	}
	if i > 0 && p.Salt != "" { // several members may lead to one server's cache
		question.Ask.CacheSalt = fmt.Sprintf("%s-%d", p.Salt, i)
	}
	if !q.Prompts.Exact(round) {
		return question
	}
	question.Words = p.Words
	expect := &question.Expect
	expect.Truncated = sized.found.cut
	if !sized.exact {
		expect.Length = q.Prompts.Tokens
		return question
	}
	if i != sized.by {
		return question
	}
	expect.Length = q.Prompts.Tokens
	expect.Counted = sized.found.tokens
	if sized.found.cut { // it has shown how it counts, and should count all that it is sent
		expect.Counted = q.Prompts.Tokens
		isConfirmed = true
	}
	if isConfirmed {
		expect.Confirmed = wire.Tokens(expect.Counted)
	}
	return question
}

// questionOf returns the question for a prompt, without what depends on how its length is known.
func questionOf(p prompt.Prompt) probe.Question {
	return probe.Question{
		Ask: wire.Ask{Prompt: p.Text, Turns: p.Turns, CacheSalt: p.Salt, Session: p.Session, Form: p.Form},
		Expect: probe.Expectation{
			Words: p.Words, Uncacheable: p.Uncacheable, Shared: p.Shared, Repeated: p.Repeated, Values: p.Values,
		},
		Tokens: p.Tokens,
	}
}

// Answered takes what [Rotation.Answered] does, for a round of this prompt. It compares the usage of an answer with the
// count. An answer that contradicts it makes the length unknown. Usage that is far too small counts something else, and
// is ignored; and so is that of an answer to a prompt from before the latest count.
func (q *Questions) Answered(i int, round uint64, r *probe.Result) {
	if r.Outcome != probe.OK && r.Outcome != probe.WrongLength {
		return
	}
	q.book.mu.Lock()
	defer q.book.mu.Unlock()
	if i == q.by {
		q.answered.Store(true)
	}
	if !q.Prompts.Exact(round) {
		return
	}
	asked := q.sizeAt(round)
	m := &q.members[i] // not brought up to date: the answer belongs to what was known when it was asked for
	if r.Usage.Prompt.Known {
		m.counted = r.Usage.Prompt
	}
	isEstimate := !asked.exact && m.record.state == Estimated
	isByItself := i == asked.by && m.record.state.Exact() && m.record.found == asked.found
	if !isEstimate && !isByItself {
		return
	}
	tokens := r.Usage.Prompt.N
	if tokens <= asked.found.size.Words/maxWordsPerToken {
		return
	}

	happened := answerDiffers
	if m.record.agrees(tokens, q.Prompts.Tokens) {
		happened = answerAgrees
	}
	m.record.state = m.record.state.after(happened)
	if m.record.state == Unknown {
		m.contradicted = true
		m.record.distrusted = m.record.distrusted || m.record.method == ByTokenizer
		m.record.trials = nil
		q.Events(Event{
			Kind: EventContradiction, Member: i, Method: m.record.method, Tokens: tokens, Asked: q.Prompts.Tokens,
		})
	}
	q.book.write(m.key, m.record)
}

// Ready reports whether member i can be asked, because a server has counted the prompts, or because i counts nothing.
func (q *Questions) Ready(i int) bool {
	q.book.mu.Lock()
	defer q.book.mu.Unlock()
	q.update()
	return q.isReady(i)
}

// isReady is [Questions.Ready] after an update. The lock is held.
func (q *Questions) isReady(i int) bool {
	return q.isExact() || q.members[i].record.state == Estimated
}

// isExact reports whether the count of the member by makes the prompts exact. Those of a data set need no count. The
// lock is held.
func (q *Questions) isExact() bool {
	return q.Prompts.Workload == prompt.Dataset || q.members[q.by].record.state.Exact()
}

// update brings what is known up to date. If the prompts are exact by the count of a member, that is by then. If they
// are not, each member is up to date. The lock is held.
func (q *Questions) update() {
	if q.Prompts.Workload == prompt.Dataset {
		return
	}
	q.updateMember(q.by)
	for i := 0; i < len(q.members) && !q.isExact(); i++ {
		m := q.updateMember(i)
		if m.record.state.Exact() {
			q.by = i
		}
	}
	if q.isExact() { // perhaps by what others of a kind have found, so that none of our own counts has ended the wait
		q.endWaiting()
	}
}

// updateMember brings up to date what is known of member i, and returns it. If the model of its server has changed, it
// is what is known of the new model. Until the member has counted itself, it is what other members of its kind have
// found. The lock is held.
func (q *Questions) updateMember(i int) *memberState {
	m := &q.members[i]
	now := key{prompts: q.form, kind: q.Kinds[i], model: q.Members[i].Knowledge().Model}
	if m.key != now {
		isOther := m.key.model != "" && now.model != ""
		if isOther { // if the former one comes back, the server may count it otherwise
			q.book.write(m.key, record{})
		}
		*m = memberState{key: now, record: q.book.read(now), busy: m.busy, counted: m.counted}
		return m
	}
	isOpen := !m.record.state.Exact() && m.record.state != Counting
	if isOpen && !m.contradicted {
		m.record = q.book.read(now)
	}
	return m
}
