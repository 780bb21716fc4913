package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/usage"
)

// TestParseGate holds what --fail-on accepts, and that a command which compares nothing does not offer regression.
func TestParseGate(t *testing.T) {
	const all = "want objective, regression or 'regression>5%'"
	for _, test := range []struct {
		failOn string
		judged Judged
		want   Gate
		wrong  usage.Problems
	}{
		{failOn: "objective", judged: Judged{Objectives: true}, want: Gate{Objective: true}},
		{
			failOn: "objective",
			wrong: usage.Problems{{
				Place: `--fail-on="objective"`, Text: "there is no objective",
				Hint: "add one, for example --objective ttft=2s@95%",
			}},
		},
		{
			failOn: " regression>2.5%", judged: Judged{Compared: true, Pair: true},
			want: Gate{Regression: true, MinSlowdown: 2.5},
		},
		{
			failOn: "regression", judged: Judged{Compared: true},
			wrong: usage.Problems{{
				Place: `--fail-on="regression"`, Text: "needs two targets of one group to compare",
				Hint: "want prober bench before=URL after=URL",
			}},
		},
		{failOn: "x", wrong: usage.Problems{{Place: `--fail-on="x"`, Text: "unknown", Hint: "want objective"}}},
		{
			failOn: "regression>5", judged: Judged{Compared: true},
			wrong: usage.Problems{{Place: `--fail-on="regression>5"`, Text: "unknown", Hint: all}},
		},
	} {
		got, wrong := ParseGate([]string{test.failOn}, test.judged)
		if diff := cmp.Diff(test.want, got) + cmp.Diff(test.wrong, wrong); diff != "" {
			t.Errorf("%q: -want +got\n%s", test.failOn, diff)
		}
	}
}
