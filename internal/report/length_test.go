package report

import (
	"errors"
	"testing"

	"github.com/llm-prober/prober/internal/length"
	"github.com/llm-prober/prober/internal/wire"
)

// TestLength holds what is said about the length of prompts: as a note, which is empty if all is as it should be, and
// as a line, which then says how that is known.
func TestLength(t *testing.T) {
	for _, test := range []struct {
		name       string
		length     length.Snapshot
		note, line string // line is empty if it is the note
	}{
		{"of a data set", length.Snapshot{Method: "usage"}, "", ""},
		{
			"before the first count", length.Snapshot{Asked: 1000},
			"no probes yet: the length of the prompts is being calibrated", "",
		},
		{
			"nobody could be asked", length.Snapshot{Asked: 1000, Failure: errors.New("timeout: no answer")},
			"nothing is measured: the length of the prompts is not known: timeout: no answer", "",
		},
		{
			"contradicted", length.Snapshot{Asked: 1000, Method: "tokenizer", By: "a", ByItself: true},
			"nothing is measured: the server counts otherwise than before, and the prompts are calibrated again", "",
		},
		{
			"by an estimate", length.Snapshot{Asked: 1000, Method: "estimate", Estimated: true, Failure: errors.New("no")},
			"the server does not count the tokens of prompts: they have about 1,000, by an estimate", "",
		},
		{
			"another of the group is estimated", length.Snapshot{Asked: 1000, Method: "estimate", Failure: errors.New("HTTP 500")},
			"nothing is measured: the length of the prompts is not known: HTTP 500", "",
		},
		{
			"by the tokenizer", length.Snapshot{Asked: 1000, Method: "tokenizer", Exact: true, By: "a", ByItself: true},
			"", "prompts are exactly 1,000 tokens, by the server's tokenizer",
		},
		{
			"by usage", length.Snapshot{Asked: 1000, Method: "usage", Exact: true, By: "a", ByItself: true, Requests: 3},
			"", "prompts are exactly 1,000 tokens, by the usage of 3 requests with short answers, " +
				"which are recorded nowhere",
		},
		{
			"as near as it gets", length.Snapshot{Asked: 1000, Method: "usage", Exact: true, By: "a", ByItself: true, Off: -2},
			"prompts are off by -2 tokens of 1,000: the server allows no better", "",
		},
		{
			"by another", length.Snapshot{Asked: 1000, Method: "usage", Exact: true, By: "b"},
			"b counted the tokens of the prompts; how many this server counts is not known yet", "",
		},
		{
			"by another and itself", length.Snapshot{Asked: 1000, Method: "usage", Exact: true, By: "b", Counted: wire.Tokens(1000)},
			"", "prompts are exactly 1,000 tokens, as b and this server count them",
		},
		{
			"not as another counts", length.Snapshot{Asked: 1000, Method: "usage", Exact: true, By: "b", Counted: wire.Tokens(1100)},
			"the prompts have 1,000 tokens as b counts them, and 1,100 as this server does", "",
		},
	} {
		line := test.line
		if line == "" {
			line = test.note
		}
		if got := LengthNote(test.length); got != test.note {
			t.Errorf("%s: note %q, want %q", test.name, got, test.note)
		}
		if got := LengthLine(test.length); got != line {
			t.Errorf("%s: line %q, want %q", test.name, got, line)
		}
	}
}
