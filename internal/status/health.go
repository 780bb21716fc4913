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

// A health is what results say about whether a server answers. An answer is a success, or a refusal that is not bad:
// the server works then, and our key, quota or prompt is at fault.
//
// It begins anew, as the zero value, after a time without a probe that would have made the target down.
type health struct {
	probes    int           // results since it began
	succeeded bool          // one of them was a success
	answered  bool          // one of them was an answer
	last      *entry        // the latest of them
	answerAt  time.Time     // the latest answer; without one, the first result
	failures  int           // since answerAt, with the slots that were skipped behind a probe in flight
	enoughAt  time.Time     // when the failures became enough for being down; zero if they are not
	isDown    bool          // it was down when a probe ended, and has had too few answers since
	inRow     int           // answers since the latest failure, or since it became down
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

// add adds a result. The E2EL are those of the last hour, this result included.
func (p *health) add(e *entry, e2el stats.Distribution, target probe.Description) {
	if p.isStale(e.Start, target.Interval) {
		*p = health{}
	}
	fellAt, isDown := p.fellAt(e.At, target.Interval, e.Start) // the probe was in flight until now
	if isDown && !p.isDown {
		p.isDown, p.since, p.inRow = true, fellAt, 0
	}
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
	hasRecovered := p.isDown && p.inRow >= recoveryAnswers
	if hasRecovered || !p.answered && !p.isDown {
		p.isDown, p.since = false, e.At
	}
	p.answered, p.answerAt = true, e.At
	p.failures, p.enoughAt = 0, time.Time{}
	if e.OK() {
		p.succeeded = true
		p.usual = 0
		if e2el.Count > 0 {
			p.usual = seconds(float64(e2el.At(stats.P50)))
		}
	}
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

// A healthJudgement is the verdict about a prompt of a target, or about the target: since when it holds, and why.
type healthJudgement struct {
	verdict verdict
	since   time.Time
	reason  string // empty if all is well
}

// judge returns what is to be said now.
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
	if p.last == nil {
		return ""
	}
	return textOrEmpty(p.last.Error)
}

// join appends an explanation to a text, if there is one.
func join(text, explanation string) string {
	if explanation == "" {
		return text
	}
	return text + ": " + explanation
}

func utc(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// judgeHealth returns what is to be said now of the prompt that h is the history of. The time oldestAt is the start of
// its oldest probe in flight, zero without one.
func (h *history) judgeHealth(now, oldestAt time.Time) healthJudgement {
	switch {
	case len(h.problems) > 0:
		text := join("not probed, because its settings are wrong", h.problems[0].Error())
		return healthJudgement{verdictUnknown, h.rejectedSince, text}
	case h.target.Disabled:
		return healthJudgement{verdictDisabled, h.disabledSince, "not probed, because its settings say so"}
	}
	j := h.health.judge(now, h.target.Interval, oldestAt)
	j.since = cmp.Or(j.since, h.added)
	return j
}

// targetHealth returns what is to be said now of a target, of which it gets all prompts, and its state: the most urgent
// of theirs. A target is up if one of its prompts is, and down if all are.
func targetHealth(prompts []history, now time.Time) (target healthJudgement, s state) {
	order := []verdict{verdictUp, verdictUnknown, verdictDown, verdictDisabled} // the first one of a prompt counts
	var reasons []string
	for i := range prompts {
		h := &prompts[i]
		var oldestAt time.Time
		if h.target.InFlight != nil {
			_, oldestAt = h.target.InFlight()
		}
		isMissing := !h.condition.missingSince.IsZero()
		own := h.state(now, oldestAt, isMissing)
		j := h.judgeHealth(now, oldestAt)
		isBetter := slices.Index(order, j.verdict) < slices.Index(order, target.verdict)
		switch {
		case i == 0, isBetter:
			target.verdict, target.since = j.verdict, j.since
		case j.verdict == target.verdict && j.verdict == verdictUp: // since the first was up
			target.since = earlier(target.since, j.since)
		case j.verdict == target.verdict: // since the last was down
			target.since = later(target.since, j.since)
		}
		if i == 0 || slices.Index(urgency, own) < slices.Index(urgency, s) {
			s = own
		}
		if j.reason == "" {
			continue
		}
		if len(prompts) > 1 {
			j.reason = fmt.Sprintf("prompt %s %s: %s", h.target.Prompt, j.verdict, j.reason)
		}
		reasons = append(reasons, j.reason)
	}
	target.reason = strings.Join(reasons, "; ")
	return target, s
}

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
	prompts := b.healthCopies(name)
	if len(prompts) == 0 {
		text := fmt.Sprintf("no target %q: want one of %s", name, strings.Join(b.targetNames(), ", "))
		refuse(w, http.StatusNotFound, text)
		return
	}
	j, s := targetHealth(prompts, time.Now())
	answer(w, j.verdict.code(), healthJSON{
		Status: j.verdict,
		Target: name,
		State:  s,
		Reason: orNull(j.reason),
		Since:  j.since,
	})
}

// healthCopies returns what the health of a target needs of the histories of its prompts, which is not their results.
func (b *Board) healthCopies(target string) (prompts []history) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.histories {
		if h.target.Name == target {
			prompts = append(prompts, history{
				target: h.target, problems: h.problems, health: h.health, condition: h.condition,
				added: h.added, rejectedSince: h.rejectedSince, disabledSince: h.disabledSince,
			})
		}
	}
	return prompts
}

// targetNames returns the names of all targets.
func (b *Board) targetNames() (names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.histories {
		names = append(names, h.target.Name)
	}
	return slices.Compact(names) // the prompts of a target stand together
}
