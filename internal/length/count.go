package length

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
)

// The length of prompts is found on three occasions, all of which lead to [Questions.count] for one member:
//
//   - before the first slot, and when a member's server has become ready: [Rotation.Prepare];
//   - between two rounds, if an answer has shown that the server counts otherwise by now: [Questions.Ahead];
//   - in a slot, if neither has succeeded: [Questions.Next].

// ErrNoTokenizer says that a server has no route that counts tokens.
var ErrNoTokenizer = errors.New("server has no tokenizer route")

// ErrBudget says that a request was not sent because the day's tokens are spent.
var ErrBudget = errors.New("the token budget of the day is spent")

// errCounting says that a server is being asked already.
var errCounting = errors.New("it is being calibrated")

// An othersError says that another member of the same kind is counting. It is an errCounting.
type othersError struct{ ended <-chan struct{} } // closed when that is over

// Error implements error.
func (e othersError) Error() string { return errCounting.Error() }

// Unwrap returns errCounting.
func (e othersError) Unwrap() error { return errCounting }

// A requestError is the error of a request that was to count tokens and failed.
type requestError struct{ result *probe.Result }

// Error implements error.
func (e requestError) Error() string { return fmt.Sprintf("%s: %v", e.result.Outcome, e.result.Err) }

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

// Ahead has the prompts counted before the next round is due, if that is necessary and a server has answered since the
// last time. It asks the member that counted the earlier prompts first, then the others in turn.
func (q *Questions) Ahead(ctx context.Context) {
	answered := q.answered.Swap(false)
	by, isExact := q.countedBy()
	if !answered || isExact {
		return
	}
	members := q.active()
	first, _ := slices.BinarySearch(members, by)
	q.countByAny(ctx, slices.Concat(members[first:], members[:first]))
}

// active returns the members that have slots which are not skipped now, in ascending order.
func (q *Questions) active() (members []int) {
	for i, m := range q.Members {
		if !m.Disabled.Load() && m.Skipping() == "" {
			members = append(members, i)
		}
	}
	return members
}

// countByAny has the prompts counted by the first of members that counts. It asks them in their order, each when the
// one before has ended or has taken ten seconds. If all fail, the slots try again.
func (q *Questions) countByAny(ctx context.Context, members []int) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var counting sync.WaitGroup
	defer counting.Wait() // before the cancel, because the last members may still count
	for _, i := range members {
		if ctx.Err() != nil {
			return
		}
		ended := make(chan struct{})
		counting.Go(func() {
			defer close(ended)
			defer q.survive(i, "writing prompts")
			failed := q.Count(ctx, i)
			if failed != nil && failed.Stack != nil {
				q.Events(Event{Kind: EventPanic, Member: i, Doing: "probing", Err: failed.Err, Stack: failed.Stack})
			}
			_, isExact := q.countedBy()
			if isExact {
				cancel() // the others need not go on
			}
		})
		select {
		case <-ended:
		case <-time.After(hedge):
		}
	}
}

// countedBy returns the member whose count is, or was last, the length of the prompts. isExact says that it is: nothing
// has to be counted any more.
func (q *Questions) countedBy() (by int, isExact bool) {
	q.book.mu.Lock()
	defer q.book.mu.Unlock()
	q.update()
	return q.by, q.isExact()
}

// Count has the prompts counted by member i, unless their length is known. It waits while others of the same kind
// count. It returns a request that failed.
func (q *Questions) Count(ctx context.Context, i int) (failed *probe.Result) {
	for {
		err := q.count(ctx, i)
		others, areCounting := errors.AsType[othersError](err)
		if !areCounting {
			failed, _ = q.noteAttempt(i, err)
			return failed
		}
		select {
		case <-others.ended:
		case <-time.After(hedge):
		case <-ctx.Done():
			return nil
		}
	}
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

// count has the prompts counted by member i, unless their length is known by now: by its tokenizer or, if that does
// not help, by the usage of short answers. If neither counts, the length is estimated. The error is a requestError if a
// request failed that shows that the server is down or refuses us, errCounting if the member is being asked, an
// othersError if another one of the same kind is, [ErrBudget], or why a tokenizer failed that may count next time.
func (q *Questions) count(ctx context.Context, i int) error {
	if q.Ready(i) {
		return nil
	}
	if !q.take(i) {
		return errCounting
	}
	defer q.release(i)
	start, m := time.Now(), q.Members[i]
	_, err := m.Identify(ctx, probe.AnyAge)
	if !probe.MayAnswer(err) {
		return requestError{m.FailedSlot(start, err)}
	}
	if q.Ready(i) { // others have counted for the model that it has just named
		return nil
	}
	known, end, err := q.begin(i)
	if err != nil {
		return err
	}
	defer end()

	broken := ErrNoTokenizer // why the tokenizer did not count
	if !known.distrusted {
		broken = q.countByTokenizer(ctx, i)
		if broken == nil {
			return nil
		}
		refused := m.UnsentResult(start, broken)
		if refused.Outcome == probe.RateLimited && m.TakesPauses() {
			return requestError{m.FailedSlot(start, broken)}
		}
	}
	err = q.countByUsage(ctx, i, known.trials)
	if !errors.Is(err, errUncounted) {
		return err
	}
	if errors.Is(broken, ErrNoTokenizer) || q.tokenizerFailed(i) >= mostFailures {
		q.noteCount(i, ByEstimate, 0, finding{})
		return nil
	}
	return broken
}

// take marks member i as being asked. It reports whether it was not already.
func (q *Questions) take(i int) bool {
	q.book.mu.Lock()
	defer q.book.mu.Unlock()
	m := q.updateMember(i)
	if m.busy {
		return false
	}
	m.busy = true
	m.record.state = m.record.state.after(countBegins)
	return true
}

func (q *Questions) release(i int) {
	q.book.mu.Lock()
	defer q.book.mu.Unlock()
	m := &q.members[i]
	m.busy = false
	m.record.state = m.record.state.after(countBreaksOff)
}

// begin begins a count of what member i is asked, and returns a copy of what is known of that. The caller calls end
// when the count is over. The error is an othersError.
func (q *Questions) begin(i int) (known record, end func(), err error) {
	q.book.mu.Lock()
	defer q.book.mu.Unlock()
	m := q.updateMember(i)
	end, others, ok := q.book.begin(m.key)
	if !ok {
		return record{}, nil, othersError{others}
	}
	return m.record.clone(), end, nil
}

// countByTokenizer finds the size of the prompts by the tokenizer of member i. The error is [ErrNoTokenizer] if the
// server has none.
func (q *Questions) countByTokenizer(ctx context.Context, i int) error {
	found, err := find(q.Prompts, func(size prompt.Size) (int, error) {
		tokens, err := q.Members[i].Tokenize(ctx, q.trialQuestion(size).Ask)
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
	q.noteCount(i, ByTokenizer, 0, found)
	return nil
}

// trialQuestion returns the question for a prompt that is only counted, which is unlike every other one.
func (q *Questions) trialQuestion(size prompt.Size) probe.Question {
	number := q.trials.Add(1) - 1
	question := questionOf(prompt.Trial(q.Prompts, number, size))
	question.Expect = probe.Expectation{}
	question.Tokens = 0 // its size is not that of the prompts
	return question
}

// countByUsage finds the size of the prompts by requests with short answers, which are recorded nowhere. Trials of an
// earlier count are not sent again. The error is errUncounted if answers report no usage.
func (q *Questions) countByUsage(ctx context.Context, i int, trials map[prompt.Size]int) error {
	requests := 0
	found, err := find(q.Prompts, func(size prompt.Size) (int, error) {
		requests++
		tokens, isCounted := trials[size]
		if isCounted {
			return tokens, nil
		}
		tokens, err := q.askForUsage(ctx, i, size)
		if tokens > 0 {
			q.noteTrial(i, size, tokens)
		}
		return tokens, err
	})
	if err == nil {
		q.noteCount(i, ByUsage, requests, found)
	}
	return err
}

// askForUsage returns the tokens of a prompt that the usage of a short answer of member i reports; 0 if it reports
// none.
func (q *Questions) askForUsage(ctx context.Context, i int, size prompt.Size) (int, error) {
	question := q.trialQuestion(size)
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
	return 0, requestError{r}
}

func (q *Questions) noteTrial(i int, size prompt.Size, tokens int) {
	q.book.mu.Lock()
	defer q.book.mu.Unlock()
	m := q.updateMember(i)
	if m.record.trials == nil {
		m.record.trials = map[prompt.Size]int{}
	}
	m.record.trials[size] = tokens
	q.book.write(m.key, m.record)
}

// noteCount notes what came of a count by member i, unless another one was faster.
func (q *Questions) noteCount(i int, method Method, requests int, found finding) {
	happened := nothingCounted
	switch method {
	case ByTokenizer:
		happened = tokenizerCounted
	case ByUsage:
		happened = usageCounted
	}
	q.book.mu.Lock()
	defer q.book.mu.Unlock()
	m := q.updateMember(i)
	if !m.record.state.Exact() {
		m.record.state = m.record.state.after(happened)
		m.record.method = method
		m.record.requests = requests
		m.record.found = found
		m.failures = 0
		m.record.trials = nil
		q.book.write(m.key, m.record)
	}
	q.update()
	if method != ByEstimate || !q.isExact() {
		q.by = i
		q.endWaiting()
	}
	off := found.tokens - q.Prompts.Tokens
	q.Events(Event{Kind: EventKnown, Member: i, Method: method, Requests: requests, Off: off})
}

// tokenizerFailed notes that the tokenizer of member i failed while answers reported no usage. It returns how often
// that has happened.
func (q *Questions) tokenizerFailed(i int) (times int) {
	q.book.mu.Lock()
	defer q.book.mu.Unlock()
	q.members[i].failures++
	return q.members[i].failures
}

// noteAttempt notes why an attempt to count by member i ended, and returns what becomes of its slot. A request that
// failed is its result; it is recorded and logged as a probe. Otherwise the slot is skipped. The first of a row that is
// skipped for an error is an event, and the first after longWait.
func (q *Questions) noteAttempt(i int, err error) (failed *probe.Result, skip probe.Skip) {
	q.book.mu.Lock()
	defer q.book.mu.Unlock()
	request, hasFailed := errors.AsType[requestError](err)
	switch {
	case err == nil:
		return nil, probe.SkipWaiting
	case hasFailed && request.result.Outcome == probe.Canceled:
		return request.result, ""
	case hasFailed:
		q.endWaiting()
		q.failure = request
		return request.result, ""
	}

	q.failure = err
	isFirst := q.skippedSince.IsZero()
	if isFirst {
		q.skippedSince = time.Now()
	}
	isLong := time.Since(q.skippedSince) > longWait*q.Every
	switch {
	case isLong && !q.warned:
		q.warned = true
		q.Events(Event{Kind: EventLongWait, Member: i, Err: err})
	case isFirst:
		q.Events(Event{Kind: EventWait, Member: i, Err: err})
	}
	if errors.Is(err, ErrBudget) {
		return nil, probe.SkipBudget
	}
	return nil, probe.SkipWaiting
}

// endWaiting ends a row of skipped slots. The lock is held.
func (q *Questions) endWaiting() {
	q.failure = nil
	q.skippedSince = time.Time{}
	q.warned = false
}
