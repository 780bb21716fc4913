package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/prompt"
)

// A Means is what told the length of the prompts.
type Means string

// The means, best first.
const (
	ByTokenizer Means = "tokenizer" // a route of the server that counts tokens
	ByUsage     Means = "usage"     // the usage of short answers to requests that are recorded nowhere
	ByEstimate  Means = "estimate"  // nothing: a token a word
)

// A length is what made the prompts of a job as long as asked, or keeps them from it. It is safe for concurrent use.
type length struct {
	mu         sync.Mutex
	means      Means       // empty: they are not yet
	by         int         // the member whose count it was
	requests   int         // what that took, beside the tokenizer's
	distrusted map[int]any // members whose answers count otherwise than their tokenizer
	uncounted  map[int]any // members that count nothing
	busy       map[int]any // members that are being asked

	unknown time.Time // since when a server answers and slots are skipped; zero: none is
	warned  bool      // that it lasts
	vain    int       // attempts since then
	why     error     // the last one came to nothing
}

func newLength() *length {
	return &length{distrusted: map[int]any{}, uncounted: map[int]any{}, busy: map[int]any{}}
}

func (l *length) has(set map[int]any, member int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := set[member]
	return ok
}

// begin reports whether nobody else asks the member already, and marks it as asked until end.
func (l *length) begin(member int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, busy := l.busy[member]
	l.busy[member] = nil
	return !busy
}

func (l *length) end(member int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.busy, member)
}

// judge is the member by whose count the prompts are exact.
func (l *length) judge() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.by
}

// found notes what made the prompts as long as they are.
func (l *length) found(by int, means Means, requests int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if means == ByEstimate {
		l.uncounted[by] = nil
		if l.means != "" && l.means != ByEstimate {
			return
		}
	}
	l.by, l.means, l.requests = by, means, requests
	l.unknown, l.warned, l.vain, l.why = time.Time{}, false, 0, nil
}

// waits notes that an attempt came to nothing although the server answers. It reports how often that was so, and
// whether it lasts since longer than patience, for the first time.
func (l *length) waits(why error, patience time.Duration) (vain int, lasts bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unknown.IsZero() {
		l.unknown = time.Now()
	}
	l.vain++
	l.why = why
	lasts = !l.warned && time.Since(l.unknown) > patience
	l.warned = l.warned || lasts
	return l.vain, lasts
}

// ErrNoTokenizer says that a server has no route that counts tokens.
var ErrNoTokenizer = errors.New("server has no tokenizer route")

// ShortAnswer is how many tokens are asked of an answer that only shows that there is one: OpenAI's Responses' minimum.
const ShortAnswer = 16

// vainAttempts is how often a tokenizer may fail, where answers tell no usage, until prompts are written by an
// estimate.
const vainAttempts = 5

// longWait is how many intervals slots may be skipped until that is a warning.
const longWait = 3

// ready reports whether member i can be asked the prompt of a round: somebody counted it, or i counts nothing.
func (j *Job) ready(i int, round uint64) bool {
	counted, estimated := j.writer.Known(round)
	return counted || estimated && j.length.has(j.length.uncounted, i)
}

// prepare introduces members, side by side, and makes the prompts of the first round exact by the first of them that
// answers and counts.
func (j *Job) prepare(ctx context.Context, members []int) {
	answers := make([]bool, len(j.Members))
	var introducing sync.WaitGroup
	for _, i := range members {
		introducing.Go(func() {
			defer survive(j.log, "asking what a server is", j)
			answers[i] = j.Members[i].Introduce(ctx) == nil
		})
	}
	introducing.Wait()
	for _, i := range members {
		if counted, _ := j.writer.Known(0); counted {
			return
		}
		if answers[i] {
			_, _ = j.fit(ctx, i, 0) // what fails here fails in a slot, too
		}
	}
}

// active are the members whose slots are not skipped now.
func (j *Job) active() (members []int) {
	for i, m := range j.Members {
		if m.Skipping() == "" {
			members = append(members, i)
		}
	}
	return members
}

// FitAhead makes the length of a round's prompt known before it is due, first by the member that told the lengths
// before.
func (j *Job) FitAhead(ctx context.Context, round uint64) {
	first := j.length.judge()
	for place := range j.Members {
		i := (first + place) % len(j.Members)
		if counted, _ := j.writer.Known(round); counted || ctx.Err() != nil {
			return
		}
		if j.Members[i].Skipping() == "" && !j.ready(i, round) {
			_, _ = j.fit(ctx, i, round)
		}
	}
}

// fit is the Fit of the job's [probe.Group]: it asks member i for the length of a round's prompt, by its tokenizer
// or, where that does not help, by requests with short answers, whose usage tells. A server that does not answer
// these is down: the result is recorded as that of a probe.
func (j *Job) fit(ctx context.Context, i int, round uint64) (failed *probe.Result, reason probe.Skip) {
	if j.ready(i, round) {
		return nil, ""
	}
	if !j.length.begin(i) {
		return nil, probe.SkipWaiting
	}
	defer j.length.end(i)
	start, m := time.Now(), j.Members[i]
	unreached := m.Introduce(ctx)
	if unreached != nil && !m.Configured() {
		return m.Failed(start, unreached), ""
	}
	broken := error(nil) // why its tokenizer did not count
	if unreached == nil && !j.length.has(j.length.distrusted, i) {
		err := j.fitByTokenizer(ctx, i, round)
		if err == nil {
			return nil, probe.SkipWaiting
		}
		refused := m.Unreached(start, err)
		if refused.Outcome == probe.RateLimited && m.Obeys() {
			return m.Failed(start, err), ""
		}
		if !errors.Is(err, ErrNoTokenizer) {
			broken = err
		}
	}
	return j.fitByUsage(ctx, i, round, broken)
}

// Calibrate makes the length of the first round's prompt known by member i, by its tokenizer alone if that is all
// that may be asked. The error is the tokenizer's, [ErrNoTokenizer] among them, where nothing else could help.
func (j *Job) Calibrate(ctx context.Context, i int, tokenizerOnly bool) (failed *probe.Result, err error) {
	if !tokenizerOnly {
		failed, _ = j.fit(ctx, i, 0)
		return failed, nil
	}
	if err := j.Members[i].Introduce(ctx); err != nil {
		return nil, err
	}
	return nil, j.fitByTokenizer(ctx, i, 0)
}

func (j *Job) fitByTokenizer(ctx context.Context, i int, round uint64) error {
	err := j.writer.Calibrate(round, false, func(p prompt.Prompt) (int, error) { return j.tokenize(ctx, i, p) })
	switch {
	case err == nil:
		j.fitted(i, ByTokenizer, 0)
	case errors.Is(err, prompt.ErrUncounted):
		return ErrNoTokenizer
	}
	return err
}

func (j *Job) tokenize(ctx context.Context, i int, p prompt.Prompt) (int, error) {
	tokens, err := j.Members[i].Tokenize(ctx, questionOf(p).Ask)
	if err == nil && !tokens.Known {
		err = ErrNoTokenizer
	}
	return tokens.N, err
}

// An unanswered request is one of a calibration that failed, or that the budget of the day has no tokens for.
type unanswered struct {
	result *probe.Result // nil: it was not sent
}

func (u unanswered) Error() string {
	if u.result == nil {
		return "the token budget of the day is spent"
	}
	return fmt.Sprintf("%s: %v", u.result.Outcome, u.result.Err)
}

// fitByUsage is [Job.fit] for a server whose tokenizer is broken, or which has none if that is nil.
func (j *Job) fitByUsage(
	ctx context.Context, i int, round uint64, broken error,
) (failed *probe.Result, reason probe.Skip) {
	requests := 0
	err := j.writer.Calibrate(round, true, func(p prompt.Prompt) (int, error) {
		requests++
		return j.usage(ctx, i, p)
	})
	none, isUnanswered := errors.AsType[unanswered](err)
	switch {
	case err == nil:
		j.fitted(i, ByUsage, requests)
	case isUnanswered && none.result != nil:
		return none.result, ""
	case isUnanswered:
		return nil, probe.SkipBudget
	case broken == nil || j.waits(i, broken) >= vainAttempts:
		j.writer.Estimate(round)
		j.fitted(i, ByEstimate, requests)
	}
	return nil, probe.SkipWaiting
}

// usage asks member i a prompt with a short answer, which is recorded nowhere, and returns the tokens of the prompt
// by its usage; 0 if it does not tell.
func (j *Job) usage(ctx context.Context, i int, p prompt.Prompt) (int, error) {
	q := questionOf(p)
	q.Ask.MaxTokens = min(ShortAnswer, j.Targets[i].MaxTokens)
	q.Expect = probe.Expectation{}
	r, ok := j.Members[i].ProbeWithinBudget(ctx, q)
	if !ok {
		return 0, unanswered{}
	}
	if counted := r.Usage.Prompt; counted.Known && counted.N > 0 {
		return counted.N, nil
	}
	switch r.Outcome {
	case probe.OK, probe.WrongLength, probe.Empty: // it was answered, in its way
		return 0, nil
	}
	return 0, unanswered{r}
}

// fitted notes and logs what made the prompts as long as they are.
func (j *Job) fitted(i int, means Means, requests int) {
	j.length.found(i, means, requests)
	log := j.log.With(zap.String("target", j.Targets[i].Name))
	if means == ByEstimate {
		log.Warn("the server does not count the tokens of prompts: they are as long as asked by an " +
			"estimate, of a token a word")
		return
	}
	off, _ := j.Off()
	log.Info("the length of the prompts is known",
		zap.String("known_by", string(means)), zap.Int("calibration_requests", requests), zap.Int("tokens_off", off))
}

// waits notes and logs that the length of the prompts is not known although the server answers, and returns how often
// by now.
func (j *Job) waits(i int, why error) (vain int) {
	vain, lasts := j.length.waits(why, longWait*j.Plan.Interval)
	log := j.log.With(zap.String("target", j.Targets[i].Name), zap.Error(why))
	switch {
	case lasts:
		log.Warn("slots are still skipped: the server answers, but the length of its prompts is not known")
	case vain == 1:
		log.Info("slots are skipped until the length of the prompts is known")
	}
	return vain
}

// doubt notes and logs that answers count the prompts otherwise than was found out: they are to be calibrated again.
func (j *Job) doubt(tokens, asked int) {
	j.length.mu.Lock()
	by, means := j.length.by, j.length.means
	switch means {
	case ByTokenizer:
		j.length.distrusted[by] = nil
	case ByEstimate:
		delete(j.length.uncounted, by)
	}
	j.length.mu.Unlock()
	j.log.Info("the server counts another length of the prompts than expected: they are calibrated again",
		zap.String("target", j.Targets[by].Name), zap.Int("counted", tokens), zap.Int("asked", asked),
		zap.String("before_by", string(means)))
}
