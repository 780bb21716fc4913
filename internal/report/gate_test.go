package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llm-prober/prober/internal/stats"
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

// TestWhatOnlyLooksSlower holds that a gate passes, and says so, where a slowdown is not shown only because the pairs
// resemble each other: it grows from round to round.
func TestWhatOnlyLooksSlower(t *testing.T) {
	ttft := Pairs{Metric: "TTFT"}
	for i := range 12 {
		ttft.Values = append(ttft.Values, stats.Pair{A: 1, B: 1.01 + 0.01*float64(i)})
	}
	c := Compare(Comparison{A: "a", B: "b", Load: "0.1 QPS", Pair: "round"}, []Pairs{ttft})
	slower, notes := Gate{Regression: true}.Regressions(c)
	const want = "regression, 0.1 QPS: TTFT: no difference shown at n=12 (b is between 6.8% faster and 21.4% slower " +
		"than a); neighbouring rounds may be too alike to tell, measure longer"
	if slower != nil || len(notes) != 4 || notes[0] != want {
		t.Errorf("regressions %q, notes %q, want %q first", slower, notes, want)
	}
}
