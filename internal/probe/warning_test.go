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
	const switches = " (nginx: proxy_buffering off; HAProxy: option http-no-delay; see docs/servers.md, Gateways)"
	const held = " token frames arrived together: something holds them back, and TTFT may be late" + switches
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
	const onePiece = "the answer arrived in one piece: something buffers" + switches
	for name, test := range map[string]struct {
		line    timing.Timeline
		taint   timing.Taint
		outcome Outcome
		source  Source
		want    []string
	}{
		"each read on its own":  {late(1, 1, 1, 1), "", OK, FromUsage, nil},
		"batched by the server": {batched(1, 2, 2), "", OK, FromUsage, nil},
		"a quarter in the first packet": {batched(held25...), "", OK, FromUsage,
			[]string{"the first 25 of 100" + held}},
		"less than a quarter in the first packet": {batched(held24...), "", OK, FromUsage, nil},
		"a quarter in a later packet":             {batched(1, 1, 1, 2, 1, 1), "", OK, FromUsage, nil},
		"a quarter in the first packet of an answer that failed": {batched(3, 1, 1, 1), "", Truncated, FromUsage,
			[]string{"the first 3 of 6" + held}},
		"two frames of one step": {batched(2, 1, 1, 1), "", OK, FromUsage, nil},
		"a quarter in the first packet, read late": {heldLate, "", OK, FromUsage, []string{
			"the prober read up to 99.0 ms late, and 3 tokens together with others, so that their ITL is a mean: " +
				"no TTFT, no max gap",
		}},
		"mostly batched": {batched(1, 4), "", OK, FromUsage,
			[]string{"3 of 5 token frames arrived together with the one before: something batches them" + switches}},
		"a burst in an answer that failed": {batched(1, 4), "", WrongLength, FromUsage,
			[]string{"3 of 5 token frames arrived together with the one before: something batches them" + switches}},
		"half read on time and half late": {halfLate, "", OK, FromUsage, []string{
			"the prober read up to 99.0 ms late, and 5 tokens together with others, so that their ITL is a mean: no max gap",
			"4 of 10 token frames arrived together with the one before: something batches them" + switches,
		}},
		"joined, and no frame says how many tokens it has": {late(1, 1, 3, 1), "", OK, FromNothing, []string{
			"the prober read up to 99.0 ms late, and 3 tokens together with others: no max gap",
			"6 tokens in 6 frames, and no frame says how many it carries: no ITL",
		}},
		"some joined": {late(1, 1, 3, 1), "", OK, FromUsage,
			[]string{"the prober read up to 99.0 ms late, and 3 tokens together with others, so that their ITL is a mean: " +
				"no max gap"}},
		"the first joined": {late(45, 1, 1), "", OK, FromUsage,
			[]string{"the prober read up to 99.0 ms late, and 45 tokens together with others, so that their ITL is a mean: " +
				"no TTFT, no max gap"}},
		"all joined": {late(10), timing.TaintCoalesced, OK, FromUsage,
			[]string{"the prober read up to 99.0 ms late, and 10 tokens together with others: no TTFT, no ITL, no max gap"}},
		"in one piece":                            {inReads(0, ms/20, 10), "", OK, FromUsage, []string{onePiece}},
		"in one piece, read a bit late":           {headed(inReads(0, ms/2, 10)), "", OK, FromUsage, []string{onePiece}},
		"in one piece after the first, read late": {inReads(ms/100, 99*ms, 1, 9), "", OK, FromUsage, []string{onePiece}},
		"in two parts, read a bit late":           {headed(inReads(ms/100, ms/2, 5, 5)), "", OK, FromUsage, []string{onePiece}},
		"stalled": {late(1, 3), "", Stalled, FromUsage,
			[]string{"the prober read up to 99.0 ms late, and 3 tokens together with others, so that their ITL is a mean: " +
				"no max gap"}},
	} {
		n := len(test.line.Frames)
		test.line.Taint = test.taint
		r := &Result{
			Outcome: test.outcome, Source: test.source, Timeline: test.line,
			Usage: wire.Usage{Output: wire.Tokens(n)},
		}
		var got []string
		for _, warning := range warnings(r, n, 0) {
			got = append(got, warning.Text)
		}
		equal(t, name, test.want, got)
	}
}

// TestWarningOfAFinishReason holds that a reason which nobody knows is named, and no other.
func TestWarningOfAFinishReason(t *testing.T) {
	for reason, want := range map[string][]string{
		"tired":  {`no known server gives the finish reason "tired": it is taken for the end of a whole answer`},
		"LENGTH": nil, "stop": nil, "": nil,
	} {
		r := &Result{
			Outcome: OK, Source: FromUsage, Finish: reason, Usage: wire.Usage{Output: wire.Tokens(1)},
			Timeline: inReads(20*ms, ms/20, 1),
		}
		var got []string
		for _, warning := range warnings(r, 1, 0) {
			got = append(got, warning.Text)
		}
		equal(t, reason, want, got)
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
		const said = "no text of an answer came, only reasoning: no TTFAT"
		equal(t, "warnings", []Warning{{Kind: said, Text: said}}, r.Warnings)
		equal(t, "reasoning", wire.Count{}, r.Usage.Reasoning)
	})
}
