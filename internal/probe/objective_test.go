package probe

import (
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

func TestObjectivesJudge(t *testing.T) {
	ok := &Result{Outcome: OK, Usage: wire.Usage{Output: wire.Tokens(3)}, Timeline: timing.Timeline{
		Phases: timing.Phases{Wrote: 100 * ms},
		Frames: []timing.Frame{{At: 500 * ms, Read: 1, N: 1}, {At: 520 * ms, Read: 2, N: 1}, {At: 560 * ms, Read: 3, N: 1}},
	}}
	failed := &Result{Outcome: Stalled, Timeline: timing.Timeline{Frames: []timing.Frame{{At: ms}}}}
	late := &Result{Outcome: OK, Usage: wire.Usage{Output: wire.Tokens(47)}, Timeline: inReads(2*ms, 99*ms, 45, 1, 1)}
	unknown := &Result{Outcome: OK, Timeline: timing.Timeline{Frames: []timing.Frame{{At: ms}}}}
	contaminated := *ok
	contaminated.Cache = CacheContaminated
	refused := &Result{Outcome: Unauthorized}
	rejected := &Result{Outcome: Rejected}
	for _, test := range []struct {
		name     string
		signal   Signal
		limit    time.Duration
		result   *Result
		good, ok bool
	}{
		{"TTFT at its limit is good", SignalTTFT, 500 * ms, ok, true, true},
		{"TTFT above it is not", SignalTTFT, 499 * ms, ok, false, true},
		{"server TTFT leaves the upload out", SignalServerTTFT, 400 * ms, ok, true, true},
		{"TPOT", SignalTPOT, 30 * ms, ok, true, true},
		{"TPOT above", SignalTPOT, 29 * ms, ok, false, true},
		{"the longest gap", SignalMaxGap, 40 * ms, ok, true, true},
		{"E2EL", SignalE2EL, 560 * ms, ok, true, true},
		{"TTFT of a prompt that a cache had", SignalTTFT, time.Hour, &contaminated, false, false},
		{"server TTFT of it", SignalServerTTFT, time.Hour, &contaminated, false, false},
		{"E2EL of it", SignalE2EL, time.Hour, &contaminated, true, true},
		{"availability", SignalAvailability, 0, ok, true, true},
		{"a failed probe is never good", SignalTTFT, time.Hour, failed, false, true},
		{"nor is it available", SignalAvailability, 0, failed, false, true},
		{"a refusal says nothing of latency", SignalTTFT, time.Hour, refused, false, false},
		{"nor of availability", SignalAvailability, 0, refused, false, false},
		{"a rejected probe is not good", SignalTTFT, time.Hour, rejected, false, true},
		{"nor available", SignalAvailability, 0, rejected, false, true},
		{"no TPOT says nothing", SignalTPOT, time.Hour, unknown, false, false},
		{"an uncertain TTFT says nothing", SignalTTFT, time.Hour, late, false, false},
		{"nor does an uncertain gap", SignalMaxGap, time.Hour, late, false, false},
		{"TPOT of a late read that is sure", SignalTPOT, time.Hour, late, true, true},
		{"E2EL of it", SignalE2EL, time.Hour, late, true, true},
		{"an unknown signal says nothing", "x", time.Hour, ok, false, false},
	} {
		good, ok := Objective{Signal: test.signal, Limit: test.limit, Goal: 0.99}.Judge(test.result)
		if good != test.good || ok != test.ok {
			t.Errorf("%s: good=%t ok=%t", test.name, good, ok)
		}
	}
}

// TestRefusalsAndObjectives holds that refusals are no events of objectives, or bad ones of every objective, with the
// slots that they blocked, if the objective says so.
func TestRefusalsAndObjectives(t *testing.T) {
	for _, o := range append(Outcomes(), Canceled) {
		refusal := o == Unauthorized || o == RateLimited || o == Filtered
		if o.Refusal() != refusal {
			t.Errorf("%s: a refusal %t", o, o.Refusal())
		}
		for _, signal := range []Signal{SignalAvailability, SignalTTFT} {
			r := &Result{Outcome: o, Prompt: "p", Blocked: map[string]int{"p": 2, "q": 9}}
			good, bad := Objective{Signal: signal, Limit: time.Second}.Events("p", r)
			strictGood, strictBad := Objective{Signal: signal, Limit: time.Second, RefusalsAreBad: true}.Events("p", r)
			switch {
			case refusal && (good+bad != 0 || strictGood != 0 || strictBad != 3):
				t.Errorf("%s, %s: %d good, %d bad; strict: %d good, %d bad", o, signal, good, bad, strictGood, strictBad)
			case !refusal && (strictGood != good || strictBad != bad):
				t.Errorf("%s, %s: no refusal, but judged otherwise: %d bad, strict %d", o, signal, bad, strictBad)
			case o == Canceled && good+bad != 0:
				t.Errorf("%s, %s: judged", o, signal)
			}
		}
	}
}

// TestTitle holds that reports call an objective by the name of its metrics, and the flag by its signal.
func TestTitle(t *testing.T) {
	o := Objective{Name: "fast_start", Signal: SignalTTFT, Limit: 2 * time.Second, Goal: 0.95}
	if o.Title() != "fast_start<2s@95%" || o.String() != "ttft<2s@95%" {
		t.Errorf("%q and %q", o.Title(), o.String())
	}
	o.Name = ""
	if o.Title() != "ttft<2s@95%" {
		t.Errorf("without a name: %q", o.Title())
	}
}
