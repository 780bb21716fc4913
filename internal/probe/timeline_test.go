package probe

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// randomTimeline is a timeline of up to 50 token frames, some in one read.
func randomTimeline(chance *rand.Rand) (t Timeline, generated int) {
	at := time.Duration(chance.IntN(1_000_000_000) + 1)
	for range chance.IntN(50) + 1 {
		n := chance.IntN(4) + 1
		t.Tokens = append(t.Tokens, Arrival{At: at, N: n, Read: uint32(at)})
		generated += n
		if chance.IntN(4) > 0 {
			at += time.Duration(chance.IntN(100_000_000))
		}
	}
	t.Finish = at + time.Duration(chance.IntN(1000))
	return t, generated
}

// TestTimelineProperties holds what is true of every timeline.
func TestTimelineProperties(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		line, n := randomTimeline(chance)
		first, _ := line.TTFT()
		e2el, _ := (&Result{Outcome: OK, Timeline: line}).E2EL()
		last := line.Tokens[len(line.Tokens)-1].At
		var gaps, perToken time.Duration
		samples := 0
		for gap := range line.ChunkGaps() {
			gaps += gap
		}
		for itl := range line.ITL() {
			perToken += itl
			samples++
		}
		if gaps != last-first || first > e2el || last > e2el {
			t.Fatalf("gaps sum to %v between %v and %v, E2EL %v", gaps, first, last, e2el)
		}
		rest := n
		for i := 0; i < len(line.Tokens) && line.Tokens[i].At == first; i++ {
			rest -= line.Tokens[i].N
		}
		if samples != rest {
			t.Fatalf("%d ITL samples for %d tokens after the first burst", samples, rest)
		}
		if lost := gaps - perToken; lost < 0 || lost > time.Duration(4*len(line.Tokens)) {
			t.Fatalf("ITL sums to %v, gaps to %v", perToken, gaps)
		}
		tpot, ok := line.TPOT(n)
		if ok != (rest > 0) || ok && (gaps-tpot*time.Duration(rest) < 0 || gaps-tpot*time.Duration(rest) >= time.Duration(rest)) {
			t.Fatalf("TPOT %v (%t) of %d tokens over %v", tpot, ok, rest, gaps)
		}
	}
}

func TestObjectivesJudge(t *testing.T) {
	ok := &Result{Outcome: OK, Usage: wire.Usage{Output: wire.Tokens(3)}, Timeline: Timeline{
		Phases: Phases{Wrote: 100 * ms},
		Tokens: []Arrival{{At: 500 * ms, Read: 1, N: 1}, {At: 520 * ms, Read: 2, N: 1}, {At: 560 * ms, Read: 3, N: 1}},
	}}
	failed := &Result{Outcome: Stalled, Timeline: Timeline{Tokens: []Arrival{{At: ms}}}}
	late := &Result{Outcome: OK, Usage: wire.Usage{Output: wire.Tokens(47)}, Timeline: inReads(2*ms, 99*ms, 45, 1, 1)}
	unknown := &Result{Outcome: OK, Timeline: Timeline{Tokens: []Arrival{{At: ms}}}}
	tests := []struct {
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
		{"availability", SignalAvailability, 0, ok, true, true},
		{"a failed probe is never good", SignalTTFT, time.Hour, failed, false, true},
		{"nor is it available", SignalAvailability, 0, failed, false, true},
		{"no TPOT says nothing", SignalTPOT, time.Hour, unknown, false, false},
		{"an uncertain TTFT says nothing", SignalTTFT, time.Hour, late, false, false},
		{"nor does an uncertain gap", SignalMaxGap, time.Hour, late, false, false},
		{"TPOT of a late read that is sure", SignalTPOT, time.Hour, late, true, true},
		{"E2EL of it", SignalE2EL, time.Hour, late, true, true},
		{"an unknown signal says nothing", "x", time.Hour, ok, false, false},
	}
	for _, test := range tests {
		good, ok := Objective{Signal: test.signal, Limit: test.limit, Goal: 0.99}.Judge(test.result)
		if good != test.good || ok != test.ok {
			t.Errorf("%s: good=%t ok=%t", test.name, good, ok)
		}
	}
}
