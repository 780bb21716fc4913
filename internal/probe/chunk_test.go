package probe

import (
	"slices"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// numbers are what a timeline says.
type numbers struct {
	ITL, Gaps                []time.Duration
	TTFT, TPOT, MaxGap, E2EL time.Duration // -1 if there is no sample
	Joined, Bursts           int
}

func numbersOf(t Timeline) numbers {
	n := 0
	for _, a := range t.Tokens {
		n += a.N
	}
	r := &Result{Outcome: OK, Timeline: t, Usage: wire.Usage{Output: wire.Tokens(n)}}
	return numbers{
		ITL: slices.Collect(r.ITL()), Gaps: slices.Collect(r.ChunkGaps()),
		TTFT: orNone(r.TTFT()), TPOT: orNone(r.TPOT()), MaxGap: orNone(r.MaxGap()), E2EL: orNone(r.E2EL()),
		Joined: t.JoinedTokens(), Bursts: t.Bursts(),
	}
}

func TestChunks(t *testing.T) {
	change := func(t Timeline, change func(*Timeline)) Timeline { change(&t); return t }
	header := func(t *Timeline) { t.Phases.Wrote, t.Phases.Header = 10*ms, 510*ms }
	for name, test := range map[string]struct {
		of   Timeline
		want numbers
	}{
		"each on its own, however late it was read": {
			with(arrived(4, 20*ms), func(_ int, a *Arrival) { a.Delay = 90 * ms }),
			numbers{ITL: times(3, 20*ms), Gaps: times(3, 20*ms), TTFT: 500 * ms, TPOT: 20 * ms, MaxGap: 20 * ms, E2EL: 560 * ms},
		},
		"a burst of the server's": {
			inReads(20*ms, ms/20, 1, 3, 3),
			numbers{
				ITL: times(6, 20*ms), Gaps: []time.Duration{60 * ms, 0, 0, 60 * ms, 0, 0},
				TTFT: 520 * ms, TPOT: 20 * ms, MaxGap: 60 * ms, E2EL: 640 * ms, Bursts: 4,
			},
		},
		"all of an answer at once": {
			inReads(0, ms/20, 4),
			numbers{Gaps: times(3, 0), TTFT: 500 * ms, TPOT: -1, MaxGap: 0, E2EL: 500 * ms, Bursts: 3},
		},
		"what was merged while the reader was late": {
			inReads(20*ms, 15*ms, 1, 1, 3, 1, 1),
			numbers{
				ITL: times(6, 20*ms), Gaps: []time.Duration{20 * ms, 20 * ms, 20 * ms},
				TTFT: 520 * ms, TPOT: 20 * ms, MaxGap: -1, E2EL: 640 * ms, Joined: 3,
			},
		},
		"a gap that is as long as what was merged": {
			change(inReads(20*ms, 15*ms, 1, 1, 3, 1), func(t *Timeline) { t.Tokens[5].At += 40 * ms }),
			numbers{
				ITL: append(times(4, 20*ms), 60*ms), Gaps: []time.Duration{20 * ms, 60 * ms},
				TTFT: 520 * ms, TPOT: 28 * ms, MaxGap: 60 * ms, E2EL: 660 * ms, Joined: 3,
			},
		},
		// A read that looks on time may be one that came just after the last of several packets.
		"one late read makes the gaps of all shared reads uncertain": {
			change(inReads(20*ms, ms/20, 1, 2, 1, 2, 1), func(t *Timeline) { t.Tokens[6].Delay = 15 * ms }),
			numbers{
				ITL: times(6, 20*ms), Gaps: times(2, 20*ms),
				TTFT: 520 * ms, TPOT: 20 * ms, MaxGap: -1, E2EL: 640 * ms, Bursts: 2,
			},
		},
		"the first three merged, of a prefill that is long": {
			change(inReads(20*ms, 15*ms, 3, 1, 1), func(t *Timeline) {
				header(t)
				for i := range t.Tokens {
					t.Tokens[i].At += 1000 * ms
				}
			}),
			numbers{
				ITL: times(2, 20*ms), Gaps: times(2, 20*ms),
				TTFT: 1560 * ms, TPOT: 20 * ms, MaxGap: -1, E2EL: 1600 * ms, Joined: 3,
			},
		},
		"the first 45 of 50 merged": {
			inReads(2*ms, 99*ms, 45, 1, 1, 1, 1, 1),
			numbers{
				ITL: times(5, 2*ms), Gaps: times(5, 2*ms),
				TTFT: -1, TPOT: 2 * ms, MaxGap: -1, E2EL: 600 * ms, Joined: 45,
			},
		},
		"the first merged soon after the header": {
			change(inReads(2*ms, 99*ms, 45, 1), func(t *Timeline) { header(t); t.Phases.Header = 570 * ms }),
			numbers{
				ITL: times(1, 2*ms), Gaps: times(1, 2*ms),
				TTFT: 590 * ms, TPOT: 2 * ms, MaxGap: -1, E2EL: 592 * ms, Joined: 45,
			},
		},
		"the last read late with what came behind it": {
			change(inReads(20*ms, 15*ms, 1, 1, 1, 1), func(t *Timeline) { t.Tokens[3].Behind = true }),
			numbers{
				ITL: times(2, 20*ms), Gaps: times(2, 20*ms),
				TTFT: 520 * ms, TPOT: -1, MaxGap: 20 * ms, E2EL: 580 * ms,
			},
		},
		"one in the middle read late with a comment behind it": {
			change(inReads(20*ms, 15*ms, 1, 1, 1, 1), func(t *Timeline) { t.Tokens[1].Behind = true }),
			numbers{
				ITL: times(3, 20*ms), Gaps: times(1, 20*ms),
				TTFT: 520 * ms, TPOT: 20 * ms, MaxGap: -1, E2EL: 580 * ms, Joined: 2,
			},
		},
		"a timestamp that was refused while the reader was late": {
			change(inReads(20*ms, 15*ms, 1, 1, 1, 1), func(t *Timeline) { t.Tokens[1].Kernel, t.Tokens[1].At = false, t.Tokens[1].At+15*ms }),
			numbers{
				ITL: times(3, 20*ms), Gaps: times(1, 20*ms),
				TTFT: 520 * ms, TPOT: 20 * ms, MaxGap: -1, E2EL: 580 * ms, Joined: 2,
			},
		},
		"tokens of a frame unknown": {
			change(inReads(20*ms, ms/20, 1, 1, 2), func(t *Timeline) { t.Tokens[1].N = 0 }),
			numbers{Gaps: []time.Duration{20 * ms, 40 * ms, 0}, TTFT: 520 * ms, TPOT: 30 * ms, MaxGap: 40 * ms, E2EL: 580 * ms, Bursts: 1},
		},
	} {
		equal(t, name, test.want, numbersOf(test.of))
	}
}

// TestBurst holds what is a burst and what is an engine's pace: frames that a proxy writes one by one after it got
// them together, and not the tokens between stalls.
func TestBurst(t *testing.T) {
	stream := func(gaps ...time.Duration) []Arrival {
		list := []Arrival{{At: 500 * ms, N: 1}}
		for i, gap := range gaps {
			list = append(list, Arrival{At: list[i].At + gap, Read: uint32(i + 1), N: 1})
		}
		return list
	}
	const µs = time.Microsecond
	repeat := func(n int, gaps ...time.Duration) []time.Duration { return slices.Repeat(gaps, n) }
	for name, test := range map[string]struct {
		gaps        []time.Duration
		below       time.Duration
		least, most time.Duration // ITL
	}{
		"no gap":                          {nil, 0, -1, -1},
		"a proxy's burst of eight":        {repeat(12, 27*ms, 485*µs, 485*µs, 485*µs, 485*µs, 485*µs, 485*µs, 485*µs), 826436, 3799375, 3799375},
		"a proxy's burst of 25":           {repeat(4, append(repeat(24, 485*µs), 97*ms)...), 613673, 4345600, 97 * ms},
		"a timer's, too slow for a burst": {repeat(25, 47*ms, 1100*µs, 1100*µs, 1100*µs), ms, 1100 * µs, 47 * ms},
		"an even engine":                  {repeat(99, 20*ms), ms, 20 * ms, 20 * ms},
		"a quick engine":                  {repeat(99, 600*µs), 150 * µs, 600 * µs, 600 * µs},
		"a quick engine that stalls":      {append(repeat(99, 600*µs), 300*ms, 600*µs), 150 * µs, 600 * µs, 300 * ms},
		"prefills in between":             {repeat(20, 10*ms, 10*ms, 10*ms, 10*ms, 300*ms), ms, 10 * ms, 300 * ms},
	} {
		line := Timeline{Tokens: stream(test.gaps...)}
		line.Burst = burst(line.Tokens)
		list := slices.Sorted(line.ITL())
		if list == nil {
			list = times(1, -1)
		}
		if line.Burst != test.below || list[0] != test.least || list[len(list)-1] != test.most {
			t.Errorf("%s: bursts below %v, ITL from %v to %v, want %v, %v and %v", name, line.Burst, list[0], list[len(list)-1], test.below, test.least, test.most)
		}
	}
}
