package engine

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

// The length of prompts is made exact ("fitted") on three occasions, all of which lead to [Job.fit] for one member:
//
//   - before the first slot, and when a member's server has become ready: [Job.prepare];
//   - between two rounds, if the next prompt has a size that nobody has counted: [Job.FitAhead];
//   - in a slot, if neither has succeeded: [probe.Group] asks the member whose slot it is, and the slot is skipped.
//
// [Job.fit] asks the server's tokenizer. If that does not help, it sends requests with short answers and reads their
// usage. If the usage does not help either, it estimates.

// ErrNoTokenizer says that a server has no route that counts tokens.
var ErrNoTokenizer = errors.New("server has no tokenizer route")

// ShortAnswer is the length in tokens of an answer that is asked for only to see one: the shortest that OpenAI's
// Responses API accepts.
const ShortAnswer = 16

// vainAttempts is how often a tokenizer may fail before the length is estimated, if answers report no usage.
const vainAttempts = 5

// longWait is how many intervals slots may be skipped before there is a warning. It is less than vainAttempts take.
const longWait = 2

// fitHedge is how long a member may take to count prompts before the next member is asked as well.
const fitHedge = 10 * time.Second

// Reasons to skip slots that are no failure of the server.
var (
	errCalibrating = errors.New("it is being calibrated")
	errSpent       = errors.New("the token budget of the day is spent")
)

// ready reports whether member i can be asked the prompt of a round, because a server has counted it, or because i
// counts nothing.
func (j *Job) ready(i int, round uint64) bool {
	counted, estimated := j.writer.Known(round)
	return counted || estimated && j.length.has(j.length.uncounted, i)
}

// prepare asks what the servers of members are side by side, and makes the prompts of the first round exact by the first member that
// answers and counts. A member that hangs delays the others by fitHedge.
func (j *Job) prepare(ctx context.Context, members []int) {
	answers := make([]bool, len(j.Members))
	var identifying sync.WaitGroup
	for _, i := range members {
		identifying.Go(func() {
			defer j.failures.Survive("asking what a server is")
			_, err := j.Members[i].Identify(ctx, probe.AnyAge)
			answers[i] = err == nil || probe.MayAnswer(err)
		})
	}
	identifying.Wait()
	members = slices.DeleteFunc(slices.Clone(members), func(i int) bool { return !answers[i] })
	j.fitByAny(ctx, members, 0)
}

// FitAhead makes a round's prompt exact before it is due. It asks the member that counted the earlier prompts first,
// then the others in turn.
func (j *Job) FitAhead(ctx context.Context, round uint64) {
	members := j.active()
	first, _ := slices.BinarySearch(members, j.length.judge())
	j.fitByAny(ctx, slices.Concat(members[first:], members[:first]), round)
}

// fitByAny makes a round's prompt exact by the first of members that counts. It asks them in their order, each when the
// one before has ended or has taken fitHedge. If all fail, the slots try again.
func (j *Job) fitByAny(ctx context.Context, members []int, round uint64) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var fitting sync.WaitGroup
	defer fitting.Wait() // before the cancel, because the last members may still count
	for _, i := range members {
		if j.isCounted(round) || ctx.Err() != nil {
			return
		}
		ended := make(chan struct{})
		fitting.Go(func() {
			defer close(ended)
			defer j.failures.Survive("writing prompts")
			failed, _ := j.fit(ctx, i, round)
			j.failures.NoteResult(failed)
			if j.isCounted(round) {
				cancel() // the others need not go on
			}
		})
		select {
		case <-ended:
		case <-time.After(fitHedge):
		}
	}
}

// isCounted reports whether a server has counted the tokens of a round's prompt.
func (j *Job) isCounted(round uint64) bool {
	counted, _ := j.writer.Known(round)
	return counted
}

// active returns the members that have slots which are not skipped now, in ascending order.
func (j *Job) active() (members []int) {
	for i, m := range j.Members {
		if !m.Disabled.Load() && m.Skipping() == "" {
			members = append(members, i)
		}
	}
	return members
}

// fit makes a round's prompt exact by member i, unless it is exact already: then it returns nothing. failed is a
// request that failed; it is to be recorded as the result of the slot, because it shows that the server is down.
// Otherwise reason says why the slot is skipped.
func (j *Job) fit(ctx context.Context, i int, round uint64) (failed *probe.Result, reason probe.Skip) {
	if j.ready(i, round) {
		return nil, ""
	}
	if !j.length.begin(i) {
		j.noteSkipped(i, errCalibrating)
		return nil, probe.SkipWaiting
	}
	defer j.length.end(i)
	failed, reason = j.ask(ctx, i, round)
	if failed != nil && failed.Outcome != probe.Canceled {
		j.length.setFailed(unanswered{failed})
	}
	return failed, reason
}

// ask asks member i to count, whether or not the length is known. Its results are those of [Job.fit].
func (j *Job) ask(ctx context.Context, i int, round uint64) (failed *probe.Result, reason probe.Skip) {
	start, m := time.Now(), j.Members[i]
	_, err := m.Identify(ctx, probe.AnyAge)
	if err != nil && !probe.MayAnswer(err) {
		return m.FailedSlot(start, err), ""
	}
	var broken error // why the tokenizer did not count; nil: there is none
	if !j.length.has(j.length.distrusted, i) {
		err := j.fitByTokenizer(ctx, i, round)
		if err == nil {
			return nil, probe.SkipWaiting
		}
		refused := m.UnsentResult(start, err)
		if refused.Outcome == probe.RateLimited && m.TakesPauses() {
			return m.FailedSlot(start, err), ""
		}
		if !errors.Is(err, ErrNoTokenizer) {
			broken = err
		}
	}
	return j.fitByUsage(ctx, i, round, broken)
}

// Calibrate makes the first round's prompt exact by member i. With tokenizerOnly it asks nothing but the tokenizer: err
// says why that did not help, and is [ErrNoTokenizer] if the server has none. Otherwise failed is a request that
// failed.
func (j *Job) Calibrate(ctx context.Context, i int, tokenizerOnly bool) (failed *probe.Result, err error) {
	if !tokenizerOnly {
		failed, _ = j.fit(ctx, i, 0)
		return failed, nil
	}
	_, err = j.Members[i].Identify(ctx, probe.AnyAge)
	if err != nil && !probe.MayAnswer(err) {
		return nil, err
	}
	return nil, j.fitByTokenizer(ctx, i, 0)
}

// fitByTokenizer makes a round's prompt exact by the tokenizer of member i. The error is [ErrNoTokenizer] if the server
// has none.
func (j *Job) fitByTokenizer(ctx context.Context, i int, round uint64) error {
	err := j.writer.Calibrate(round, false, func(p prompt.Prompt) (int, error) { return j.tokenize(ctx, i, p) })
	switch {
	case err == nil:
		j.noteFitted(i, ByTokenizer, 0)
	case errors.Is(err, prompt.ErrUncounted):
		return ErrNoTokenizer
	}
	return err
}

// tokenize returns how many tokens the server of member i counts in a prompt.
func (j *Job) tokenize(ctx context.Context, i int, p prompt.Prompt) (int, error) {
	tokens, err := j.Members[i].Tokenize(ctx, questionOf(p).Ask)
	if err == nil && !tokens.Known {
		err = ErrNoTokenizer
	}
	return tokens.N, err
}

// unanswered is the error of a request that was to count tokens and failed, or was not sent because the token budget of
// the day is spent.
type unanswered struct {
	result *probe.Result // nil if the request was not sent
}

// Error implements error.
func (u unanswered) Error() string {
	if u.result == nil {
		return errSpent.Error()
	}
	return fmt.Sprintf("%s: %v", u.result.Outcome, u.result.Err)
}

// fitByUsage makes a round's prompt exact by the usage of requests with short answers, or estimates its length. broken
// says what is wrong with the tokenizer; it is nil if the server has none. The results are those of [Job.fit].
func (j *Job) fitByUsage(
	ctx context.Context, i int, round uint64, broken error,
) (failed *probe.Result, reason probe.Skip) {
	requests := 0
	err := j.writer.Calibrate(round, true, func(p prompt.Prompt) (int, error) {
		requests++
		if tokens, ok := j.length.remembered(i, p.Size); ok {
			return tokens, nil
		}
		tokens, err := j.usage(ctx, i, p)
		if tokens > 0 {
			j.length.remember(i, p.Size, tokens)
		}
		return tokens, err
	})
	none, isUnanswered := errors.AsType[unanswered](err)
	switch {
	case err == nil:
		j.noteFitted(i, ByUsage, requests)
	case isUnanswered && none.result != nil:
		return none.result, ""
	case isUnanswered:
		j.noteSkipped(i, errSpent)
		return nil, probe.SkipBudget
	case broken == nil || j.length.failedTooOften():
		j.writer.Estimate(round)
		j.noteFitted(i, ByEstimate, requests)
	default:
		j.noteSkipped(i, broken)
	}
	return nil, probe.SkipWaiting
}

// usage sends member i a prompt with a short answer, which is recorded nowhere. It returns the tokens of the prompt
// that the usage of the answer reports; 0 if it reports none.
func (j *Job) usage(ctx context.Context, i int, p prompt.Prompt) (int, error) {
	q := questionOf(p)
	q.Ask.MaxTokens = min(ShortAnswer, j.Targets[i].MaxTokens)
	q.Expect = probe.Expectation{}
	r, ok := j.Members[i].ProbeWithinBudget(ctx, q)
	if !ok {
		return 0, unanswered{}
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
