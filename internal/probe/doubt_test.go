package probe

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/wire"
)

// read4 is an answer of four token frames, the last two of one read, that the
// kernel stamped. The second read lay there for 45 ms.
func read4(outcome Outcome, taint Taint) *Result {
	return &Result{
		Outcome: outcome, Source: FromUsage, Stamp: ByKernel, Taint: taint,
		Usage: wire.Usage{Output: wire.Tokens(4)},
		Timeline: Timeline{Tokens: []Arrival{
			{At: 500 * ms, Read: 1, N: 1, Kernel: true, Delay: ms / 50}, {At: 520 * ms, Read: 2, N: 1, Kernel: true, Delay: 45 * ms},
			{At: 565 * ms, Read: 3, N: 1, Kernel: true, Delay: ms}, {At: 565 * ms, Read: 3, N: 1, Kernel: true, Delay: ms},
		}},
	}
}

// TestDoubtsOfTaintedProbes: the prober says that it was late, whatever the
// outcome, and not that something else batches what it read together.
func TestDoubtsOfTaintedProbes(t *testing.T) {
	const late = "the prober was late: bytes lay unread for longer than a token takes, up to 45ms: no ITL, no chunk gaps, no max gap"
	const together = "the prober was late: frames were read together while it was, up to 45ms: no ITL, no chunk gaps, no max gap"
	batch := func(r *Result) *Result {
		for i := range r.Timeline.Tokens {
			r.Timeline.Tokens[i].Read = 3
		}
		return r
	}
	paused := func(r *Result) *Result { // for so long that nothing unread can have hidden it
		r.Timeline.Tokens[2].At += 20 * 45 * ms
		r.Timeline.Tokens[3].At = r.Timeline.Tokens[2].At
		return r
	}
	for name, test := range map[string]struct {
		of   *Result
		want []string
	}{
		"untainted":             {read4(OK, ""), nil},
		"batched by the server": {batch(read4(OK, "")), []string{"3 of 4 token frames arrived together with the one before: something batches them"}},
		"late":                  {read4(OK, TaintLate), []string{late}},
		"coalesced":             {read4(OK, TaintCoalesced), []string{together}},
		"batched by us": {batch(read4(OK, TaintCoalesced)), []string{
			"the prober was late: frames were read together while it was, up to 20µs: no ITL, no chunk gaps", // but 45 ms hide in no 20 µs
		}},
		"stalled": {read4(Stalled, TaintLate), []string{late}},
		"late, and its longest gap is the server's all the same": {
			paused(read4(OK, TaintLate)), []string{"the prober was late: bytes lay unread for longer than a token takes, up to 45ms: no ITL, no chunk gaps"},
		},
		"failed": {read4(Stalled, ""), nil},
	} {
		var got []string
		for _, err := range doubts(test.of, wire.Ask{MaxTokens: 4}) {
			got = append(got, err.Error())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestMaxReadDelay(t *testing.T) {
	if d, ok := (&Timeline{Tokens: []Arrival{{At: ms, Read: 1}}}).MaxReadDelay(); ok || d != 0 {
		t.Errorf("%v where the kernel stamped nothing", d)
	}
	if d, ok := read4(OK, "").Timeline.MaxReadDelay(); !ok || d != 45*ms {
		t.Errorf("%v, %t, want 45 ms", d, ok)
	}
}

// TestReadDelaysAreOncePerRead: frames of one read lay there together.
func TestReadDelaysAreOncePerRead(t *testing.T) {
	r := read4(OK, "")
	r.Timeline.Tokens[0].Kernel = false
	if diff := cmp.Diff([]time.Duration{45 * ms, ms}, slices.Collect(r.Timeline.ReadDelays())); diff != "" {
		t.Errorf("delays (-want +got):\n%s", diff)
	}
}

// TestTaintedProbesHaveNoGaps: neither one by one nor the longest, so that an
// objective of it does not judge, while those of all else do.
func TestTaintedProbesHaveNoGaps(t *testing.T) {
	for _, taint := range Taints() {
		r := read4(OK, taint)
		if gaps := slices.Collect(r.ChunkGaps()); gaps != nil {
			t.Errorf("%s: gaps %v", taint, gaps)
		}
		if itl := slices.Collect(r.ITL()); itl != nil {
			t.Errorf("%s: ITL %v", taint, itl)
		}
		for signal, judges := range map[Signal]bool{
			SignalMaxGap: false, SignalTTFT: true, SignalTPOT: true, SignalE2EL: true, SignalAvailability: true,
		} {
			o := Objective{Name: "x", Signal: signal, Limit: ms, Goal: 0.9}
			if _, ok := o.Judge(r); ok != judges {
				t.Errorf("%s: %s is judged: %t, want %t", taint, signal, ok, judges)
			}
			if good, ok := o.Judge(read4(Stalled, taint)); good || !ok {
				t.Errorf("%s: a failed probe is not bad for %s", taint, signal)
			}
		}
	}
}
