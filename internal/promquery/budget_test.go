package promquery

import (
	"fmt"
	"testing"
	"time"
)

// TestBudgets checks what is made of two objectives, one of which missed the hour before the last of the range.
func TestBudgets(t *testing.T) {
	hours := func(label string, counts ...int) sample {
		var values [][]any
		for i, n := range counts {
			values = append(values, []any{midnight.Add(time.Duration(7+i-len(counts)) * time.Hour).Unix(), fmt.Sprint(n)})
		}
		return sample{"metric": point(0, label, "objective=ttft")["metric"], "values": values}
	}
	failed := hours("outcome=timeout", 30, 0)
	delete(failed["metric"].(map[string]string), "objective")
	gone := point(0.9, "target=gone", "objective=ttft")
	q, err := run(t, &fake{answers: []answer{
		{"objective_goal_ratio{} or last_over_time goal_ratio [2592000000ms]", []sample{point(0.75, "objective=ttft"), point(0.99, "objective=availability"), gone}},
		{"objective_limit_seconds{} or last_over_time limit_seconds", []sample{point(2, "objective=ttft")}},
		{"objective_events [3600000ms] >= 0.5", []sample{hours("verdict=bad", 40, 0), hours("verdict=good", 320, 359)}},
		{"probes_total [3600000ms] >= 0.5", []sample{failed}},
		{"probes_total", []sample{point(40, "outcome=ok")}},
	}}, Request{})
	if err != nil || len(q.Document.Summaries) != 1 {
		t.Fatalf("%+v, %v", q.Document, err)
	}
	const want = "[{{ttft<2s@75% 0.75 679 719 0} 2 2.592e+06 7200 258840 0.0006181424818420646 0.9993818575181579 [{2026-11-01 04:00:00 +0000 UTC 40 360 map[timeout:30]}]}" +
		" {{availability@99% 0.99 0 0 0} 0 2.592e+06 0 0 0 1 []}]"
	if got := fmt.Sprint(q.Document.Summaries[0].Budgets); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}
