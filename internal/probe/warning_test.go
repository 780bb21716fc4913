package probe

import (
	"slices"
	"testing"
	"time"

	"github.com/llm-prober/prober/internal/wire"
)

// TestWarningsOfLateReads: the prober says that it was late and which numbers that cost, whatever the outcome, and
// not that something else batches what it read together.
func TestWarningsOfLateReads(t *testing.T) {
	merged := func(taint Taint, outcome Outcome, frames ...int) *Result {
		n := 0
		for _, in := range frames {
			n += in
		}
		line := inReads(2*ms, 99*ms, frames...)
		line.Taint = taint
		return &Result{Outcome: outcome, Source: FromUsage, Timeline: line, Usage: wire.Usage{Output: wire.Tokens(n)}}
	}
	for name, test := range map[string]struct {
		of   *Result
		want []string
	}{
		"each read on its own": {merged("", OK, 1, 1, 1, 1), nil},
		"batched by the server": {
			&Result{Outcome: OK, Source: FromUsage, Timeline: inReads(20*ms, ms/20, 1, 2, 2), Usage: wire.Usage{Output: wire.Tokens(5)}}, nil,
		},
		"mostly batched": {
			&Result{Outcome: OK, Source: FromUsage, Timeline: inReads(20*ms, ms/20, 1, 4), Usage: wire.Usage{Output: wire.Tokens(5)}},
			[]string{"3 of 5 token frames arrived together with the one before: something batches them"},
		},
		"some joined": {merged("", OK, 1, 1, 3, 1),
			[]string{"the prober read up to 99ms late, and 3 tokens together with others, so that their ITL is a mean: no max gap"}},
		"the first joined": {merged("", OK, 45, 1, 1),
			[]string{"the prober read up to 99ms late, and 45 tokens together with others, so that their ITL is a mean: no TTFT, no max gap"}},
		"all joined": {merged(TaintCoalesced, OK, 10),
			[]string{"the prober read up to 99ms late, and 10 tokens together with others: no TTFT, no ITL, no max gap"}},
		"stalled": {merged("", Stalled, 1, 3),
			[]string{"the prober read up to 99ms late, and 3 tokens together with others, so that their ITL is a mean: no max gap"}},
	} {
		var got []string
		for _, err := range warnings(test.of, test.of.Usage.Output.N, 0) {
			got = append(got, err.Error())
		}
		equal(t, name, test.want, got)
	}
}

// TestReadDelaysAreOncePerRead: frames of one read lay there together.
func TestReadDelaysAreOncePerRead(t *testing.T) {
	line := inReads(20*ms, ms, 1, 1, 2)
	line.Tokens[0].Kernel, line.Tokens[1].Delay = false, 45*ms
	equal(t, "delays", []time.Duration{45 * ms, ms}, slices.Collect(line.ReadDelays()))
}
