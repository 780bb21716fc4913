package probe

import (
	"cmp"
	"time"

	"github.com/llm-prober/prober/internal/format"
)

// A Signal is the measurement that an objective limits.
type Signal string

// The signals.
const (
	SignalTTFT         Signal = "ttft"
	SignalServerTTFT   Signal = "server_ttft"
	SignalTTFAT        Signal = "ttfat"
	SignalTPOT         Signal = "tpot"
	SignalMaxGap       Signal = "max_gap"
	SignalE2EL         Signal = "e2el"
	SignalAvailability Signal = "availability"
)

// Signals returns every signal.
func Signals() []Signal {
	return []Signal{
		SignalTTFT, SignalServerTTFT, SignalTTFAT, SignalTPOT, SignalMaxGap, SignalE2EL, SignalAvailability,
	}
}

// An Objective is a promise: at least Goal of all probes are good.
type Objective struct {
	Name   string
	Signal Signal
	Limit  time.Duration // a value up to it is good; 0 for availability
	Goal   float64       // ratio, above 0 and below 1
	Prompt string        // name of the prompt whose probes it judges; empty: those of each prompt of the target

	RefusalsAreBad bool // a refused probe is a bad event; else it is no event
}

// Judge reports whether r is good. ok is false if r is no event of the objective: it was canceled, it was refused (see
// [Outcome.Refusal]) and refusals are not bad, or it succeeded without a sample of the signal.
func (o Objective) Judge(r *Result) (good, ok bool) {
	isIgnored := r.Outcome.Refusal() && !o.RefusalsAreBad
	if r.Outcome == Canceled || isIgnored {
		return false, false
	}
	if r.Outcome != OK || o.Signal == SignalAvailability {
		return r.Outcome == OK, true
	}
	value, ok := o.Value(r)
	return ok && value <= o.Limit, ok
}

// Events returns how many events of o for a prompt follow from r. A failed probe is one for its own prompt, and so is
// each slot that it blocked, for the prompt that was due: a server that does not answer for eight minutes has eight bad
// minutes, although few probes were sent in them.
func (o Objective) Events(prompt string, r *Result) (good, bad int) {
	isGood, ok := o.Judge(r)
	switch {
	case !ok:
		return 0, 0
	case r.Outcome != OK && r.Prompt != prompt:
		return 0, r.Blocked[prompt]
	case r.Prompt != prompt:
		return 0, 0
	case isGood:
		return 1, 0
	case r.Outcome == OK: // too slow: the slots behind it show nothing about the server's answers
		return 0, 1
	}
	return 0, 1 + r.Blocked[prompt]
}

// Value returns the signal of r, which succeeded. ok is false without a sample of it; availability has none.
func (o Objective) Value(r *Result) (value time.Duration, ok bool) {
	switch {
	case o.Signal == SignalTTFT && r.TTFTValid():
		value, ok = r.TTFT()
	case o.Signal == SignalServerTTFT && r.TTFTValid():
		value, ok = r.ServerTTFT()
	case o.Signal == SignalTTFAT:
		value, ok = r.TTFAT()
	case o.Signal == SignalTPOT:
		value, ok = r.TPOT()
	case o.Signal == SignalMaxGap:
		value, ok = r.MaxGap()
	case o.Signal == SignalE2EL:
		value, ok = r.E2EL()
	}
	return value, ok
}

// String returns o as the flag --objective takes it: "ttft<2s@95%".
func (o Objective) String() string { return o.promise(string(o.Signal)) }

// Title returns o by its name, which is also the label of its metrics: "fast_start<2s@95%". Without a name it is the
// signal's.
func (o Objective) Title() string { return o.promise(cmp.Or(o.Name, string(o.Signal))) }

func (o Objective) promise(subject string) string {
	if o.Limit > 0 {
		subject += "<" + o.Limit.String()
	}
	return subject + "@" + format.Goal(o.Goal)
}
