package status

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/stats"
)

// The numbers of ProberTargetDown: alerts/template/targets.yaml has the same ones.
const (
	silentIntervals = 5               // a target may be without an answer for so many intervals,
	silentAnswers   = 2               // plus so many times its usual E2EL
	downFailures    = 3               // probes must have failed since the last answer
	rareInterval    = time.Hour       // above it, one failure is enough
	downFor         = time.Minute     // all that must have held for so long
	firstAnswer     = 2 * time.Minute // what the first answer may take, as long as there was none
)

// recoveryAnswers is how many answers in a row a target that is down needs.
const recoveryAnswers = 3

// A verdict is what a load balancer is told of a target. The set is closed.
type verdict string

// The verdicts.
const (
	verdictUp       verdict = "up"
	verdictDown     verdict = "down"
	verdictUnknown  verdict = "unknown"  // too little is known of it, or what is known is old
	verdictDisabled verdict = "disabled" // somebody wants it not to be probed, which is no reason to send it nothing
)

// code returns the HTTP status of a verdict.
func (v verdict) code() int {
	if v == verdictUp || v == verdictDisabled {
		return http.StatusOK
	}
	return http.StatusServiceUnavailable
}

// A health is what the results of one prompt of a target say about whether its server answers. An answer is a success,
// or a refusal that is not bad: the server works then, and our key, quota or prompt is at fault.
//
// It begins anew, as the zero value, after a time without a probe that would have made the target down.
type health struct {
	prompt    string
	probes    int           // results since it began
	succeeded bool          // one of them was a success
	answered  bool          // one of them was an answer
	last      *entry        // the latest of them
	answerAt  time.Time     // the latest answer; without one, the first result
	failures  int           // since answerAt, with the slots that were skipped behind a probe in flight
	enoughAt  time.Time     // when the failures became enough for being down; zero if they are not
	isDown    bool          // it was down at the latest answer, and has had too few answers since
	inRow     int           // answers since the latest failure
	since     time.Time     // when it became up, or when it became down if isDown is set
	usual     time.Duration // median E2EL of an hour, when there last was one; 0 without any
	skip      string        // reason of the latest slot without a probe since the latest result; empty without one
}

// limit returns how long there may be no answer.
func (p *health) limit(interval time.Duration) time.Duration {
	return silentIntervals*interval + silentAnswers*p.usual
}

// isStale reports whether there has been no result for so long that the ones before say nothing of now. A pause that
// the server asked for does not count.
func (p *health) isStale(now time.Time, interval time.Duration) bool {
	return p.last != nil && now.After(p.staleAt(interval))
}

func (p *health) staleAt(interval time.Duration) time.Time {
	pause := time.Duration(0)
	if p.last.RetryAfter != nil {
		pause = seconds(*p.last.RetryAfter)
	}
	return p.last.At.Add(pause + p.limit(interval) + downFor)
}

// add adds a result. The hour are the results of the last one, this one included.
func (p *health) add(e *entry, hour []*entry, target probe.Description) {
	if p.isStale(e.At, target.Interval) {
		*p = health{prompt: p.prompt}
	}
	fellAt, isDown := p.fellAt(e.At, target.Interval, time.Time{})
	p.probes++
	p.last, p.skip = e, ""
	isAnswer := e.OK() || e.Outcome.Refusal() && !target.RefusalsAreBad()
	if !isAnswer {
		p.inRow = 0
		p.answerAt = cmp.Or(p.answerAt, e.At)
		p.fail(1, target.Interval)
		return
	}
	p.inRow++
	switch {
	case isDown && p.inRow < recoveryAnswers:
		p.isDown, p.since = true, fellAt
	case isDown || !p.answered:
		p.isDown, p.since = false, e.At
	}
	p.answered, p.answerAt = true, e.At
	p.failures, p.enoughAt = 0, time.Time{}
	if e.OK() {
		p.succeeded = true
		p.usual = usualE2EL(hour, p.prompt)
	}
}

// usualE2EL returns the median E2EL of the results of a prompt; 0 without any.
func usualE2EL(hour []*entry, prompt string) time.Duration {
	var values []float64
	for _, e := range hour {
		if e.Prompt == prompt && e.E2EL != nil {
			values = append(values, *e.E2EL)
		}
	}
	if len(values) == 0 {
		return 0
	}
	return seconds(stats.Median(values))
}

// fail counts probes that failed. Besides their number, half of the time that a target may be without an answer must
// have passed until the latest result.
func (p *health) fail(n int, interval time.Duration) {
	p.failures += n
	enough := downFailures
	if interval > rareInterval {
		enough = 1
	}
	half := p.limit(interval) / 2
	hasLasted := p.last != nil && (!p.answered || p.last.At.Sub(p.answerAt) > half)
	if p.failures >= enough && hasLasted {
		p.enoughAt = cmp.Or(p.enoughAt, time.Now())
	}
}

// skipped notes a slot without a probe.
func (p *health) skipped(reason string, interval time.Duration) {
	p.skip = reason
	if reason == string(probe.SkipOverlap) {
		p.fail(1, interval)
	}
}

// fellAt returns since when the target has been down; ok is false if it is not. The time oldestAt is the start of the
// oldest probe in flight, zero without one.
func (p *health) fellAt(now time.Time, interval time.Duration, oldestAt time.Time) (at time.Time, ok bool) {
	limit := p.limit(interval)
	hangsAt := time.Time{}
	switch {
	case oldestAt.IsZero():
	case p.answered:
		hangsAt = oldestAt.Add(2 * limit)
	default:
		hangsAt = oldestAt.Add(max(limit, firstAnswer))
	}
	at = earlier(p.enoughAt, hangsAt)
	switch {
	case p.isDown:
		return p.since, true
	case at.IsZero():
		return time.Time{}, false
	case p.answered:
		at = later(at, p.answerAt.Add(limit)).Add(downFor)
	}
	return at, !now.Before(at)
}

// earlier returns the earlier one of two times, of which a zero one does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// A healthJudgement is the verdict about a target or one of its prompts, since when it holds, and why.
type healthJudgement struct {
	verdict verdict
	since   time.Time
	reason  string // empty if all is well
}

// judge returns what is to be said of the prompt now.
func (p *health) judge(now time.Time, interval time.Duration, oldestAt time.Time) healthJudgement {
	fellAt, isDown := p.fellAt(now, interval, oldestAt)
	switch {
	case oldestAt.IsZero() && p.isStale(now, interval):
		why := "the prober stands still"
		if p.skip != "" {
			why = "slots are skipped (" + p.skip + ")"
		}
		text := "no probe has ended for " + format.Elapsed(now.Sub(p.last.At).Seconds())
		return healthJudgement{verdictUnknown, p.staleAt(interval), join(text, why)}
	case p.isDown && p.inRow > 0:
		text := fmt.Sprintf("%d of %d answers in a row after it was down", p.inRow, recoveryAnswers)
		return healthJudgement{verdictDown, fellAt, text}
	case isDown && !p.answered:
		return healthJudgement{verdictDown, fellAt, join("no answer since the prober began to watch it", p.failure())}
	case isDown:
		return healthJudgement{verdictDown, fellAt, join("no answer since "+utc(p.answerAt), p.failure())}
	case p.probes == 0:
		return healthJudgement{verdictUnknown, time.Time{}, "no probe has ended yet"}
	case !p.succeeded && p.probes < downFailures:
		text := fmt.Sprintf("%d of %d probes, and no success yet", p.probes, downFailures)
		return healthJudgement{verdictUnknown, time.Time{}, join(text, p.failure())}
	case p.last.Outcome.Refusal():
		text := fmt.Sprintf("the server answers, and refuses the probes (%s)", p.last.Outcome)
		return healthJudgement{verdictUp, p.since, join(text, p.failure())}
	case !p.last.OK():
		return healthJudgement{verdictUp, p.since, join("failing, with the last answer at "+utc(p.answerAt), p.failure())}
	}
	return healthJudgement{verdict: verdictUp, since: p.since}
}

// failure says how the latest probe failed; empty if it did not, or if none has ended.
func (p *health) failure() string {
	if p.last == nil || p.last.Error == nil {
		return ""
	}
	return *p.last.Error
}

// join appends an explanation to a text, if there is one.
func join(text, explanation string) string {
	if explanation == "" {
		return text
	}
	return text + ": " + explanation
}

func utc(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// healthOf returns the health of a prompt of the target, which is new if it had no result yet.
func (h *history) healthOf(prompt string) *health {
	i := slices.IndexFunc(h.healths, func(p health) bool { return p.prompt == prompt })
	if i < 0 {
		i = len(h.healths)
		h.healths = append(h.healths, health{prompt: prompt})
	}
	return &h.healths[i]
}

// judge returns what is to be said of the target now. It is up if one of its prompts gets answers, and down if all are.
func (h *history) judge(now, oldestAt time.Time) healthJudgement {
	switch {
	case len(h.problems) > 0:
		text := join("not probed, because its settings are wrong", h.problems[0].Error())
		return healthJudgement{verdictUnknown, h.rejectedSince, text}
	case h.target.Disabled:
		return healthJudgement{verdictDisabled, h.disabledSince, "not probed, because its settings say so"}
	}
	healths := h.healths
	if len(healths) == 0 {
		healths = []health{{}}
	}
	var best healthJudgement
	var reasons []string
	for i := range healths {
		p := &healths[i]
		j := p.judge(now, h.target.Interval, oldestAt)
		j.since = cmp.Or(j.since, h.added)
		isBetter := slices.Index(verdictOrder, j.verdict) < slices.Index(verdictOrder, best.verdict)
		switch {
		case i == 0, isBetter:
			best = j
		case j.verdict == best.verdict && j.verdict == verdictUp:
			best.since = earlier(best.since, j.since)
		case j.verdict == best.verdict:
			best.since = later(best.since, j.since)
		}
		if j.reason != "" && len(healths) > 1 {
			j.reason = fmt.Sprintf("prompt %s %s: %s", p.prompt, j.verdict, j.reason)
		}
		if j.reason != "" {
			reasons = append(reasons, j.reason)
		}
	}
	best.reason = strings.Join(reasons, "; ")
	return best
}

// verdictOrder is the order in which the verdict about one prompt is that about the target. The list is only read.
var verdictOrder = []verdict{verdictUp, verdictUnknown, verdictDown}

// A healthJSON is the answer of /api/v1/targets/NAME/health.
type healthJSON struct {
	Status verdict   `json:"status"`
	Target string    `json:"target"`
	State  state     `json:"state"`  // that of the page, which changes with every probe
	Reason *string   `json:"reason"` // null if all is well
	Since  time.Time `json:"since"`  // when it got its status
}

// serveHealth answers 200 if a load balancer may send requests to a target, else 503. It is asked often, so it uses
// nothing but what [Board.Record] has prepared.
func (b *Board) serveHealth(w http.ResponseWriter, r *http.Request) {
	name, ok := strings.CutSuffix(r.PathValue("path"), "/health") // a name may have slashes, escaped or not
	if !ok {
		refuse(w, http.StatusNotFound, "no such path: want /api/v1/targets/NAME/health")
		return
	}
	h, names := b.healthCopy(name)
	if names != nil {
		refuse(w, http.StatusNotFound, fmt.Sprintf("no target %q: want one of %s", name, strings.Join(names, ", ")))
		return
	}
	now := time.Now()
	var oldestAt time.Time
	if h.target.InFlight != nil {
		_, oldestAt = h.target.InFlight()
	}
	isMissing := !h.condition.missingSince.IsZero()
	j := h.judge(now, oldestAt)
	answer(w, j.verdict.code(), healthJSON{
		Status: j.verdict,
		Target: name,
		State:  h.state(now, oldestAt, isMissing),
		Reason: orNull(j.reason),
		Since:  j.since,
	})
}

// healthCopy returns what the health of a target needs of its history: not its results. If there is no such target, it
// returns the names of those that there are.
func (b *Board) healthCopy(name string) (h history, names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := b.history(name)
	if found != nil {
		h = *found
		h.ring, h.earlier, h.skipped, h.usual = nil, nil, nil, nil
		h.healths = slices.Clone(found.healths)
		return h, nil
	}
	names = []string{}
	for _, other := range b.histories {
		names = append(names, other.target.Name)
	}
	return history{}, names
}
