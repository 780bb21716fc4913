package probe

import (
	"slices"
	"testing"

	"github.com/llm-prober/prober/internal/timing"
	"github.com/llm-prober/prober/internal/wire"
)

// TestWarningsOfLateReads: the prober says that it was late and which numbers that cost, whatever the outcome, and
// not that something else batches what it read together.
func TestWarningsOfLateReads(t *testing.T) {
	late := func(frames ...int) timing.Timeline { return inReads(2*ms, 99*ms, frames...) }
	batched := func(frames ...int) timing.Timeline { return inReads(20*ms, ms/20, frames...) }
	held25 := append([]int{25}, slices.Repeat([]int{1}, 75)...)
	held24 := append([]int{24}, slices.Repeat([]int{1}, 75)...)
	heldLate := inReads(20*ms, ms/20, 3, 1, 1, 1, 1, 1)
	for i := range heldLate.Frames[:3] {
		heldLate.Frames[i].Delay = 99 * ms
	}
	halfLate := inReads(ms, 99*ms, 5, 5)
	for i := range halfLate.Frames[5:] {
		halfLate.Frames[5+i].Delay = ms / 20
	}
	headed := func(t timing.Timeline) timing.Timeline {
		t.Phases.Header = t.Frames[0].At - ms
		return t
	}
	onePiece := []Warning{{Kind: WarnOnePiece}}
	late99 := func(cost LateReads) Warning {
		cost.Delay = 99 * ms
		return Warning{Kind: WarnLateReads, Late: cost}
	}
	for name, test := range map[string]struct {
		line    timing.Timeline
		taint   timing.Taint
		outcome Outcome
		source  Source
		want    []Warning
	}{
		"each read on its own":  {late(1, 1, 1, 1), "", OK, FromUsage, nil},
		"batched by the server": {batched(1, 2, 2), "", OK, FromUsage, nil},
		"a quarter in the first packet": {batched(held25...), "", OK, FromUsage,
			[]Warning{{Kind: WarnHeldBack, N: 25, Of: 100}}},
		"less than a quarter in the first packet": {batched(held24...), "", OK, FromUsage, nil},
		"a quarter in a later packet":             {batched(1, 1, 1, 2, 1, 1), "", OK, FromUsage, nil},
		"a quarter in the first packet of an answer that failed": {batched(3, 1, 1, 1), "", Truncated, FromUsage,
			[]Warning{{Kind: WarnHeldBack, N: 3, Of: 6}}},
		"two frames of one step": {batched(2, 1, 1, 1), "", OK, FromUsage, nil},
		"a quarter in the first packet, read late": {heldLate, "", OK, FromUsage, []Warning{
			late99(LateReads{Joined: 3, MeanITL: true, NoTTFT: true, NoMaxGap: true}),
		}},
		"mostly batched": {batched(1, 4), "", OK, FromUsage,
			[]Warning{{Kind: WarnBatched, N: 3, Of: 5}}},
		"a burst in an answer that failed": {batched(1, 4), "", WrongLength, FromUsage,
			[]Warning{{Kind: WarnBatched, N: 3, Of: 5}}},
		"half read on time and half late": {halfLate, "", OK, FromUsage, []Warning{
			late99(LateReads{Joined: 5, MeanITL: true, NoMaxGap: true}), {Kind: WarnBatched, N: 4, Of: 10},
		}},
		"joined, and no frame says how many tokens it has": {late(1, 1, 3, 1), "", OK, FromNothing, []Warning{
			late99(LateReads{Joined: 3, NoMaxGap: true}), {Kind: WarnUncountedFrames, N: 6, Of: 6},
		}},
		"some joined": {late(1, 1, 3, 1), "", OK, FromUsage,
			[]Warning{late99(LateReads{Joined: 3, MeanITL: true, NoMaxGap: true})}},
		"the first joined": {late(45, 1, 1), "", OK, FromUsage,
			[]Warning{late99(LateReads{Joined: 45, MeanITL: true, NoTTFT: true, NoMaxGap: true})}},
		"all joined": {late(10), timing.TaintCoalesced, OK, FromUsage,
			[]Warning{late99(LateReads{Joined: 10, NoTTFT: true, NoITL: true, NoMaxGap: true})}},
		"in one piece":                            {inReads(0, ms/20, 10), "", OK, FromUsage, onePiece},
		"in one piece, read a bit late":           {headed(inReads(0, ms/2, 10)), "", OK, FromUsage, onePiece},
		"in one piece after the first, read late": {inReads(ms/100, 99*ms, 1, 9), "", OK, FromUsage, onePiece},
		"in two parts, read a bit late":           {headed(inReads(ms/100, ms/2, 5, 5)), "", OK, FromUsage, onePiece},
		"stalled": {late(1, 3), "", Stalled, FromUsage,
			[]Warning{late99(LateReads{Joined: 3, MeanITL: true, NoMaxGap: true})}},
	} {
		n := len(test.line.Frames)
		test.line.Taint = test.taint
		r := &Result{
			Outcome: test.outcome, Source: test.source, Timeline: test.line,
			Usage: wire.Usage{Output: wire.Tokens(n)},
		}
		equal(t, name, test.want, warnings(r, n, 0))
	}
}

// TestWarningOfAFinishReason holds that a reason which nobody knows is named, and no other.
func TestWarningOfAFinishReason(t *testing.T) {
	for reason, want := range map[string][]Warning{
		"tired":  {{Kind: WarnUnknownFinish, Words: "tired"}},
		"LENGTH": nil, "stop": nil, "": nil,
	} {
		r := &Result{
			Outcome: OK, Source: FromUsage, Finish: reason, Usage: wire.Usage{Output: wire.Tokens(1)},
			Timeline: inReads(20*ms, ms/20, 1),
		}
		equal(t, reason, want, warnings(r, 1, 0))
	}
}

// TestAnAnswerOfReasoningAlone holds that it is said, and that a server which counts no reasoning tokens although
// frames show some is taken to count none.
func TestAnAnswerOfReasoningAlone(t *testing.T) {
	inBubble(t, "reasoning", func(t *testing.T) {
		const usage = `{"choices":[],"usage":{"prompt_tokens":80,"completion_tokens":2,` +
			`"completion_tokens_details":{"reasoning_tokens":0}}}`
		server := after(ms, thought).then(ms, thought, limit, usage, done)
		r := serve(t, server.stream).Probe(t.Context(), wire.Ask{MaxTokens: 2})
		endsAs(t, r, OK, "")
		equal(t, "warnings", []Warning{{Kind: WarnOnlyReasoning}}, r.Warnings)
		equal(t, "reasoning", wire.Count{}, r.Usage.Reasoning)
	})
}
