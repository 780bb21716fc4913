package length

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
)

// The length of prompts is found on three occasions, all of which lead to [Questions.count] for one member:
//
//   - before the first slot, and when a member's server has become ready: [Questions.Prepare];
//   - between two rounds, if an answer has shown that the server counts otherwise by now: [Questions.Ahead];
//   - in a slot, if neither has succeeded: [Questions.Next].

// ErrNoTokenizer says that a server has no route that counts tokens.
var ErrNoTokenizer = errors.New("server has no tokenizer route")

// ErrBudget says that a request was not sent because the day's tokens are spent.
var ErrBudget = errors.New("the token budget of the day is spent")

// errCounting says that a server is being asked already.
var errCounting = errors.New("it is being calibrated")

// ShortAnswer is the length in tokens of an answer that is asked for only to see one: the shortest that OpenAI's
// Responses API accepts.
const ShortAnswer = 16

const (
	// hedge is how long a member may take to count prompts before the next member is asked as well.
	hedge = 10 * time.Second

	// mostFailures is how often a tokenizer may fail before the length is estimated, if answers report no usage.
	mostFailures = 5

	// longWait is how many intervals slots may be skipped before that is worth a warning. It is less than mostFailures
	// take.
	longWait = 2
)

// Prepare asks members side by side what their servers are, and then has the prompts counted by the first one that
// answers and counts. A member that hangs delays the others by ten seconds.
func (q *Questions) Prepare(ctx context.Context, members []int) {
	answers := make([]bool, len(q.Members))
	var asking sync.WaitGroup
	for _, i := range members {
		asking.Go(func() {
			defer q.survive("asking what a server is")
			_, err := q.Members[i].Identify(ctx, probe.AnyAge)
			answers[i] = probe.MayAnswer(err)
		})
	}
	asking.Wait()
	members = slices.DeleteFunc(slices.Clone(members), func(i int) bool { return !answers[i] })
	q.countByAny(ctx, members)
}

// Ahead has the prompts counted before the next round is due, if that is necessary and a server has answered since the
// last time. It asks the member that counted the earlier prompts first, then the others in turn.
func (q *Questions) Ahead(ctx context.Context) {
	q.mu.Lock()
	answered, by := q.answered, q.by
	q.answered = false
	q.mu.Unlock()
	if !answered || q.hasCount() {
		return
	}
	members := q.Active()
	first, _ := slices.BinarySearch(members, by)
	q.countByAny(ctx, slices.Concat(members[first:], members[:first]))
}

// Active returns the members that have slots which are not skipped now, in ascending order.
func (q *Questions) Active() (members []int) {
	for i, m := range q.Members {
		if !m.Disabled.Load() && m.Skipping() == "" {
			members = append(members, i)
		}
	}
	return members
}

// countByAny has the prompts counted by the first of members that counts. It asks them in their order, each when the one
// before has ended or has taken ten seconds. If all fail, the slots try again.
func (q *Questions) countByAny(ctx context.Context, members []int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var counting sync.WaitGroup
	defer counting.Wait() // before the cancel, because the last members may still count
	for _, i := range members {
		if q.hasCount() || ctx.Err() != nil {
			return
		}
		ended := make(chan struct{})
		counting.Go(func() {
			defer close(ended)
			defer q.survive("writing prompts")
			failed := q.countInTurn(ctx, i)
			if failed != nil && failed.Stack != nil {
				q.Events(Event{Kind: Panicked, Member: i, Doing: "probing", Err: failed.Err, Stack: failed.Stack})
			}
			if q.hasCount() {
				cancel() // the others need not go on
			}
		})
		select {
		case <-ended:
		case <-time.After(hedge):
		}
	}
}

// countInTurn has the prompts counted by member i, after another one of its kind that is at it. It returns a request
// that failed.
func (q *Questions) countInTurn(ctx context.Context, i int) (failed *probe.Result) {
	for {
		failed, _, others := q.count(ctx, i)
		if others == nil {
			return failed
		}
		select {
		case <-others:
		case <-time.After(hedge):
		case <-ctx.Done():
			return nil
		}
	}
}

// hasCount reports whether nothing has to be counted: a member has done so, or the prompts have their own lengths.
func (q *Questions) hasCount() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.Prompts.Workload == prompt.Dataset {
		return true
	}
	_, isExact := q.countedBy()
	return isExact
}

// Count has the prompts counted by member i, unless their length is known. It returns a request that failed.
func (q *Questions) Count(ctx context.Context, i int) (failed *probe.Result) {
	if q.Ready(i) {
		return nil
	}
	return q.countInTurn(ctx, i)
}

// CountByTokenizer has the prompts counted by the tokenizer of member i, and asks for nothing else. The error is
// [ErrNoTokenizer] if the server has none.
func (q *Questions) CountByTokenizer(ctx context.Context, i int) error {
	_, err := q.Members[i].Identify(ctx, probe.AnyAge)
	if !probe.MayAnswer(err) {
		return err
	}
	return q.countByTokenizer(ctx, i)
}

// count has the prompts counted by member i, unless their length is known by now. failed is a request that failed; it is
// to be recorded as the result of the slot. Otherwise skip says why the slot is skipped. others is not nil if another
// member of the same kind is counting, and is closed when that is over: then this one was not asked.
func (q *Questions) count(
	ctx context.Context, i int,
) (failed *probe.Result, skip probe.Skip, others <-chan struct{}) {
	if q.Ready(i) {
		return nil, probe.SkipWaiting, nil
	}
	if !q.take(i) {
		q.noteSkipped(i, errCounting)
		return nil, probe.SkipWaiting, nil
	}
	defer q.release(i)
	start, m := time.Now(), q.Members[i]
	_, err := m.Identify(ctx, probe.AnyAge)
	if !probe.MayAnswer(err) {
		failed = m.FailedSlot(start, err)
		q.noteFailed(failed)
		return failed, "", nil
	}
	end, others, ok := q.book.begin(q.keyOf(i))
	if !ok {
		return nil, probe.SkipWaiting, others
	}
	defer end()

	var broken error // why the tokenizer did not count; nil: there is none
	if !q.isDistrusted(i) {
		err = q.countByTokenizer(ctx, i)
		if err == nil {
			return nil, probe.SkipWaiting, nil
		}
		refused := m.UnsentResult(start, err)
		if refused.Outcome == probe.RateLimited && m.TakesPauses() {
			failed = m.FailedSlot(start, err)
			q.noteFailed(failed)
			return failed, "", nil
		}
		if !errors.Is(err, ErrNoTokenizer) {
			broken = err
		}
	}

	err = q.countByUsage(ctx, i)
	none, isUnanswered := errors.AsType[unanswered](err)
	switch {
	case err == nil:
	case isUnanswered:
		q.noteFailed(none.result)
		return none.result, "", nil
	case errors.Is(err, ErrBudget):
		q.noteSkipped(i, err)
		return nil, probe.SkipBudget, nil
	case broken == nil || q.hasFailedTooOften(i):
		q.noteCount(i, nothingCounted, ByEstimate, 0, finding{})
	default:
		q.noteSkipped(i, broken)
	}
	return nil, probe.SkipWaiting, nil
}

// take marks member i as being asked. It reports whether it was not already.
func (q *Questions) take(i int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.memberNow(i)
	if m.busy {
		return false
	}
	m.busy = true
	m.record.state = m.record.state.after(countBegins)
	return true
}

// release marks member i as no longer being asked.
func (q *Questions) release(i int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := &q.members[i]
	m.busy = false
	m.record.state = m.record.state.after(countBreaksOff)
}

// isDistrusted reports whether answers of member i have contradicted its tokenizer.
func (q *Questions) isDistrusted(i int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.memberNow(i).record.distrusted
}

// hasFailedTooOften notes that the tokenizer of member i failed while answers reported no usage. It reports whether that
// has happened so often that the length is to be estimated.
func (q *Questions) hasFailedTooOften(i int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.memberNow(i)
	m.record.failures++
	q.book.write(m.key, m.record)
	return m.record.failures >= mostFailures
}

// countByTokenizer finds the size of the prompts by the tokenizer of member i. The error is [ErrNoTokenizer] if the
// server has none.
func (q *Questions) countByTokenizer(ctx context.Context, i int) error {
	found, err := find(q.Prompts, func(size prompt.Size) (int, error) {
		tokens, err := q.Members[i].Tokenize(ctx, q.trial(size).Ask)
		if err == nil && !tokens.Known {
			err = ErrNoTokenizer
		}
		return tokens.N, err
	})
	switch {
	case errors.Is(err, errUncounted):
		return ErrNoTokenizer
	case err != nil:
		return err
	}
	q.noteCount(i, tokenizerCounted, ByTokenizer, 0, found)
	return nil
}

// trial returns the question for a prompt that is only counted, which is unlike every other one.
func (q *Questions) trial(size prompt.Size) probe.Question {
	q.mu.Lock()
	number := q.trials
	q.trials++
	q.mu.Unlock()
	question := questionOf(prompt.Trial(q.Prompts, number, size))
	question.Expect = probe.Expectation{}
	question.PromptTokens = 0 // its size is not that of the prompts
	return question
}

// unanswered is the error of a request that was to count tokens and failed.
type unanswered struct{ result *probe.Result }

// Error implements error.
func (u unanswered) Error() string { return fmt.Sprintf("%s: %v", u.result.Outcome, u.result.Err) }

// countByUsage finds the size of the prompts by requests with short answers, which are recorded nowhere. It goes on
// where an earlier count broke off. The error is errUncounted if answers report no usage.
func (q *Questions) countByUsage(ctx context.Context, i int) error {
	requests := 0
	found, err := find(q.Prompts, func(size prompt.Size) (int, error) {
		requests++
		tokens, ok := q.tryOf(i, size)
		if ok {
			return tokens, nil
		}
		tokens, err := q.usage(ctx, i, size)
		if tokens > 0 {
			q.noteTry(i, size, tokens)
		}
		return tokens, err
	})
	if err == nil {
		q.noteCount(i, usageCounted, ByUsage, requests, found)
	}
	return err
}

// usage returns the tokens of a prompt that the usage of a short answer of member i reports; 0 if it reports none.
func (q *Questions) usage(ctx context.Context, i int, size prompt.Size) (int, error) {
	question := q.trial(size)
	question.Ask.MaxTokens = min(ShortAnswer, q.Prompts.Answer)
	r, ok := q.Members[i].ProbeWithinBudget(ctx, question)
	if !ok {
		return 0, ErrBudget
	}
	counted := r.Usage.Prompt
	if counted.Known && counted.N > 0 {
		return counted.N, nil
	}
	// An empty answer with a finish reason is an answer. Without a reason, the server may have closed the connection
	// because it was stopping.
	emptyAnswer := r.Outcome == probe.Empty && r.Finish != ""
	if r.Outcome == probe.OK || r.Outcome == probe.WrongLength || emptyAnswer {
		return 0, nil
	}
	return 0, unanswered{r}
}

// tryOf returns how many tokens member i counted in a prompt of a size in a count that broke off.
func (q *Questions) tryOf(i int, size prompt.Size) (tokens int, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	tokens, ok = q.members[i].record.tries[size]
	return tokens, ok
}

// noteTry notes how many tokens member i counted in a prompt of a size.
func (q *Questions) noteTry(i int, size prompt.Size, tokens int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	m := q.memberNow(i)
	if m.record.tries == nil {
		m.record.tries = map[prompt.Size]int{}
	}
	m.record.tries[size] = tokens
	q.book.write(m.key, m.record)
}

// noteCount notes what came of a count by member i, unless another one was faster.
func (q *Questions) noteCount(i int, e event, method Method, requests int, found finding) {
	q.mu.Lock()
	m := q.memberNow(i)
	if !m.record.state.Exact() {
		m.record.state = m.record.state.after(e)
		m.record.method, m.record.requests, m.record.found = method, requests, found
		m.record.failures = 0
		m.record.tries = nil
		q.book.write(m.key, m.record)
	}
	_, isExact := q.countedBy()
	if method != ByEstimate || !isExact {
		q.by = i
		q.failure = nil
		q.stopWaiting()
	}
	q.mu.Unlock()
	known := Event{Kind: Known, Member: i, Method: method, Requests: requests, Off: found.tokens - q.Prompts.Tokens}
	q.Events(known)
}

// noteFailed notes a request that failed. The request is recorded and logged as a probe, so the slot is not skipped.
func (q *Questions) noteFailed(r *probe.Result) {
	if r.Outcome == probe.Canceled {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stopWaiting()
	q.failure = unanswered{r}
}

// stopWaiting ends a row of skipped slots. The lock is held.
func (q *Questions) stopWaiting() {
	q.skippedSince = time.Time{}
	q.warned = false
}

// noteSkipped notes that a slot of member i is skipped although no request failed. The first of a row is an event, and
// the first after longWait.
func (q *Questions) noteSkipped(i int, why error) {
	q.mu.Lock()
	first := q.skippedSince.IsZero()
	if first {
		q.skippedSince = time.Now()
	}
	lasts := !q.warned && time.Since(q.skippedSince) > longWait*q.Every
	q.warned = q.warned || lasts
	q.failure = why
	q.mu.Unlock()
	switch {
	case lasts:
		q.Events(Event{Kind: StillWaiting, Member: i, Err: why})
	case first:
		q.Events(Event{Kind: Waiting, Member: i, Err: why})
	}
}

// survive makes an event of a panic of the prober, so that everything else goes on. It is deferred.
func (q *Questions) survive(doing string) {
	p := recover()
	if p != nil {
		q.Events(Event{Kind: Panicked, Doing: doing, Err: fmt.Errorf("%v", p), Stack: debug.Stack()})
	}
}
